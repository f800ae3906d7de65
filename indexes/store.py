"""The store: SQLite, the one source of truth. Words and vectors are derived from it.

Every write happens in one transaction. Each memory that changes or goes gets the next number of the change sequence;
`changes_after` tells a derived index what to apply. A memory belongs to every source that holds it and is gone when
the last of them is.
"""

from __future__ import annotations

import json
import os
import sqlite3
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from indexes.database import RESTORE, Database
from indexes.errors import AmbiguousIdError, StoreCorruptError, UnknownIdError
from indexes.forgetting import PURGE, Tombstones, due, set_due
from indexes.rows import COLUMNS, KEPT, SEARCHED, SELECTED, from_row, to_ms, to_row, where_sql
from indexes.turns import TURN_SQL
from indexes.types import Filter, Memory

ID_PREFIX = "mem_"


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A file that is indexed.

    `key` is the identity that its ids are derived from: the path at which it was first seen; it stays when the file
    moves. `path` is where it lies now (real, absolute, NFC), `root` the folder it was found under, `label` its path
    below that. `fingerprint` is what its reader and bytes were when it was last read.
    """

    key: str
    path: str
    root: str
    label: str
    fingerprint: str


@dataclass(frozen=True, slots=True)
class Change:
    """One step of the sequence: a memory to be read anew, or one that is gone.

    `text_sequence` is the step at which its text last changed: an index that is past it may keep its vectors.
    """

    sequence: int
    rid: int
    removed: bool
    text_sequence: int


@dataclass(frozen=True, slots=True)
class Counts:
    """Sizes of the store."""

    memories: int
    sources: int
    sessions: int
    by_type: Mapping[str, int]


class Store:
    """One open store. Any number of processes may have their own; one is not for two threads at once."""

    def __init__(self, path: Path, *, busy_timeout: float = 30.0, read_only: bool = False) -> None:
        """Open or create the store in the file `path`, whose folder must exist.

        `busy_timeout` is how many seconds a write waits for another process before StoreBusyError. `read_only` opens
        what is there, also where nothing can be written; every write then raises StoreError.
        """
        self.path = path
        self._db = Database(path, busy_timeout=busy_timeout, read_only=read_only)
        self.store_id = self._identity()
        """A random name given at creation, by which derived indexes of another store are recognised."""

    def _identity(self) -> str:
        name = self._db.value("SELECT value FROM meta WHERE key = 'store_id'")
        if name is None or self._db.value("SELECT value FROM meta WHERE key = 'sequence'") is None:
            self._db.close()
            raise StoreCorruptError(f"The store {self.path} is damaged (its meta table is empty). {RESTORE}")
        return str(name)

    def close(self) -> None:
        """Close the connection. Closing twice is harmless."""
        self._db.close()

    # --- the change sequence ---------------------------------------------------------------------

    @property
    def sequence(self) -> int:
        """The number of the last change. It only grows, with every write."""
        return int(self._db.value("SELECT value FROM meta WHERE key = 'sequence'"))

    def changes_after(self, sequence: int, limit: int) -> list[Change]:
        """The next `limit` changes after `sequence`, in order. A memory that changed twice stands at its last."""
        return [
            Change(number, rid, bool(removed), text)
            for number, rid, removed, text in self._db.rows(
                "SELECT * FROM (SELECT sequence, rid, 0, text_sequence FROM memories WHERE sequence > :after"
                "  ORDER BY sequence LIMIT :limit)"
                " UNION ALL SELECT * FROM (SELECT sequence, rid, 1, 0 FROM removals WHERE sequence > :after"
                "  ORDER BY sequence LIMIT :limit)"
                " ORDER BY 1 LIMIT :limit",
                {"after": sequence, "limit": limit},
            )
        ]

    def pending_after(self, sequence: int) -> int:
        """How many changes there are after `sequence`."""
        return int(
            self._db.value(
                "SELECT (SELECT count(*) FROM memories WHERE sequence > ?1)"
                " + (SELECT count(*) FROM removals WHERE sequence > ?1)",
                (sequence,),
            )
        )

    def memories_after(self, sequence: int) -> int:
        """How many memories were added or changed after `sequence`: what an index at that step cannot find yet."""
        return int(self._db.value("SELECT count(*) FROM memories WHERE sequence > ?", (sequence,)))

    # --- sources ---------------------------------------------------------------------------------

    def source(self, path: str) -> Source | None:
        """The source that lies at `path`."""
        return next(iter(self._sources("WHERE path = ?", (path,))), None)

    def ids_at(self, path: str) -> list[str]:
        """The ids of the memories that the file at `path` holds, in the order of the file."""
        rows = self._db.rows(
            "SELECT id FROM memories JOIN occurrences USING (rid) JOIN sources USING (source_id)"
            " WHERE path = ? ORDER BY position, rid",
            (path,),
        )
        return [row[0] for row in rows]

    def sources_under(self, root: str) -> list[Source]:
        """All sources at `root` or below it, in order of path."""
        below = root.rstrip(os.sep) + os.sep
        end = below[:-1] + chr(ord(os.sep) + 1)
        return self._sources("WHERE path = ? OR (path >= ? AND path < ?) ORDER BY path", (root, below, end))

    def sources_like(self, fingerprint: str) -> list[Source]:
        """The sources that were last read from the same bytes."""
        return self._sources("WHERE fingerprint = ? ORDER BY path", (fingerprint,))

    def _sources(self, clause: str, values: Sequence[str]) -> list[Source]:
        rows = self._db.rows(f"SELECT key, path, root, label, fingerprint FROM sources {clause}", values)
        return [Source(key=k, path=p, root=r, label=lb, fingerprint=f) for k, p, r, lb, f in rows]

    def free_key(self, path: str) -> str:
        """A key for a source at `path`: the path itself, unless a source that moved away still owns it.

        The same whether or not another process stores that source meanwhile.
        """
        key, number = path, 1
        while any(row[0] != path for row in self._db.rows("SELECT path FROM sources WHERE key = ?", (key,))):
            number += 1
            key = f"{path}#{number}"
        return key

    def write(self, sources: Iterable[tuple[Source, Sequence[Memory]]], removed: Iterable[Source] = ()) -> int:
        """Make each source hold exactly its memories (whose `rid` is ignored), and drop the `removed` ones.

        One transaction, durable on return. What is unchanged keeps its row and its place in the derived indexes.
        Returns how many memories stay out because they were forgotten.
        """
        with self._db.transaction() as db:
            change = _ChangeSet(db)
            for source in removed:
                change.remove(source)
            barred = 0
            for source, memories in sources:
                admitted = change.tombstones.admitted(memories)
                barred += len(memories) - len(admitted)
                change.replace(source, admitted)
            change.finish()
            return barred

    # --- forgetting ------------------------------------------------------------------------------

    def matching(self, where: Filter) -> list[Memory]:
        """All memories that pass the filter, oldest first."""
        clauses, values = where_sql(where)
        rows = self._db.rows(
            f"SELECT {SELECTED} FROM memories m WHERE {clauses} ORDER BY timestamp_ms, position, rid", values
        )
        return list(map(from_row, rows))

    def with_content(self, content: str) -> list[Memory]:
        """All memories with exactly this content."""
        rows = self._db.rows(f"SELECT {SELECTED} FROM memories WHERE content = ?", (content,))
        return list(map(from_row, rows))

    def holds(self, piece: bytes) -> bool:
        """Whether any memory or source that is there holds these bytes in one of its texts."""
        return any(
            self._db.rows(f"SELECT 1 FROM {table} WHERE {tests} LIMIT 1", {"piece": piece}) for table, tests in _TEXTS
        )

    def forget(self, memories: Iterable[Memory], files: Mapping[str, str]) -> None:
        """Remove these memories from every source and bar them from coming back.

        `files` are those of the home that go with them: the path of the source, and the name in the home. They, and
        what the memories leave in free pages and derived indexes, are `due` until `cleaned`.
        """
        with self._db.transaction() as db:
            change = _ChangeSet(db)
            gone = list(memories)
            change.tombstones.add(gone, to_ms(datetime.now(UTC)))
            for path in files:
                for source in self._sources("WHERE path = ?", (path,)):
                    change.remove(source)
            for memory in gone:
                change.forget(memory.rid)
            set_due(db, files.values())
            change.finish()

    def lift_last(self) -> list[str]:
        """Let what was forgotten last be indexed again: the ids of its memories. Every file counts as changed."""
        with self._db.transaction() as db:
            lifted = Tombstones(db).lift()
            if lifted:
                db.execute("UPDATE sources SET fingerprint = ''")
            return lifted

    def due(self) -> list[str] | None:
        """The files of the home that a forgetting left to be deleted; None if all is cleaned."""
        return due(self._db.value("SELECT value FROM meta WHERE key = ?", (PURGE,)))

    def cleaned(self) -> None:
        """Nothing is due any more: leave no free page and no log that holds what was removed.

        Raises StoreBusyError while other processes read the log.
        """
        self._db.vacuum()
        with self._db.transaction() as db:
            db.execute("DELETE FROM meta WHERE key = ?", (PURGE,))
        self._db.empty_log()

    # --- reading memories ------------------------------------------------------------------------

    def memories(self, rids: Iterable[int]) -> list[Memory]:
        """The memories with these rids, in the order given; those that are gone are left out."""
        wanted = [int(rid) for rid in rids]
        rows = self._db.rows(
            f"SELECT {SELECTED} FROM memories WHERE rid IN (SELECT value FROM json_each(?))",
            (json.dumps(wanted),),
        )
        found = {row[0]: row for row in rows}
        return [from_row(found[rid]) for rid in wanted if rid in found]

    def all_memories(self, batch: int = 1000) -> Iterator[Memory]:
        """Every memory, a batch at a time; what is written meanwhile may be among them."""
        after = -1
        while found := self._db.rows(
            f"SELECT {SELECTED} FROM memories WHERE rid > ? ORDER BY rid LIMIT ?", (after, batch)
        ):
            yield from map(from_row, found)
            after = found[-1][0]

    def by_id(self, prefix: str) -> Memory:
        """The memory with this id, or with the one id that begins so; `mem_` may be left out.

        Raises UnknownIdError or AmbiguousIdError.
        """
        given = unicodedata.normalize("NFKC", prefix).strip().strip("[]").lower()
        full = given if given.startswith(ID_PREFIX) else ID_PREFIX + given
        if full == ID_PREFIX or not full.isascii():
            raise UnknownIdError(prefix)
        rows = self._db.rows(
            f"SELECT {SELECTED} FROM memories WHERE id >= ? AND id < ? ORDER BY id LIMIT 6",
            (full, full + "\x7f"),
        )
        if not rows:
            raise UnknownIdError(prefix)
        if len(rows) > 1 and rows[0][1] != full:
            raise AmbiguousIdError(prefix, [row[1] for row in rows])
        return from_row(rows[0])

    def unique_prefix(self, memory_id: str, minimum: int = len(ID_PREFIX) + 4) -> str:
        """The shortest prefix, of at least `minimum` characters, that no other id shares."""
        neighbours = self._db.rows(
            "SELECT * FROM (SELECT id FROM memories WHERE id < ?1 ORDER BY id DESC LIMIT 1)"
            " UNION ALL SELECT * FROM (SELECT id FROM memories WHERE id > ?1 ORDER BY id LIMIT 1)",
            (memory_id,),
        )
        length = minimum
        while any(other.startswith(memory_id[:length]) for (other,) in neighbours):
            length += 1
        return memory_id[:length]

    def around(self, memory: Memory, window: int) -> list[Memory]:
        """Up to `window` memories before and after `memory` in its session, and itself, in time order."""
        rows = self._db.rows(
            f"SELECT * FROM (SELECT {SELECTED} FROM memories WHERE session_id = ?1"
            "  AND (timestamp_ms, position, rid) < (?2, ?3, ?4)"
            "  ORDER BY timestamp_ms DESC, position DESC, rid DESC LIMIT ?5)"
            f" UNION ALL SELECT * FROM (SELECT {SELECTED} FROM memories WHERE session_id = ?1"
            "  AND (timestamp_ms, position, rid) >= (?2, ?3, ?4)"
            "  ORDER BY timestamp_ms, position, rid LIMIT ?5 + 1)",
            (memory.session_id, to_ms(memory.timestamp), memory.position, memory.rid, window),
        )
        return sorted(map(from_row, rows), key=lambda m: (m.timestamp, m.position, m.rid))

    def exists(self, memory_id: str) -> bool:
        """Whether there is a memory with exactly this id."""
        return bool(self._db.rows("SELECT 1 FROM memories WHERE id = ?", (memory_id,)))

    def children(self, memory_id: str, limit: int = 50) -> list[str]:
        """Ids of the first `limit` memories whose parent this is, in order."""
        rows = self._db.rows(
            "SELECT id FROM memories WHERE parent_id = ? ORDER BY timestamp_ms, position, rid LIMIT ?",
            (memory_id, limit),
        )
        return [row[0] for row in rows]

    def sessions(self, prefix: str, limit: int = 6) -> list[str]:
        """Session ids that begin with `prefix`."""
        rows = self._db.rows(
            "SELECT DISTINCT session_id FROM memories WHERE session_id >= ? AND session_id < ?"
            " ORDER BY session_id LIMIT ?",
            (prefix, prefix + "\U0010ffff", limit),
        )
        return [row[0] for row in rows]

    def session_elsewhere(self, session: str, key: str) -> bool:
        """Whether another source than the one with this key holds memories of a session."""
        return bool(
            self._db.rows(
                "SELECT 1 FROM memories m JOIN occurrences o USING (rid) JOIN sources s USING (source_id)"
                " WHERE m.session_id = ? AND s.key <> ? LIMIT 1",
                (session, key),
            )
        )

    def paths_of(self, rid: int) -> list[str]:
        """Where the files lie that hold a memory."""
        rows = self._db.rows(
            "SELECT path FROM sources JOIN occurrences USING (source_id) WHERE rid = ? ORDER BY path", (rid,)
        )
        return [row[0] for row in rows]

    def passes(self, rid: int, where: Filter) -> bool:
        """Whether the memory in this row passes the filter."""
        clauses, values = where_sql(where)
        return bool(self._db.rows(f"SELECT 1 FROM memories m WHERE m.rid = ? AND {clauses}", [rid, *values]))

    def any_matching(self, where: Filter) -> bool:
        """Whether any memory passes the filter: tells "nothing fits" from "nothing to search in"."""
        clauses, values = where_sql(where)
        return bool(self._db.rows(f"SELECT 1 FROM memories m WHERE {clauses} LIMIT 1", values))

    def counts(self) -> Counts:
        """Sizes for status."""
        by_type = dict(self._db.rows("SELECT type, count(*) FROM memories GROUP BY type ORDER BY type"))
        sources = self._db.value("SELECT count(*) FROM sources")
        sessions = self._db.value("SELECT count(DISTINCT session_id) FROM memories")
        return Counts(sum(by_type.values()), sources, sessions, by_type)


def _any_holds(columns: Iterable[str]) -> str:
    return " OR ".join(f"instr(CAST({column} AS BLOB), :piece)" for column in columns)


_TEXTS = (
    ("memories", _any_holds(("content", "title", "metadata", "tags", "files", "tools", "session_id", "project"))),
    ("sources", _any_holds(("path", "label", "key", "root"))),
)
"""Where a text may stand in the tables, and how it is looked for there."""


class _Place(NamedTuple):
    """Where a memory stands, or stood, in its session."""

    session: str
    ms: int
    position: int
    rid: int


_HERE = "SELECT rid FROM memories WHERE session_id = :session AND (timestamp_ms, position, rid)"
_BEFORE = f"{_HERE} < (:ms, :position, :rid) ORDER BY timestamp_ms DESC, position DESC, rid DESC LIMIT 1"
_AFTER = f"{_HERE} > (:ms, :position, :rid) ORDER BY timestamp_ms, position, rid LIMIT 1"


class _ChangeSet:
    """The writes of one transaction, each with its number of the change sequence."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db
        self._began = self._sequence = int(db.execute("SELECT value FROM meta WHERE key = 'sequence'").fetchone()[0])
        self._touched: list[_Place] = []
        self.tombstones = Tombstones(db)
        self._now = to_ms(datetime.now(UTC))

    def finish(self) -> None:
        """Store the sequence. One extra step, so that a write of unsearched columns shows as a change, too."""
        self._renew_neighbours()
        self._db.execute("UPDATE meta SET value = ? WHERE key = 'sequence'", (self._next(),))

    def _next(self) -> int:
        self._sequence += 1
        return self._sequence

    def _renew_neighbours(self) -> None:
        """Give turns a new number whose neighbours came, went or changed: the indexes read those with them."""
        for place in self._touched:
            for beside in (_BEFORE, _AFTER):
                self._db.execute(
                    f"UPDATE memories SET sequence = :next, text_sequence = :next WHERE {TURN_SQL}"
                    f" AND sequence <= :began AND rid = ({beside})",
                    {**place._asdict(), "next": self._sequence + 1, "began": self._began},
                )
                self._sequence += self._db.execute("SELECT changes()").fetchone()[0]

    def _touch(self, rid: int) -> None:
        where = "SELECT session_id, timestamp_ms, position, rid FROM memories WHERE rid = ?"
        self._touched += (_Place(*row) for row in self._db.execute(where, (rid,)))

    def replace(self, source: Source, memories: Sequence[Memory]) -> None:
        stale = "SELECT source_id FROM sources WHERE path = ? AND key <> ?"
        for (other,) in self._db.execute(stale, (source.path, source.key)).fetchall():
            self._drop(other)  # another process stored the file that has since moved here, or what was here before
        (source_id,) = self._db.execute(
            "INSERT INTO sources (key, path, root, label, fingerprint, indexed_ms) VALUES (?, ?, ?, ?, ?, ?)"
            " ON CONFLICT (key) DO UPDATE SET path = excluded.path, root = excluded.root, label = excluded.label,"
            " fingerprint = excluded.fingerprint, indexed_ms = excluded.indexed_ms RETURNING source_id",
            (source.key, source.path, source.root, source.label, source.fingerprint, self._now),
        ).fetchone()
        before, order = self._held(source_id), self._in_order(source_id)
        kept = {self._put(memory) for memory in memories}
        self._db.executemany(
            "INSERT INTO occurrences (source_id, rid) VALUES (?, ?)",
            [(source_id, rid) for rid in kept - before],
        )
        if [rid for rid in order if rid in kept] != [rid for rid in self._in_order(source_id) if rid in before]:
            for rid in kept:  # some changed places: their neighbours are others
                self._touch(rid)
        self._release(source_id, before - kept)

    def _in_order(self, source_id: int) -> list[int]:
        """The memories of a source as they stand in their sessions."""
        rows = self._db.execute(
            "SELECT rid FROM memories JOIN occurrences USING (rid) WHERE source_id = ?"
            " ORDER BY session_id, timestamp_ms, position, rid",
            (source_id,),
        )
        return [rid for (rid,) in rows]

    def remove(self, source: Source) -> None:
        found = self._db.execute("SELECT source_id FROM sources WHERE key = ?", (source.key,)).fetchone()
        if found is not None:
            self._drop(found[0])

    def forget(self, rid: int) -> None:
        """Take a memory from every source that holds it."""
        for (source_id,) in self._db.execute("SELECT source_id FROM occurrences WHERE rid = ?", (rid,)).fetchall():
            self._release(source_id, [rid])

    def _drop(self, source_id: int) -> None:
        self._release(source_id, self._held(source_id))
        self._db.execute("DELETE FROM sources WHERE source_id = ?", (source_id,))

    def _held(self, source_id: int) -> set[int]:
        return {rid for (rid,) in self._db.execute("SELECT rid FROM occurrences WHERE source_id = ?", (source_id,))}

    def _put(self, memory: Memory) -> int:
        values = to_row(memory)
        found = self._db.execute(
            f"SELECT rid, {', '.join(COLUMNS)} FROM memories WHERE id = ?", (memory.id,)
        ).fetchone()
        if found is None:
            sequence = self._next()
            marks = ", ".join("?" * (len(COLUMNS) + 2))
            rid = self._db.execute(
                f"INSERT INTO memories (sequence, text_sequence, {', '.join(COLUMNS)}) VALUES ({marks})",
                (sequence, sequence, *values),
            ).lastrowid
            assert rid is not None  # noqa: S101 - sqlite3's type allows None only before an INSERT
            self._tag(rid, memory.tags)
            self._touch(rid)
            return rid
        rid = int(found[0])
        before, after = found[2:], values[1:]
        if before == after:
            return rid
        changes = dict(zip(SEARCHED + KEPT, after, strict=True))
        searched = before[: len(SEARCHED)] != after[: len(SEARCHED)]
        if searched:
            self._touch(rid)
            changes["sequence"] = self._next()
            self._tag(rid, memory.tags)
            if before[:2] != after[:2]:  # content, title
                changes["text_sequence"] = changes["sequence"]
        assignments = ", ".join(f"{name} = ?" for name in changes)
        self._db.execute(f"UPDATE memories SET {assignments} WHERE rid = ?", (*changes.values(), rid))
        if searched:
            self._touch(rid)
        return rid

    def _tag(self, rid: int, tags: Iterable[str]) -> None:
        self._db.execute("DELETE FROM tags WHERE rid = ?", (rid,))
        self._db.executemany("INSERT OR IGNORE INTO tags (tag, rid) VALUES (?, ?)", [(tag, rid) for tag in tags])

    def _release(self, source_id: int, rids: Iterable[int]) -> None:
        for rid in sorted(rids):
            self._db.execute("DELETE FROM occurrences WHERE source_id = ? AND rid = ?", (source_id, rid))
            if not self._db.execute("SELECT 1 FROM occurrences WHERE rid = ? LIMIT 1", (rid,)).fetchone():
                self._touch(rid)
                self._db.execute("DELETE FROM memories WHERE rid = ?", (rid,))
                self._db.execute("INSERT INTO removals (sequence, rid) VALUES (?, ?)", (self._next(), rid))
