"""What a search is narrowed to, in the user's words, and its translation for the legs."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta, tzinfo
from typing import TypeAlias, get_args

from indexes.errors import UsageError
from indexes.rows import to_ms
from indexes.types import Filter, MemoryType

Day: TypeAlias = str | date | datetime | None


@dataclass(frozen=True, slots=True)
class SearchFilter:
    """Everything given must fit; of several types or tags one is enough.

    `session` may be the unique beginning of a session id. `since` and `until` are inclusive: a date means the whole
    of the user's local day ("2026-01-30"), a datetime the moment (naive: local time).
    """

    types: tuple[str, ...] = ()
    session: str | None = None
    project: str | None = None
    team: str | None = None
    task: str | None = None
    tags: tuple[str, ...] = ()
    since: Day = None
    until: Day = None

    def to_index(self, *, session: str | None, zone: tzinfo | None = None) -> Filter:
        """The filter for the legs. `session` is the full id; `zone` defaults to the machine's. Raises UsageError."""
        groups: list[frozenset[str]] = []
        if self.types:
            known = get_args(MemoryType)
            for name in self.types:
                if name not in known:
                    raise UsageError(f"Unknown type {name!r}. Known types: {', '.join(known)}")
            groups.append(frozenset(f"type={name}" for name in self.types))
        named = (("session", session), ("project", self.project), ("team", self.team), ("task", self.task))
        groups.extend(frozenset([f"{name}={_nfc(value)}"]) for name, value in named if value is not None)
        if self.tags:
            groups.append(frozenset(f"tag={_nfc(tag)}" for tag in self.tags))
        since, until = _start(self.since, zone), _end(self.until, zone)
        since_ms, until_ms = (to_ms(since) if since else None), (to_ms(until) if until else None)
        if since_ms is not None and until_ms is not None and since_ms >= until_ms:
            raise UsageError(f"since ({self.since}) lies after until ({self.until}). Swap them.")
        return Filter(tuple(groups), since_ms, until_ms)


def _nfc(text: str) -> str:
    return unicodedata.normalize("NFC", text)


def _parse(value: str) -> date | datetime:
    text = value.strip()
    try:
        return date.fromisoformat(text)
    except ValueError:
        pass
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        raise UsageError(
            f"{value!r} is not a date. Write 2026-01-30 for a day or 2026-01-30T14:00 for a moment."
        ) from None


def _start(value: Day, zone: tzinfo | None) -> datetime | None:
    moment = _parse(value) if isinstance(value, str) else value
    if moment is None:
        return None
    if isinstance(moment, datetime):
        return _aware(moment, zone)
    return _aware(datetime.combine(moment, time.min), zone)


def _end(value: Day, zone: tzinfo | None) -> datetime | None:
    """The first moment that is no longer inside."""
    moment = _parse(value) if isinstance(value, str) else value
    if moment is None:
        return None
    if isinstance(moment, datetime):
        return _aware(moment, zone) + timedelta(milliseconds=1)
    try:
        return _aware(datetime.combine(moment + timedelta(days=1), time.min), zone)
    except OverflowError:
        return None  # the last day that dates know: nothing lies after it


def _aware(moment: datetime, zone: tzinfo | None) -> datetime:
    if moment.tzinfo is not None:
        return moment
    if zone is not None:
        return moment.replace(tzinfo=zone)
    try:
        return moment.astimezone()  # naive means local time
    except (OverflowError, OSError, ValueError):
        raise UsageError(f"{moment} lies outside of the dates that this system knows.") from None
