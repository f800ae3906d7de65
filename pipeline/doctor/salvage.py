"""Saves what can be read of a damaged store into a new one. The damaged one is only read, never opened by SQLite.

Rows are recognised by their shape (see `pages`). Row numbers, change sequence and the store's name are kept, so that
the vectors that were made of what is saved stay valid; row numbers that are missing are recorded as removed.
"""

from __future__ import annotations

import contextlib
import json
import re
import shutil
import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from indexes.database import Database
from indexes.errors import StoreCorruptError
from indexes.rows import from_row
from indexes.schema import SCHEMA_VERSION
from indexes.types import MEMORY_TYPES
from pipeline.doctor.pages import MAGIC, Pages, Record, Value
from pipeline.results import Result

_ID = re.compile(r"mem_[0-9a-z]{1,64}")
_MEMORY = (
    "rid", "sequence", "text_sequence", "id", "content", "type", "timestamp_ms", "session_id", "position", "title",
    "parent_id", "project", "team_id", "task_id", "tags", "files", "tools", "metadata",
)  # fmt: skip
_SOURCE = ("source_id", "key", "path", "root", "label", "fingerprint", "indexed_ms")
ORPHANS = "salvaged"
"""The name of the source that owns memories whose own source is not known any more."""


class Salvaged(Result):
    """What was saved, and what not. `lost` are ids that are known to have been there; there may have been others.

    `damaged` memories have unreadable characters in their text. `orphans` are kept, but which file they come from is
    not known. `unread_pages` counts pages of which something could not be read.
    """

    memories: int
    sources: int
    lost: list[str]
    damaged: list[str]
    orphans: int
    forgotten: int
    unread_pages: int

    @property
    def complete(self) -> bool:
        """Whether nothing seems to be missing."""
        return not (self.lost or self.damaged or self.orphans or self.unread_pages)


@dataclass
class _Found:
    """Rows by shape. Of two with one id the later change counts."""

    memories: dict[str, tuple[Value, ...]] = field(default_factory=dict)
    sources: dict[int, tuple[Value, ...]] = field(default_factory=dict)
    removals: dict[int, int] = field(default_factory=dict)
    forgotten: dict[str, tuple[Value, ...]] = field(default_factory=dict)
    meta: dict[str, Value] = field(default_factory=dict)
    ids: dict[str, set[int]] = field(default_factory=dict)
    """Rows by the id in their index. Those of the children stand there, too, under the id of their parent."""

    def take(self, record: Record) -> None:
        values = record.values
        if record.rowid is None:
            self._entry(values)
        elif len(values) == len(_MEMORY) and _is_memory(values):
            before = self.memories.get(str(values[3]))
            if before is None or int(before[1]) < int(values[1]):  # type: ignore[arg-type]
                self.memories[str(values[3])] = (record.rowid, *values[1:])
        elif len(values) == len(_SOURCE) and values[0] is None and all(isinstance(v, str) for v in values[1:6]):
            self.sources[record.rowid] = (record.rowid, *values[1:])
        elif len(values) == 2 and values[0] is None and isinstance(values[1], int):
            self.removals[values[1]] = record.rowid

    def _entry(self, values: Sequence[Value]) -> None:
        match values:
            case ("store_id" | "sequence" as key, (str() | int()) as value):
                self.meta[key] = value
            case (str(name), str(), int(), int()):
                self.forgotten[name] = tuple(values)
            case (str(name), int(rid)) if _ID.fullmatch(name):
                self.ids.setdefault(name, set()).add(rid)

    def drop_deleted(self) -> None:
        for name, row in list(self.memories.items()):
            if row[0] in self.removals or name in self.forgotten:
                del self.memories[name]


