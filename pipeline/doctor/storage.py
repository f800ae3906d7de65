"""The store, seen without changing a byte of it."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from indexes.database import OWN_TABLES, open_for_reading
from indexes.errors import StoreCorruptError
from indexes.forgetting import PURGE
from indexes.migrations import backup_of, schema_version
from indexes.rows import SELECTED, from_row
from indexes.schema import SCHEMA_VERSION
from pipeline.doctor.findings import Finding, ok, problem, warn

SALVAGE = "gieok doctor --repair"
SHOWN = 5
_BIG_LOG = 256_000_000


@dataclass(frozen=True, slots=True)
class StoreFacts:
    """What the other checks need to know of a store that can be read.

    `last_change` is what an index must have applied to be up to date: it may lie below `sequence`.
    """

    store_id: str
    sequence: int
    last_change: int
    memories: int
    newest_ms: int | None


class StoreCheck:
    """Looks at one store file; `facts` are there afterwards if it could be read."""

    def __init__(self, path: Path, *, deep: bool) -> None:
        """`deep` reads every page and row."""
        self._path = path
        self._deep = deep
        self.facts: StoreFacts | None = None

    def __call__(self) -> Iterator[Finding]:
        """The findings."""
        try:
            with contextlib.closing(open_for_reading(self._path)) as db:
                yield from self._looked_at(db)
        except sqlite3.Error as error:
            busy = getattr(error, "sqlite_errorcode", 0) & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
            if busy:
                yield warn("store", f"{self._path} is busy ({error})", "Repeat when the other process is done.")
            elif _is_sqlite(self._path):
                yield problem("store", f"{self._path} is damaged ({error})", SALVAGE, "store")
            else:
                yield problem(
                    "store",
                    f"{self._path} is no SQLite file, or its beginning is damaged ({error})",
                    f"{SALVAGE} saves what is in it; else put a backup back, or move it away",
                    "store",
                )

    def _looked_at(self, db: sqlite3.Connection) -> Iterator[Finding]:
        tables = {name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        version = schema_version(db)
        if not tables >= OWN_TABLES:
            empty = not tables and version == 0
            if empty and not self._path.stat().st_size:
                yield problem("store", f"{self._path} is empty", "Put a backup back, or delete it and index again.")
            else:
                yield problem(
                    "store",
                    f"{self._path} is an SQLite file of another program: it has no {_listed(OWN_TABLES - tables)}",
                    "Name another folder with --home, or move the file away.",
                )
            return
        if version > SCHEMA_VERSION:
            yield problem(
                "store",
                f"schema {version}: written by a newer gieok, this one knows {SCHEMA_VERSION}",
                "pip install --upgrade gieok",
            )
            return
        if version < SCHEMA_VERSION:
            kept = backup_of(self._path, version).name
            yield warn("store", f"schema {version}; the next command makes it {SCHEMA_VERSION} and keeps {kept}")
        yield from self._sound(db)
        yield from self._consistent(db)

    def _sound(self, db: sqlite3.Connection) -> Iterator[Finding]:
        pragma = "integrity_check" if self._deep else "quick_check"
        said = [str(line) for (line,) in db.execute(f"PRAGMA {pragma}({SHOWN})")]
        if said != ["ok"]:
            yield problem("store", f"{self._path} is damaged: {'; '.join(said)[:300]}", SALVAGE, "store")
            return
        size = self._path.stat().st_size
        how = "every page and index" if self._deep else "every page"
        yield ok("store", f"{self._path}: {size:,} bytes, {how} is sound")
        log = self._path.with_name(self._path.name + "-wal")
        if log.exists() and log.stat().st_size > _BIG_LOG:
            yield warn(
                "store", f"its log has grown to {log.stat().st_size:,} bytes", "Close programs that keep it open."
            )

    def _consistent(self, db: sqlite3.Connection) -> Iterator[Finding]:
        meta = dict(db.execute("SELECT key, value FROM meta"))
        if not {"store_id", "sequence"} <= meta.keys():
            yield problem("store", "its meta table is empty", SALVAGE, "store")
            return
        count, newest, last = db.execute("SELECT count(*), max(timestamp_ms), max(sequence) FROM memories").fetchone()
        sequence = int(meta["sequence"])
        removed = db.execute("SELECT max(sequence) FROM removals").fetchone()[0]
        last_change = max(last or 0, removed or 0)
        self.facts = StoreFacts(str(meta["store_id"]), sequence, last_change, int(count), newest)
        if PURGE in meta:
            yield problem("forget", "what was forgotten is still in files of the store", "gieok index", "forget")
        wrong = []
        if last_change > sequence:
            wrong.append("its change sequence lags behind its memories")
        foreign = db.execute("PRAGMA foreign_key_check").fetchmany(1000)
        if foreign:
            wrong.append(f"{len(foreign)} rows refer to something that is not there")
        if orphans := _ids(
            db, "SELECT id FROM memories m WHERE NOT EXISTS (SELECT 1 FROM occurrences o WHERE o.rid = m.rid)"
        ):
            wrong.append(f"memories that belong to no source: {_listed(orphans)}")
        if unread := self._unreadable(db):
            wrong.append(f"memories that can't be read: {_listed(unread)}")
        if wrong:
            yield problem("memories", "; ".join(wrong), SALVAGE, "store")
        else:
            sources = db.execute("SELECT count(*) FROM sources").fetchone()[0]
            yield ok("memories", f"{count:,} memories from {sources:,} sources; each has its source")

    def _unreadable(self, db: sqlite3.Connection) -> list[str]:
        if not self._deep:
            return _ids(
                db,
                "SELECT id FROM memories WHERE NOT (json_valid(tags) AND json_valid(files) AND json_valid(tools)"
                " AND json_valid(metadata) AND typeof(content) = 'text' AND typeof(timestamp_ms) = 'integer')",
            )
        found = []
        # Bytes that are no UTF-8 raise in the driver before a row can be looked at: let them through, marked.
        db.text_factory = lambda raw: raw.decode("utf-8", "surrogateescape")
        for row in db.execute(f"SELECT {SELECTED} FROM memories"):  # noqa: S608 - a constant
            try:
                from_row(row)
                row[2].encode("utf-8")
            except (StoreCorruptError, UnicodeEncodeError, AttributeError):
                found.append(str(row[1]))
        db.text_factory = str
        return found


def _ids(db: sqlite3.Connection, query: str) -> list[str]:
    return [str(name) for (name,) in db.execute(f"{query} LIMIT 1000")]


def _listed(names: frozenset[str] | set[str] | list[str]) -> str:
    names = sorted(names)
    return ", ".join(names[:SHOWN]) + (f" and {len(names) - SHOWN} more" if len(names) > SHOWN else "")


def _is_sqlite(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(16) == b"SQLite format 3\0"
    except OSError:
        return False
