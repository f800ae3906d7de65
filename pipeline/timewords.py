"""Words of time in a query ("어제", "3 days ago", "2026년 1월") as a range of days.

Only what names a day, a week (Monday to Sunday), a month, a year or a number of past days counts, and only where it is
used so: `금요일에` and `may` are ordinary words, `지난 금요일` and `in May` are not. A month or a day without a year is
the latest that has begun. A date that does not exist ("2월 30일") is ordinary words, too.
"""

from __future__ import annotations

import re
import unicodedata
from calendar import monthrange
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from typing import TypeAlias

Days: TypeAlias = tuple[date, date]
"""First and last day, both inside."""


@dataclass(frozen=True, slots=True)
class TimeWords:
    """What a query says about time.

    `since` and `until` are inclusive; None is open. `phrase` is how the query says it, `rest` the query without it, or
    the whole query if nothing else would be left to search for.
    """

    phrase: str
    since: date | None
    until: date | None
    rest: str

    @property
    def days(self) -> str:
        """The range for people."""
        if self.since == self.until:
            return f"{self.since}"
        if self.since is None:
            return f"up to {self.until}"
        return f"from {self.since}" + (f" to {self.until}" if self.until else " on")


def read_time(query: str, today: date) -> TimeWords | None:
    """The time that `query` names, as seen on `today` in the user's zone; None if it names none.

    Several days make one range that holds them all; "1월부터 3월까지" and "since yesterday" mean what they say.
    """
    text = unicodedata.normalize("NFC", query)
    found = list(_phrases(text, today))
    if not found:
        return None
    sinces, untils = [item.since for item in found if item.since], [item.until for item in found if item.until]
    closed = all(item.since and item.until for item in found)
    since = (min(sinces) if closed else max(sinces)) if sinces else None
    until = (max(untils) if closed else min(untils)) if untils else None
    phrase = ", ".join(text[item.start : item.end].strip() for item in found)
    if since and until and since > until and not _YEAR.search(phrase):
        until += timedelta(days=365)  # "1월부터 3월까지", said in February
    if since and until and since > until:
        return None
    rest = text
    for item in reversed(found):
        rest = f"{rest[: item.start]} {rest[item.end :]}"
    rest = " ".join(rest.split())
    return TimeWords(phrase, since, until, rest if _WORD.search(rest) else query)


@dataclass(frozen=True, slots=True)
class _Found:
    start: int
    end: int
    since: date | None
    until: date | None


def _phrases(text: str, today: date) -> Iterator[_Found]:
    taken = 0
    for match in _PHRASE.finditer(text):
        if match.start() < taken:
            continue
        days = _days(match, today)
        if days is None:
            continue
        taken = match.end()
        limits = _open(match, days)
        if limits is not None:
            yield _Found(match.start(), match.end(), *limits)


def _open(match: re.Match[str], days: Days) -> tuple[date | None, date | None] | None:
    """The range after "since" and "부터", "until" and "까지", "before" and "이전", "after" and "이후"."""
    word = (match["before_en"] or match["after_ko"] or "").split()
    kind = _KINDS.get(word[0].lower() if word else "", "in")
    day = timedelta(days=1)
    try:
        return {
            "in": days,
            "since": (days[0], None),
            "until": (None, days[1]),
            "before": (None, days[0] - day),
            "after": (days[1] + day, None),
        }[kind]
    except OverflowError:
        return None


def _days(match: re.Match[str], today: date) -> Days | None:
    for name, read in _READERS.items():
        if match[name] is not None:
            try:
                return read(match, today)
            except (ValueError, OverflowError):  # no such day, or far outside of the calendar
                return None
    return None


# --- what each kind of phrase means ---------------------------------------------------------------------------------


def _near(words: str, today: date) -> Days:
    back = _NEAR[re.sub(r"\s", "", words.lower())]
    day = today - timedelta(days=back)
    return day, day