def salvage(damaged: Path, target: Path, work: Path) -> Salvaged:
    """Make `target`, a store, of what can be read of `damaged`. `work` is a folder for a copy of it.

    Raises StoreCorruptError if nothing can be read, OSError and StoreError if `target` can't be written.
    """
    copy = work / "memories.db"
    for suffix in ("", "-wal"):
        with contextlib.suppress(FileNotFoundError):
            shutil.copyfile(f"{damaged}{suffix}", f"{copy}{suffix}")
    found = _Found()
    pages = Pages(copy)
    for record in pages.records():
        found.take(record)
    found.drop_deleted()
    if not found.memories and not found.sources:
        raise StoreCorruptError(
            f"There is nothing of gieok in {damaged}: it belongs to another program, or nothing of it is left."
            " Move it away and index again, or put a backup back."
        )
    owned = _occurrences(copy, pages)
    return _write(found, owned, target, pages.damaged)


def _is_memory(values: Sequence[Value]) -> bool:
    rid, sequence, text_sequence, name, content, kind, time, session, position, title, *rest = values
    optional, texts = rest[:4], rest[4:]
    return (
        rid is None  # it stands as the row number
        and isinstance(name, str)
        and _ID.fullmatch(name) is not None
        and kind in MEMORY_TYPES
        and all(isinstance(number, int) for number in (sequence, text_sequence, time, position))
        and all(isinstance(text, str) for text in (content, session, title, *texts))
        and all(text is None or isinstance(text, str) for text in optional)
        and _loads(_in_order(name, content, title, kind, time, session, optional, texts, position))
    )


def _in_order(
    name: Value, content: Value, title: Value, kind: Value, time: Value, session: Value,
    optional: Sequence[Value], texts: Sequence[Value], position: Value,
) -> tuple[Value, ...]:  # fmt: skip
    """The values of a record as `from_row` takes them, which is another order than that of the table."""
    parent, *about = optional
    tags, files, tools, metadata = texts
    return (0, name, content, title, kind, time, session, *about, tags, files, metadata, position, parent, tools)


def _loads(row: Sequence[Value]) -> bool:
    try:
        from_row(row)
    except StoreCorruptError:
        return False
    return True


def _occurrences(copy: Path, pages: Pages) -> set[tuple[int, int]]:
    """Which source holds which memory, as far as SQLite can read it: pairs of numbers have no shape of their own."""
    if not pages.header_sound:
        _lend_header(copy, pages)
    pairs: set[tuple[int, int]] = set()
    for index in ("NOT INDEXED", "INDEXED BY occurrences_rid"):
        for way in ("ASC", "DESC"):  # from both ends up to the damage
            order = "source_id {0}, rid {0}" if index == "NOT INDEXED" else "rid {0}, source_id {0}"
            query = f"SELECT source_id, rid FROM occurrences {index} ORDER BY {order.format(way)}"  # noqa: S608
            with contextlib.suppress(sqlite3.Error), contextlib.closing(sqlite3.connect(copy)) as db:
                for source, rid in db.execute(query):
                    if isinstance(source, int) and isinstance(rid, int):
                        pairs.add((source, rid))
    return pairs


def _lend_header(copy: Path, pages: Pages) -> None:
    """Give a copy whose first bytes are damaged those of a new store: the tables stand behind them."""
    template = copy.with_name("template.db")
    with contextlib.closing(sqlite3.connect(template)) as db:
        db.execute(f"PRAGMA page_size = {pages.size}")
        db.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
    header = bytearray(template.read_bytes()[:100])
    header[28:32] = pages.count.to_bytes(4, "big")
    if not header.startswith(MAGIC):
        return
    with copy.open("rb+") as file:
        file.write(header)


