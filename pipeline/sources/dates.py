"""Moments as people and tools write them."""

from __future__ import annotations

import re
from datetime import UTC, datetime

EPOCH_SECONDS = 1e8
"""Numbers from here on are seconds since 1970 (this one is in 1973): smaller ones are years, counts, ids."""

EPOCH_MILLISECONDS = 1e11
"""Numbers from here on are milliseconds (1973): as seconds they would lie beyond the year 5138."""

_LAST = 253_402_300_800_000
"""Milliseconds at the end of the year 9999."""

_DATE = re.compile(r"(\d{4})\s?[-./년]\s?(\d{1,2})\s?[-./월]\s?(\d{1,2})(?:\s?일)?\.?")
_COMPACT = re.compile(r"(\d{4})(\d{2})(\d{2})")
_CLOCK = re.compile(r"[T\s]\s*(\d{1,2}):(\d{2})(?::(\d{2})(?:[.,]\d+)?)?")
_IN_NAME = re.compile(r"(?<!\d)(\d{4})-(\d{2})-(\d{2})(?!\d)")


def parse_moment(value: object) -> datetime | None:
    """The moment (UTC) that `value` names, or None.

    Understood are ISO 8601, `2026-01-30 14:05`, dates with `.`, `/` or 년/월/일, `20260130`, and seconds or
    milliseconds since 1970. What carries no zone is local time; a date alone is the start of that day.
    """
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return _from_number(value)
    if not isinstance(value, str):
        return None
    text = value.strip()
    try:
        return _aware(datetime.fromisoformat(text))
    except ValueError:
        return _from_text(text)


def date_in_name(label: str) -> datetime | None:
    """The start of the local day that a file's name carries as `YYYY-MM-DD`, or None."""
    match = _IN_NAME.search(label.rsplit("/", 1)[-1])
    return None if match is None else _local(*map(int, match.groups()))


def _from_number(value: float) -> datetime | None:
    if not 0 <= value <= _LAST:  # NaN, too; beyond are integers that no float and no string takes
        return None
    if isinstance(value, int) and (match := _COMPACT.fullmatch(str(value)[:9])):
        return _local(*map(int, match.groups()))
    if value < EPOCH_SECONDS:
        return None
    seconds = value / 1000 if value >= EPOCH_MILLISECONDS else value
    try:
        return datetime.fromtimestamp(seconds, UTC)
    except (OverflowError, ValueError, OSError):
        return None


def _from_text(text: str) -> datetime | None:
    match = _DATE.match(text) or _COMPACT.fullmatch(text)
    if match is None:
        return None
    clock = _CLOCK.fullmatch(text, match.end())
    if clock is None and text[match.end() :].strip():
        return None
    return _local(*map(int, match.groups()), *(int(part or 0) for part in (clock.groups() if clock else ())))


def _local(year: int, month: int, day: int, hour: int = 0, minute: int = 0, second: int = 0) -> datetime | None:
    try:
        return _aware(datetime(year, month, day, hour, minute, second))
    except ValueError:
        return None


def _aware(moment: datetime) -> datetime | None:
    try:
        return moment.astimezone(UTC)  # a naive moment is taken as local time
    except (OverflowError, ValueError, OSError):  # the years 1 and 9999
        return None
