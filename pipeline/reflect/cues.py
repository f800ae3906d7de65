"""What tells two lines of like wording apart: a negation, an opposite, another number, day, name or thing.

"테스트를 먼저 쓴다" and "테스트를 나중에 쓴다" share nearly all words and meaning, and as rules they are opposites. No
similarity tells them apart, so these cues decide before it is asked.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from indexes.analyzer import analyze_query
from indexes.english import STOP_WORDS
from indexes.korean import stem_length

_NEGATED = re.compile(
    r"않|(?<!\w)안\s|못\s?하|(?<!\w)못\s|지\s?(?:말|마)|(?<!\w)말\s(?:것|고|자)|금지|없이|없[다는음어고]|(?<!\w)대신(?!\w)"
    r"|안\s?[되된돼]|\b(?:not|never|no|without|avoid|cannot|nothing|forbidden|instead|\w+n['’]t)\b",
    re.IGNORECASE,
)
_SOFT = re.compile(r"(?:지|수)\s?않으면\s안|없이는\s안|빼놓지|빠짐없|\bnot only\b|\bno longer than\b", re.IGNORECASE)
"""Two negations that make none, and words that only look like one."""

_OPPOSITES = tuple(
    (re.compile(left, re.IGNORECASE), re.compile(right, re.IGNORECASE))
    for left, right in (
        (r"먼저|부터|우선|\bfirst\b", r"나중|마지막|\b(?:last|later|afterwards)\b"),
        (r"전에|이전에|\b(?:before|prior)\b", r"[한은은린든친인] ?후에|(?<=\w\s)후에|뒤에|다음에|\bafter\b"),
        (
            r"켜[고서]|켠|킨다|활성화|\b(?:enabl\w+|turn(?:ed)? on)\b",
            r"끄[고]|꺼[서]|끈다|껐|비활성|\b(?:disabl\w+|turn(?:ed)? off)\b",
        ),
        (r"길게|긴 |상세|\b(?:long|longer|detailed)\b", r"짧|간결|\b(?:short|shorter|brief|concise)\b"),
        (
            r"늘[리렸린려]|올[린렸려]|높[이였인]|증가|\b(?:increas\w+|rais\w+)\b",
            r"줄[이였인여]|내[린렸려]|낮[추췄춘]|감소|\b(?:decreas\w+|reduc\w+|lower\w*)\b",
        ),
        (
            r"추가|넣|유지|남[긴겼기]|\b(?:add\w*|keep|kept)\b",
            r"제거|삭제|지[운웠우]|뺀|뺐|\b(?:remov\w+|delet\w+|drop\w*)\b",
        ),
        (r"성공|통과|\b(?:pass\w*|succe\w+)\b", r"실패|\b(?:fail\w*)\b"),
        (r"허용|\b(?:allow\w*|permit\w*)\b", r"금지|거부|\b(?:forbid\w*|den(?:y|ied)|refus\w+)\b"),
        (r"항상|매번|반드시|\balways\b", r"절대|가끔|\b(?:never|sometimes|rarely)\b"),
        (r"한국어|한글|\bkorean\b", r"영어|영문|\benglish\b"),
        (r"자동|\bautomatic\w*\b", r"수동|직접 |\bmanual\w*\b"),
        (r"빠르|빨라|빠른|빨리|\bfast\w*\b", r"느리|느려|느린|\bslow\w*\b"),
        (r"크게|큰 |많[이은]|\b(?:large|bigger|many|more)\b", r"작게|작은 |적게|\b(?:small|smaller|few|fewer|less)\b"),
        (r"로컬|\blocal\w*\b", r"원격|\bremote\w*\b|\butc\b"),
    )
)

# What is turned down for the sake of something else: without its place "X 대신 Y" and "Y 대신 X" would be one.
_TURNED_DOWN = re.compile(
    r"([가-힣A-Za-z0-9_.-]+?)(?:을|를)? ?(?:대신(?!\w)|보다(?!\w))"
    r"|\b(?:over|instead of|rather than) (?:the |an? )?(\w+)",
    re.IGNORECASE,
)

_DAYS = "월화수목금토일"
_ENGLISH_DAYS = ("mon", "tues", "wednes", "thurs", "fri", "satur", "sun")
_KOREAN_DAY = re.compile(rf"([{_DAYS}])요일")
_ENGLISH_DAY = re.compile(rf"\b({'|'.join(_ENGLISH_DAYS)})days?\b", re.IGNORECASE)
_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")
_LATIN = re.compile(r"[A-Za-z][A-Za-z0-9]*(?:[-_./:#+]+[A-Za-z0-9]+)*")
_NAMED = re.compile(r"[A-Za-z0-9]*(?:[A-Z]{2,}|[a-z][A-Z]|[-_./:#][A-Za-z0-9])[\w./:#-]*")
_HANGUL = re.compile(r"[가-힣]")
_WORDS = re.compile(r"[가-힣]+|[A-Za-z][A-Za-z'’]*")
_ENDING = re.compile(r"(?<=[가-힣])(?:지|고|기|려|려고|며|면|게|는|을|은|서|어|아)$")
# Words that say how, when or whether, never what: two lines that differ in one of them don't name two things.
_NO_THING = re.compile(
    r".|않.*|없.*|하나|반드시|항상|먼저|우선|나중|이전|다음|같이|함께|직접|매번|다시|경우|하지|하게|하기|때문"
    r"|(?:must|should|shall|always|never|don.?t|first|then|instead|whole|entire|again|only|also|one|prior)"
)


@dataclass(frozen=True, slots=True)
class Cues:
    """What a line says besides its topic. `things` are the stems of its words, but for a Korean line's closing verb."""

    negated: bool
    sides: frozenset[tuple[int, bool]]
    numbers: frozenset[str]
    days: frozenset[int]
    names: frozenset[str]
    turned_down: frozenset[str]
    things: tuple[str, ...]
    words: frozenset[str]
    korean: bool

    def clash(self, other: Cues) -> bool:
        """Whether the two lines can't be one pattern, however alike their words are."""
        if self.negated != other.negated:
            return True
        if any((pair, not side) in other.sides for pair, side in self.sides):
            return True
        for mine, theirs in (
            (self.numbers, other.numbers),
            (self.days, other.days),
            (self.names, other.names),
            (self.turned_down, other.turned_down),
        ):
            if mine - theirs and theirs - mine:
                return True
        return self.korean == other.korean and self._swapped(other)

    def _swapped(self, other: Cues) -> bool:
        """Whether they differ in one thing that stands for another: the table, the person, the module."""
        mine = [thing for thing in self.things if not _found(thing, other.words)]
        theirs = [thing for thing in other.things if not _found(thing, self.words)]
        shared = len(self.things) - len(mine)
        return len(mine) == len(theirs) == 1 and shared >= 1


