"""What shall not come back: tombstones of memories that the user had forgotten.

A tombstone is a memory's id, or a keyed digest of its text, never the text. A memory with that id, or with that text
in whatever file, stays out until the user lifts the tombstone.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets
import sqlite3
import unicodedata
from collections.abc import Iterable, Sequence

from indexes.types import Memory

KEY, PURGE = "forget_key", "purge"
"""Rows of `meta`: what digests are keyed with; the files that are still to be cleaned of what was forgotten."""

_SHORTEST = 32
"""Characters of a text that is known again by itself: a shorter one ("고마워") may well be said by others, too."""


class Tombstones:
    """The tombstones of one store, inside a transaction of its connection."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db
        self._key: bytes | None = None
        self._any = bool(db.execute("SELECT 1 FROM forgotten LIMIT 1").fetchone())

    def admitted(self, memories: Sequence[Memory]) -> list[Memory]:
        """The memories that may be stored."""
        return [memory for memory in memories if not self._bars(memory)] if self._any else list(memories)

    def _bars(self, memory: Memory) -> bool:
        names = [memory.id, *self._text_names(memory)]
        marks = ", ".join("?" * len(names))
        query = f"SELECT 1 FROM forgotten WHERE name IN ({marks})"  # noqa: S608 - only marks
        return self._db.execute(query, names).fetchone() is not None

    def add(self, memories: Iterable[Memory], now: int) -> None:
        """Bar these memories, as one batch."""
        (batch,) = self._db.execute("SELECT coalesce(max(batch), 0) + 1 FROM forgotten").fetchone()
        for memory in memories:
            self._db.executemany(
                "INSERT OR REPLACE INTO forgotten VALUES (?, ?, ?, ?)",
                [(name, memory.id, batch, now) for name in (memory.id, *self._text_names(memory))],
            )
        self._any = True

    def lift(self) -> list[str]:
        """Lift the last batch; the ids that it barred."""
        rows = self._db.execute(
            "DELETE FROM forgotten WHERE batch = (SELECT max(batch) FROM forgotten) RETURNING name, mark"
        )
        return sorted(name for name, mark in rows if name == mark)

    def _text_names(self, memory: Memory) -> list[str]:
        """The name of a memory's text; none if it is too short to be known again by."""
        text = " ".join(unicodedata.normalize("NFKC", memory.content).split())
        if len(text) < _SHORTEST:
            return []
        return ["text:" + hmac.digest(self._secret(), text.encode("utf-8", "surrogatepass"), hashlib.sha256).hex()]

    def _secret(self) -> bytes:
        if self._key is None:
            self._db.execute("INSERT OR IGNORE INTO meta VALUES (?, ?)", (KEY, secrets.token_hex(32)))
            (key,) = self._db.execute("SELECT value FROM meta WHERE key = ?", (KEY,)).fetchone()
            self._key = bytes.fromhex(key)
        return self._key


def due(stored: str | None) -> list[str] | None:
    """The files that the row PURGE names; None if there is no such row."""
    return None if stored is None else [str(name) for name in json.loads(stored)]


def set_due(db: sqlite3.Connection, files: Iterable[str]) -> None:
    """Write the row PURGE, or add to what it names."""
    found = db.execute("SELECT value FROM meta WHERE key = ?", (PURGE,)).fetchone()
    names = sorted({*(due(found[0] if found else None) or ()), *files})
    db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (PURGE, json.dumps(names, ensure_ascii=False)))
