"""What a kind of store hands over: its sessions one by one, each as drafts."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Protocol

from indexes.types import JSON, MemoryType
from pipeline.imports.database import Database, Value
from pipeline.sources.base import Draft
from pipeline.sources.cleaning import Cleaner
from pipeline.sources.cutting import cut_text
from pipeline.sources.dates import parse_moment
from pipeline.sources.redact import mask
from pipeline.sources.toolcalls import bound
from pipeline.sources.transcript import MESSAGE_LIMIT


@dataclass(frozen=True, slots=True)
class Session:
    """One session of a store: its id as it is stored, and its rows where they can't be found by it."""

    key: Value
    rows: tuple[int, ...] = ()


class Kind(Protocol):
    """One kind of store."""

    @property
    def name(self) -> str:
        """What people call it."""

    @property
    def version(self) -> int:
        """Raised whenever it would make other drafts of the same rows."""

    @property
    def files(self) -> tuple[str, ...]:
        """Where its stores lie below the tool's folder, as patterns."""

    def schema(self, database: Database) -> str:
        """The name of the store's schema; SourceError if it is unknown, or newer than what is known."""

    def sessions(self, database: Database) -> Sequence[Session]:
        """All sessions, oldest first."""

    def read(self, database: Database, session: Session, work: Work) -> list[Item]:
        """One session's memories; rows are counted in `work`."""


@dataclass(slots=True)
class Work:
    """What happens to the rows of one store: what they were, and what of them could not be taken as it is."""

    modified: datetime
    """When the store was last changed: the time of what has none."""
    redact: bool = True
    rows: Counter[str] = field(default_factory=Counter)
    cleaner: Cleaner = field(default_factory=Cleaner)
    odd: Counter[str] = field(default_factory=Counter)
    secrets: int = 0

    def text(self, value: Value | JSON) -> str:
        """A value as clean text, "" for NULL."""
        if value is None:
            return ""
        if isinstance(value, bytes):
            self.odd["values in binary form, read as text"] += 1
            value = value.decode("utf-8", "replace")
        text = self.cleaner.text(value if isinstance(value, str) else str(value))
        if not self.redact:
            return text
        text, found = mask(text)
        self.secrets += found.total()
        return text

    def place(self, kind: str, value: Value, number: int) -> str:
        """The place of a row with this key; without a key it is the row's number in its session."""
        return f"{kind}:{self.text(value)}" if value is not None else f"{kind}:#{number}"

    def line(self, value: Value | JSON) -> str:
        """A value as clean text on one line."""
        return " ".join(self.text(value).split())

    def json(self, value: Value) -> JSON:
        """A column of JSON, cleaned; None for NULL and for what is broken, which is counted."""
        if value is None or value == "":
            return None
        if isinstance(value, bytes):
            value = value.decode("utf-8", "replace")
        if not isinstance(value, str):
            return value
        try:
            parsed: JSON = json.loads(value)
        except (ValueError, RecursionError):
            self.odd["columns of broken JSON, read as text or left out"] += 1
            return None
        return self._masked(self.cleaner.json(parsed))

    def _masked(self, value: JSON) -> JSON:
        if isinstance(value, str) and self.redact:
            text, found = mask(value)
            self.secrets += found.total()
            return text
        if isinstance(value, list):
            return [self._masked(item) for item in value]
        if isinstance(value, dict):
            return {name: self._masked(item) for name, item in value.items()}
        return value

    def items(self, value: Value, separator: str = r"[,\n]") -> tuple[str, ...]:
        """A column of a JSON list, or of text with separators, as lines, each once."""
        parsed = self.json(value) if isinstance(value, str | bytes) and value[:1] in ("[", b"[") else None
        if isinstance(parsed, list):
            texts = [item if isinstance(item, str) else json.dumps(item, ensure_ascii=False) for item in parsed if item]
        elif isinstance(value, str) and not value.startswith("["):
            texts = re.split(separator, self.text(value))
        else:
            texts = []
        return tuple(dict.fromkeys(line for text in texts if (line := " ".join(text.split()))))

    def moment(self, *values: Value) -> datetime | None:
        """The first of these that is a time. A time without a zone is UTC, as SQLite itself writes it."""
        for value in values:
            if isinstance(value, bytes):
                value = value.decode("utf-8", "replace")
            if isinstance(value, str) and value.strip().isdecimal() and len(value.strip()) > len("20260130"):
                value = int(value)
            if isinstance(value, str) and ":" in value:
                try:
                    naive = datetime.fromisoformat(value.strip())
                    value = naive.replace(tzinfo=naive.tzinfo or UTC).isoformat()
                except ValueError:
                    pass
            if (moment := parse_moment(value)) is not None:
                return moment
        return None

    def notices(self) -> list[str]:
        """One line for each kind of thing that was not taken as it is."""
        lines = [f"{count:,} {what}" for what, count in sorted(self.odd.items())]
        if self.secrets:
            lines.append(f"{self.secrets:,} secret{'s' if self.secrets > 1 else ''} masked")
        return lines + self.cleaner.notices()


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """A memory before it is cut to size. `place` names its row."""

    place: str
    text: str
    type: MemoryType
    timestamp: datetime | None
    parent: str | None = None
    title: str = ""
    project: str = ""
    tags: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    metadata: Mapping[str, JSON] = field(default_factory=dict)
    whole: bool = False
    """Not to be cut into parts."""


def drafts(items: Sequence[Item], *, kind: str, session: str, work: Work) -> list[Draft]:
    """The drafts of one session in time order. Ids depend on the kind, the session and the rows, not on the file."""
    known = [item.timestamp for item in items if item.timestamp is not None]
    latest = min(known, default=work.modified)
    dated: list[tuple[datetime, Item]] = []
    for item in items:
        if item.timestamp is None:
            work.odd["rows without a time, dated by their neighbours"] += 1
        latest = item.timestamp or latest
        dated.append((latest, item))
    dated.sort(key=lambda pair: pair[0])
    return [draft for moment, item in dated for draft in _parts(item, moment, kind, session)]


def _parts(item: Item, moment: datetime, kind: str, session: str) -> Iterator[Draft]:
    text = bound(item.text.strip() or item.title, MESSAGE_LIMIT)
    for number, content in enumerate([text] if item.whole and text else cut_text(text), start=1):
        yield Draft(
            place=item.place if number == 1 else f"{item.place}~{number}",
            content=content,
            type=item.type,
            timestamp=moment,
            session_id=session,
            namespace=f"{kind}:{session}",
            parent=item.parent if number == 1 else item.place,
            title=item.title,
            project=item.project or None,
            tags=item.tags,
            files=item.files,
            tools=item.tools,
            metadata={"imported": kind, **item.metadata},
        )
