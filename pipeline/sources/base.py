"""What a reader hands over: drafts of memories, and what it had to leave out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from indexes.types import JSON, MemoryType


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A memory as its source tells it, before the store has given it an id.

    `place` says where in the source it stands and survives edits elsewhere in it (heading path and ordinal, message
    uuid, key of a row); `namespace` replaces the source in the id where the memory has an identity of its own
    (a transcript's session, so that a copy of the file yields the same memories). `parent` is the place of another
    draft of the same reading. `timestamp` is aware. Order within the reading is time order.
    """

    place: str
    content: str
    type: MemoryType
    timestamp: datetime
    session_id: str
    namespace: str | None = None
    parent: str | None = None
    title: str = ""
    project: str | None = None
    team_id: str | None = None
    task_id: str | None = None
    tags: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    metadata: Mapping[str, JSON] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Reading:
    """All of one file: its drafts in order, and a notice (one line each) for whatever was skipped, cut or guessed."""

    drafts: Sequence[Draft]
    notices: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class SourceText:
    """A file as readers get it: decoded and NFC-normalised text, and where it lies.

    `label` is the path relative to the indexed root, with `/` on every platform and NFC: it names the session of a
    note. `modified` (aware) dates what carries no date of its own.
    """

    text: str
    label: str
    modified: datetime


class Reader(Protocol):
    """One kind of source."""

    name: str
    version: int
    """Raised whenever the reader would make other drafts of the same bytes: sources are then read again."""

    def accepts(self, label: str, head: str) -> bool:
        """Whether this reader is for a file with this label whose text begins with `head` (up to 4,096 characters)."""

    def read(self, source: SourceText) -> Reading:
        """Parse the whole text. Broken parts become notices; SourceError only if nothing can be made of the file."""