def cues_of(text: str) -> Cues:
    """The cues of a line; any text will do."""
    korean = len(_HANGUL.findall(text)) * 2 >= len(re.findall(r"[A-Za-z]", text))
    told = _SOFT.sub(" ", text)
    sides: set[tuple[int, bool]] = set()
    for number, (left, right) in enumerate(_OPPOSITES):
        found = bool(left.search(told)), bool(right.search(told))
        if found[0] != found[1]:  # who names both sides contrasts them
            sides.add((number, found[0]))
    days = {_DAYS.index(day) for day in _KOREAN_DAY.findall(text)}
    days |= {_ENGLISH_DAYS.index(day.lower()) for day in _ENGLISH_DAY.findall(text)}
    stems = _stems(text)
    closing = 1 if korean and len(stems) > 1 else 0
    return Cues(
        negated=bool(_NEGATED.search(told)),
        sides=frozenset(sides),
        numbers=frozenset(number.replace(",", "") for number in _NUMBER.findall(text)),
        days=frozenset(days),
        names=frozenset(_names(text, korean=korean)),
        turned_down=frozenset((korean_ or latin).casefold() for korean_, latin in _TURNED_DOWN.findall(text)),
        things=tuple(dict.fromkeys(stems[: len(stems) - closing])),
        words=frozenset(stems),
        korean=korean,
    )


def _names(text: str, *, korean: bool) -> set[str]:
    """Tools, files and identifiers: in Korean every Latin word, in English those that don't look like a word."""
    found = {word.casefold() for word in (_LATIN if korean else _NAMED).findall(text)}
    return {name.rstrip(".:") for name in found}


def _stems(text: str) -> list[str]:
    stems = []
    for word in _WORDS.findall(text):
        if _HANGUL.match(word):
            stem = word[: stem_length(word)]
            if not _NO_THING.fullmatch(stem):
                stems.append(stem)
        elif word.casefold() not in STOP_WORDS:
            stems += [token.text for token in analyze_query(word).tokens if not _NO_THING.fullmatch(word.casefold())][
                -1:
            ]
    return stems


def _found(thing: str, words: frozenset[str]) -> bool:
    if thing in words:
        return True
    if _HANGUL.match(thing):
        root = _ENDING.sub("", thing)
        return any(
            word.startswith(thing[:2]) or thing.startswith(word) or _ENDING.sub("", word) == root for word in words
        )
    return any(word[:4] == thing[:4] for word in words if len(thing) >= 4)
