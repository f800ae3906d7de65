"""Another tool's SQLite store, opened to be read and never changed."""

from __future__ import annotations

import os
import sqlite3
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeAlias

from indexes.errors import SourceError

Value: TypeAlias = "str | int | float | bytes | None"
Row: TypeAlias = dict[str, Value]

BUSY_SECONDS = 5.0
"""How long to wait for a tool that is writing its store."""

_SQLITE = b"SQLite format 3\0"
_DUCKDB = b"DUCK"
_HEAD = 16


class Database:
    """A consistent view of a store. Names of tables and columns count in lower case."""

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        self.modified = datetime.fromtimestamp(path.stat().st_mtime, UTC)
        """When the file was last written."""
        self.problems: list[str] = []
        """What could not be listed, one line each."""
        self._connection = connection
        self._columns: dict[str, tuple[str, ...]] = {}

    def tables(self) -> set[str]:
        """The names of its tables and views."""
        return {
            str(row["name"]).lower()
            for row in self.rows("SELECT name FROM sqlite_master WHERE type IN ('table','view')")
        }

    def columns(self, table: str) -> tuple[str, ...]:
        """The names of a table's columns; none if there is no such table."""
        if table not in self._columns:
            found = self.rows("SELECT name FROM pragma_table_info(?)", (table,))
            self._columns[table] = tuple(str(row["name"]).lower() for row in found)
        return self._columns[table]

    def first_of(self, table: str, *names: str) -> str | None:
        """The first of these columns that a table has: one thing had several names over the years."""
        return next((name for name in names if name in self.columns(table)), None)

    def rows(self, sql: str, values: Sequence[Value] = ()) -> Iterator[Row]:
        """The rows of a query by column. Raises SourceError where the file is damaged or locked."""
        try:
            cursor = self._connection.execute(sql, tuple(values))
            names = [str(column[0]).lower() for column in cursor.description]
            for row in cursor:
                yield dict(zip(names, row, strict=True))
        except sqlite3.Error as error:
            raise SourceError(_reason(error)) from error

    def keys(self, table: str, column: str, order: str = "rowid") -> list[Value]:
        """The different values of a column but NULL, in the order in which they begin."""
        name = quoted(column)
        sql = f"SELECT {name} AS key FROM {quoted(table)} GROUP BY {name} ORDER BY min({quoted(order)})"  # noqa: S608 - quoted
        return [row["key"] for row in self.rows(sql) if row["key"] is not None]

    def numbered(self, table: str, column: str | None) -> Iterator[tuple[int, Value]]:
        """The number of each row of a table, and its value in a column."""
        key = quoted(column) if column else "NULL"
        for row in self.rows(f"SELECT rowid AS number, {key} AS key FROM {quoted(table)} ORDER BY rowid"):  # noqa: S608 - quoted
            yield int(str(row["number"])), row["key"]

    def where(self, table: str, column: str, value: Value, order: str = "rowid") -> Iterator[Row]:
        """The rows of a table with this value in a column."""
        sql = f"SELECT * FROM {quoted(table)} WHERE {quoted(column)} = ? ORDER BY {quoted(order)}"  # noqa: S608 - quoted
        return self.rows(sql, (value,))


def quoted(name: str) -> str:
    """A table's or column's name, whatever stands in it, for SQL."""
    return '"' + name.replace('"', '""') + '"'


@contextmanager
def opened(path: Path) -> Iterator[Database]:
    """The store in the file `path`, as it is at this moment. Raises SourceError if it is no SQLite database."""
    _check(path)
    connection = _connected(path)
    try:
        try:
            connection.execute("BEGIN")  # one view for all that is read
            connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        except sqlite3.Error as error:
            raise SourceError(_reason(error)) from error
        yield Database(connection, path)
    finally:
        connection.close()


def _check(path: Path) -> None:
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            raise SourceError("is no file")
        with path.open("rb") as file:
            head = file.read(_HEAD)
    except OSError as error:
        raise SourceError(f"can't be read ({error.strerror or type(error).__name__})") from None
    except ValueError:  # a NUL character
        raise SourceError("is no path") from None
    if not head:
        raise SourceError("is empty")
    if head[8:12] == _DUCKDB:
        raise SourceError(
            "is a DuckDB database; only SQLite stores can be imported. Newer versions of the tool use SQLite"
        )
    if head != _SQLITE:
        raise SourceError("is no SQLite database")


def _connected(path: Path) -> sqlite3.Connection:
    """Read only; as it lies there where even a reader would have to make files (WAL in a folder without permission)."""
    uri = path.resolve().as_uri()
    for mode in ("mode=ro", "mode=ro&immutable=1"):
        try:
            connection = sqlite3.connect(
                f"{uri}?{mode}", uri=True, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False
            )
        except sqlite3.Error as error:
            raise SourceError(_reason(error)) from error
        connection.text_factory = _text
        try:
            connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        except sqlite3.Error as error:
            wal = Path(f"{path.resolve()}-wal")
            if error.sqlite_errorname == "SQLITE_CANTOPEN" and not (os.path.exists(wal) and wal.stat().st_size):  # noqa: PTH110 - never raises
                connection.close()
                continue
            connection.close()
            raise SourceError(_reason(error)) from error
        return connection
    raise SourceError("can't be opened; copy it (with the file ending in -wal, if there is one) and import the copy")


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def _reason(error: sqlite3.Error) -> str:
    name = getattr(error, "sqlite_errorname", "") or ""
    if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return "is locked by the tool that writes it; stop the tool and repeat"
    if name.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB", "SQLITE_IOERR", "SQLITE_FORMAT")):
        return f"is damaged ({error}); restore a backup of it, or try: sqlite3 FILE .recover"
    return f"can't be read ({error})"