def _unit(unit: str, back: int, today: date) -> Days:
    """The day, week, month or year that lies `back` such units before today's."""
    if unit == "day":
        day = today - timedelta(days=back)
        return day, day
    if unit == "week":
        monday = today - timedelta(days=today.weekday() + 7 * back)
        return monday, monday + timedelta(days=6)
    if unit == "month":
        months = today.year * 12 + today.month - 1 - back
        return _month(months // 12, months % 12 + 1)
    return date(today.year - back, 1, 1), date(today.year - back, 12, 31)


def _month(year: int, month: int) -> Days:
    return date(year, month, 1), date(year, month, monthrange(year, month)[1])


def _relative(match: re.Match[str], today: date) -> Days:
    which = re.sub(r"\s", "", (match["which_ko"] or match["which_en"]).lower())
    unit = _UNITS[(match["unit_ko"] or match["unit_en"]).lower()]
    return _unit(unit, _BACK[which], today)


def _weekday(match: re.Match[str], today: date) -> Days:
    wanted = _WEEKDAYS[(match["weekday_ko"] or match["weekday_en"]).lower()[:3]]
    week = match["week_of_ko"]
    if week:  # 지난주 금요일: of that week
        day = _unit("week", _BACK[re.sub(r"\s|주", "", week)], today)[0] + timedelta(days=wanted)
    else:  # 지난 금요일, last Friday: the latest before today
        day = today - timedelta(days=(today.weekday() - wanted - 1) % 7 + 1)
    return day, day


def _ago(match: re.Match[str], today: date) -> Days:
    fixed = match["span_ko"]
    if fixed:
        return _unit("day", _SPANS[fixed], today) if fixed in _SPANS else _unit(*_WHOLE[fixed.replace(" ", "")], today)
    number = match["ago_ko"] or match["ago_en"]
    unit = _UNITS[(match["ago_unit_ko"] or match["ago_unit_en"]).lower().rstrip("s")]
    return _unit(unit, 1 if number.lower() in ("a", "an", "one") else int(number), today)


def _past(match: re.Match[str], today: date) -> Days:
    """The last so many days, weeks or months, up to today."""
    number = match["past_ko"] or match["past_en"] or "1"
    unit = _UNITS[(match["past_unit_ko"] or match["past_unit_en"]).lower().rstrip("s")]
    return today - timedelta(days=int(number) * _LENGTH[unit] - 1), today


def _korean_date(match: re.Match[str], today: date) -> Days:
    year, month, day = (int(match[name]) if match[name] else None for name in ("year_ko", "month_ko", "day_ko"))
    if match["year_word"]:
        year = today.year - {"올해": 0, "작년": 1, "지난해": 1, "재작년": 2}[match["year_word"]]
    return _calendar(year, month, day, today)


def _iso(match: re.Match[str], today: date) -> Days:
    day = date.fromisoformat(match["iso"])
    return day, day


def _english_date(match: re.Match[str], today: date) -> Days:
    def given(part: str) -> str | None:
        return next((match[f"{part}_{form}"] for form in ("mdy", "in", "my", "dmy") if match[f"{part}_{form}"]), None)

    month = _MONTHS[(given("month") or "").lower()[:3]]
    day, year = match["day_mdy"] or match["day_dmy"], given("year")
    return _calendar(int(year) if year else None, month, int(day) if day else None, today)


def _english_year(match: re.Match[str], today: date) -> Days:
    return _calendar(int(match["only_year"]), None, None, today)


def _calendar(year: int | None, month: int | None, day: int | None, today: date) -> Days:
    if month is None:
        number = year if year is not None else today.year
        return date(number, 1, 1), date(number, 12, 31)
    if year is None:  # the latest that has begun
        year = today.year
        if date(year, month, min(day or 1, monthrange(year, month)[1])) > today:
            year -= 1
    if day is None:
        return _month(year, month)
    return date(year, month, day), date(year, month, day)


_NEAR = {
    **dict.fromkeys(("오늘", "today"), 0),
    **dict.fromkeys(("어제", "어저께", "yesterday"), 1),
    **dict.fromkeys(("그제", "그저께", "thedaybeforeyesterday", "daybeforeyesterday"), 2),
    **dict.fromkeys(("그끄제", "그끄저께"), 3),
}
_COUNTED = ("하루", "이틀", "사흘", "나흘", "닷새", "엿새", "이레", "여드레", "아흐레", "열흘")
_SPANS = {name: days for days, name in enumerate(_COUNTED, 1)}
_WHOLE = {"일주일": ("week", 1), "한주": ("week", 1), "한달": ("month", 1), "두달": ("month", 2), "일년": ("year", 1)}
_BACK = {"이번": 0, "금": 0, "this": 0, "지난": 1, "저번": 1, "last": 1, "지지난": 2, "저저번": 2}
_WHOLES = {
    "금주": ("week", 0), "이달": ("month", 0), "금월": ("month", 0),
    "올해": ("year", 0), "금년": ("year", 0), "작년": ("year", 1), "재작년": ("year", 2),
}  # fmt: skip
_UNITS = {
    **dict.fromkeys(("일", "day"), "day"),
    **dict.fromkeys(("주", "주일", "week"), "week"),
    **dict.fromkeys(("달", "개월", "month"), "month"),
    **dict.fromkeys(("년", "해", "year"), "year"),
}
_LENGTH = {"day": 1, "week": 7, "month": 30, "year": 365}
"""Days of "the last month" and the like, which are counted back from today."""
_WEEKDAYS = {name: number for names in ("월화수목금토일", ("mon", "tue", "wed", "thu", "fri", "sat", "sun"))
             for number, name in enumerate(names)}  # fmt: skip
_MONTHS = {name: number for number, name in enumerate(
    ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"), 1)}  # fmt: skip
_KINDS = {
    **dict.fromkeys(("since", "부터", "이래"), "since"),
    **dict.fromkeys(("until", "till", "까지"), "until"),
    **dict.fromkeys(("before", "이전", "이전에"), "before"),
    **dict.fromkeys(("after", "이후", "이후로", "이후에"), "after"),
}
_READERS: dict[str, Callable[[re.Match[str], date], Days]] = {
    "near": lambda match, today: _near(match["near"], today),
    "weekday": _weekday,
    "korean": _korean_date,
    "relative": _relative,
    "whole": lambda match, today: _unit(*_WHOLES[match["whole"]], today),
    "past": _past,
    "ago": _ago,
    "iso": _iso,
    "english": _english_date,
    "english_year": _english_year,
}

_YEAR = re.compile(r"\d{4}")
_WORD = re.compile(r"[^\W_]{2,}|\d|[가-힣]")
_MONTH_EN = (
    "jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?"
    "|nov(?:ember)?|dec(?:ember)?"
)
_DAY_EN = "mon(?:day)?|tue(?:sday)?|wed(?:nesday)?|thu(?:rsday)?|fri(?:day)?|sat(?:urday)?|sun(?:day)?"
_AFTER_KO = r"부터|까지|이후[로에]?|이전에?|이래"
# What may stand after a Korean word of time without making it another word.
_PARTICLE = r"(?:에[는도서]?|의|[은는도자와과]|하고|쯤|경|중에?|동안)?(?!\w|[-/]\w)"
_END_KO = rf"(?:(?P<after_ko>\s?(?:{_AFTER_KO})(?!(?-i:[가-힣])))|{_PARTICLE})"
_PHRASE = re.compile(
    rf"""(?<![\w./-])(?:(?P<before_en>since|from|until|till|before|after|on)\s+)?(?:
      (?:
        (?P<near>오늘|어제|어저께|그제|그저께|그끄제|그끄저께|today|yesterday|(?:the\s+)?day\s+before\s+yesterday)
      | (?P<weekday>(?:(?P<week_of_ko>(?:이번|지난|저번|지지난|저저번)\s?주|금주)\s?|(?:지난|저번)\s)
            (?P<weekday_ko>[월화수목금토일])요일|last\s+(?P<weekday_en>{_DAY_EN}))
      | (?P<korean>(?=(?:\d{{4}}년|작년|재작년|올해|지난해)\s?\d{{1,2}}월|\d{{1,2}}월\s?\d{{1,2}}일
              |\d{{1,2}}월(?:에|중|\s?(?:{_AFTER_KO}))|\d{{4}}년(?:에|\s?(?:{_AFTER_KO})))
            (?:(?P<year_ko>(?:19|20)\d\d)년|(?P<year_word>작년|재작년|올해|지난해))?
            (?:\s?(?P<month_ko>\d{{1,2}})월(?:\s?(?P<day_ko>\d{{1,2}})일)?)?)
      | (?P<relative>(?P<which_ko>이번|지난|저번|지지난|저저번)\s?(?P<unit_ko>주|달|해)
            |(?P<which_en>this|last)\s+(?P<unit_en>week|month|year))
      | (?P<past>(?:최근|지난)\s?(?P<past_ko>\d{{1,4}})\s?(?P<past_unit_ko>일|주일?|개월|년)(?:간|\s?동안)?
            |(?:in\s+|over\s+|during\s+)?(?:the\s+)?(?:last|past)\s+
              (?P<past_en>\d{{1,4}}\s)?\s*(?P<past_unit_en>days?|weeks?|months?|years?))
      | (?P<ago>(?:(?P<span_ko>{"|".join(_COUNTED)}|일주일|한\s?주|한\s?달|두\s?달|일\s?년)
            |(?P<ago_ko>\d{{1,6}})\s?(?P<ago_unit_ko>일|주일?|달|개월|년))\s?전
            |(?P<ago_en>\d{{1,6}}|an?|one)\s+(?P<ago_unit_en>days?|weeks?|months?|years?)\s+ago)
      | (?P<whole>금주|이달|금월|올해|금년|작년|재작년)
      | (?P<iso>\d{{4}}-\d\d-\d\d)
      | (?P<english>(?:on\s+)?(?P<month_mdy>{_MONTH_EN})\.?\s+(?P<day_mdy>\d{{1,2}})(?:st|nd|rd|th)?(?!\d|:)
              (?:,?\s+(?P<year_mdy>\d{{4}}))?
            |in\s+(?P<month_in>{_MONTH_EN})(?:,?\s+(?:of\s+)?(?P<year_in>\d{{4}}))?
            |(?P<month_my>{_MONTH_EN})\.?,?\s+(?P<year_my>(?:19|20)\d\d)
            |(?P<day_dmy>\d{{1,2}})(?:st|nd|rd|th)?\s+(?P<month_dmy>{_MONTH_EN})\.?\s+(?P<year_dmy>\d{{4}}))
      | (?P<english_year>in\s+(?P<only_year>(?:19|20)\d\d))
      )(?:'s|’s)?{_END_KO}
    )""",
    re.IGNORECASE | re.VERBOSE,
)