def _write(found: _Found, owned: Iterable[tuple[int, int]], target: Path, unread: int) -> Salvaged:
    memories = sorted(found.memories.values(), key=lambda row: int(row[0]))  # type: ignore[arg-type]
    rids = {int(row[0]) for row in memories}  # type: ignore[arg-type]
    sources = _distinct(found.sources.values())
    pairs = {(source, rid) for source, rid in owned if source in {row[0] for row in sources} and rid in rids}
    orphans = rids - {rid for _, rid in pairs}
    gone = {*rids, *found.removals}  # an entry for one of these rows names its parent, or is old
    known = found.ids.keys() - found.memories.keys() - found.forgotten.keys()
    lost = sorted(name for name in known if found.ids[name] - gone)
    damaged = sorted(str(row[3]) for row in memories if any("\ufffd" in text for text in row if isinstance(text, str)))
    whole = not (lost or damaged or orphans or unread)
    database = Database(target, busy_timeout=5)
    try:
        with database.transaction() as db:
            for row in memories:
                db.execute(f"INSERT INTO memories ({', '.join(_MEMORY)}) VALUES ({_marks(row)})", row)  # noqa: S608
                tags = [(str(tag), row[0]) for tag in json.loads(str(row[14]))]
                db.executemany("INSERT OR IGNORE INTO tags (tag, rid) VALUES (?, ?)", tags)
            for row in sources:
                # A file of which something may be missing is read again at the next index.
                db.execute("INSERT INTO sources VALUES (?, ?, ?, ?, ?, ?, ?)", row if whole else (*row[:5], "", row[6]))
            db.executemany("INSERT INTO occurrences VALUES (?, ?)", sorted(pairs))
            if orphans:
                _adopt(db, target, sorted(orphans))
            db.executemany("INSERT OR REPLACE INTO forgotten VALUES (?, ?, ?, ?)", found.forgotten.values())
            _number(db, found, rids)
    finally:
        database.close()
    return Salvaged(
        memories=len(memories), sources=len(sources), lost=lost, damaged=damaged, orphans=len(orphans),
        forgotten=len(found.forgotten), unread_pages=unread,
    )  # fmt: skip


def _distinct(rows: Iterable[tuple[Value, ...]]) -> list[tuple[Value, ...]]:
    """The sources with each key and each path once: an old version of a row may have survived, too."""
    kept: dict[Value, tuple[Value, ...]] = {}
    paths: set[Value] = set()
    for row in sorted(rows, key=lambda row: -int(row[6] or 0)):
        if row[1] not in kept and row[2] not in paths:
            kept[row[1]] = row
            paths.add(row[2])
    return list(kept.values())


def _adopt(db: sqlite3.Connection, target: Path, orphans: Iterable[int]) -> None:
    place = str(target.with_name(ORPHANS))
    (source,) = db.execute(
        "INSERT INTO sources (key, path, root, label, fingerprint, indexed_ms) VALUES (?, ?, ?, ?, '', 0)"
        " RETURNING source_id",
        (f"gieok:{ORPHANS}", place, str(target.parent), ORPHANS),
    ).fetchone()
    db.executemany("INSERT INTO occurrences VALUES (?, ?)", [(source, rid) for rid in orphans])


def _number(db: sqlite3.Connection, found: _Found, rids: set[int]) -> None:
    """Go on with the old name and numbering, and note every row number in between that is not there any more.

    Without them the store keeps the new name that it has got, and both indexes are made again.
    """
    sequence = max((int(row[1]) for row in found.memories.values()), default=0)  # type: ignore[arg-type]
    match found.meta:
        case {"store_id": str(name), "sequence": int(last)}:
            db.execute("UPDATE meta SET value = ? WHERE key = 'store_id'", (name,))
            # No row number exceeds the sequence: each new row takes a number of it.
            used = max(
                (
                    rid
                    for rid in {*rids, *found.removals, *(rid for own in found.ids.values() for rid in own)}
                    if rid <= last
                ),
                default=0,
            )
            sequence = max(sequence, last, *found.removals.values())
            for rid in range(1, used + 1):
                if rid not in rids:
                    sequence += 1
                    db.execute("INSERT INTO removals (sequence, rid) VALUES (?, ?)", (sequence, rid))
            db.execute("UPDATE sqlite_sequence SET seq = max(seq, ?) WHERE name = 'memories'", (used,))
    db.execute("UPDATE meta SET value = ? WHERE key = 'sequence'", (sequence + 1,))


def _marks(row: Sequence[Value]) -> str:
    return ", ".join("?" * len(row))
