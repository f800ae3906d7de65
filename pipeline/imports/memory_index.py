"""SQLite indexes of notes: one table, plain or FTS5, with a text and a path or title for each note.

No public source tells the schema of such an index, so it is recognised by the names of its columns.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from indexes.errors import SourceError
from pipeline.imports.base import Item, Session, Work
from pipeline.imports.database import Database, Value
from pipeline.plaintext import cut
from pipeline.sources.about import parse_type
from pipeline.sources.dates import date_in_name
from pipeline.sources.toolcalls import MAX_TITLE

_TEXT = ("content", "body", "text")
_PATH = ("path", "file_path", "file", "filename", "source")
_TITLE = ("title", "heading", "name")
_DATE = ("date", "created_at", "timestamp", "created", "updated_at", "modified", "mtime")
_TAGS = ("tags", "keywords")
_PROJECT = ("project",)
_SESSION = ("session_id", "session")
_TYPE = ("type", "category")
_SHADOWS = ("_data", "_idx", "_content", "_docsize", "_config")


class MemoryIndex:
    """A session is a note's path, unless a column names sessions."""

    name = "memory-index"
    version = 1
    files = ("memory-index.db", "memory_index.db", "memory-index.sqlite", "index.db", "memory.db")

    def schema(self, database: Database) -> str:
        """See `Kind`."""
        table = self._table(database)
        return f"table {table} with {', '.join(database.columns(table))}"

    def sessions(self, database: Database) -> Sequence[Session]:
        """See `Kind`."""
        table = self._table(database)
        column = database.first_of(table, *_SESSION) or database.first_of(table, *_PATH)
        found: dict[Value, list[int]] = defaultdict(list)
        for number, key in database.numbered(table, column):
            found[key if key is not None else self.name].append(number)
        return [Session(session, tuple(rows)) for session, rows in found.items()]

    def read(self, database: Database, session: Session, work: Work) -> list[Item]:
        """See `Kind`."""
        table = self._table(database)

        def name(*names: str) -> str:
            return database.first_of(table, *names) or ""

        items = []
        for number in session.rows:
            for row in database.where(table, "rowid", number):
                work.rows["notes"] += 1
                path, title = work.line(row.get(name(*_PATH))), work.line(row.get(name(*_TITLE)))
                kind = work.line(row.get(name(*_TYPE)))
                items.append(
                    Item(
                        place=f"{path or 'row'}:{number}",
                        text=work.text(row.get(name(*_TEXT))),
                        type=parse_type(kind) or "insight",
                        timestamp=work.moment(*(row.get(column) for column in _DATE)) or date_in_name(path),
                        title=cut(title, MAX_TITLE) if title else "",
                        project=work.line(row.get(name(*_PROJECT))),
                        tags=work.items(row.get(name(*_TAGS))),
                        files=(path,) if path else (),
                        metadata={"type": kind} if kind and parse_type(kind) is None else {},
                    )
                )
        return items

    def _table(self, database: Database) -> str:
        """The table with most of the columns that are known; an FTS5 table and its contents look the same."""
        best, most = "", 1
        for table in sorted(database.tables()):
            if table.endswith(_SHADOWS) or table.startswith("sqlite_"):
                continue
            if not database.first_of(table, *_TEXT) or not database.first_of(table, *_PATH, *_TITLE):
                continue
            known = sum(
                database.first_of(table, *names) is not None
                for names in (_TEXT, _PATH, _TITLE, _DATE, _TAGS, _PROJECT, _SESSION, _TYPE)
            )
            if known > most:
                best, most = table, known
        if not best:
            raise SourceError(
                "has no table that looks like an index of notes (content, body or text, with path or title beside it)"
            )
        return best
