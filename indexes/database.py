"""One SQLite connection: durable, shared with other processes, and with errors that say what to do."""

from __future__ import annotations

import contextlib
import os
import secrets
import sqlite3
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from indexes.errors import StoreBusyError, StoreCorruptError, StoreError, StoreVersionError
from indexes.migrations import migrate, schema_version
from indexes.schema import SCHEMA, SCHEMA_VERSION

RESTORE = "Save what can be read with: gieok doctor --repair (or put a backup back); nothing was changed."
OWN_TABLES = frozenset({"meta", "memories", "sources", "occurrences"})
"""What every store of ours has, of whatever schema."""


class Database:
    """The store's file, opened or created. Not for use by two threads at once."""

    def __init__(self, path: Path, *, busy_timeout: float, read_only: bool = False) -> None:
        """`busy_timeout`: seconds that a write waits for another process.

        `read_only` opens what is there as it is, also in a folder that can't be written, and changes no byte of it.
        """
        self.path = path
        with self._errors():
            if read_only:
                self._connection = open_for_reading(path, busy_timeout)
            else:
                if os.name == "posix" and not path.exists():
                    make_private_file(path)  # before SQLite: never readable by others, not for a moment
                self._connection = sqlite3.connect(
                    path, timeout=busy_timeout, isolation_level=None, check_same_thread=False
                )
            self._file = _identity(path)
            try:
                if read_only:
                    self._check_readable()
                else:
                    self._set_up(busy_timeout)
            except BaseException:
                self._connection.close()
                raise

    def _set_up(self, busy_timeout: float) -> None:
        self._refuse_foreign()  # before anything is written
        deadline = time.monotonic() + busy_timeout
        while True:
            try:
                self._connection.execute("PRAGMA journal_mode = WAL")
                break
            except sqlite3.OperationalError as error:
                # Two processes that open a new file together: SQLite answers "locked" here without waiting.
                if _code(error) not in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED) or time.monotonic() > deadline:
                    raise
                time.sleep(0.02)
        # FULL: a commit that was acknowledged survives a loss of power.
        self._connection.execute("PRAGMA synchronous = FULL")
        version = schema_version(self._connection)
        if version == 0:
            with self.transaction():
                if schema_version(self._connection) == 0:  # another process may have been first
                    for statement in SCHEMA:
                        self._connection.execute(statement)
                    self._connection.execute("INSERT INTO meta VALUES ('store_id', ?)", (secrets.token_hex(8),))
                    self._connection.execute("INSERT INTO meta VALUES ('sequence', 0)")
                    self._connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
        elif version < SCHEMA_VERSION:
            migrate(self._connection, self.path)
        self._connection.execute("PRAGMA foreign_keys = ON")

    def _refuse_foreign(self) -> None:
        """Refuse what a newer gieok or another program wrote."""
        version = schema_version(self._connection)
        tables = {name for (name,) in self._connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        if (version or tables) and not tables >= OWN_TABLES:
            raise StoreCorruptError(
                f"{self.path} is an SQLite file, but not a store of gieok. Choose another folder with --home, or move"
                " the file away; nothing was changed."
            )
        if version > SCHEMA_VERSION:
            raise StoreVersionError(
                f"The store {self.path} has schema {version}, this gieok knows {SCHEMA_VERSION}. Upgrade gieok:"
                " pip install --upgrade gieok"
            )

    def _check_readable(self) -> None:
        self._refuse_foreign()
        version = schema_version(self._connection)
        if version < SCHEMA_VERSION:
            raise StoreVersionError(
                f"The store {self.path} has schema {version} and must be brought up to {SCHEMA_VERSION}, but its folder"
                " can't be written. Make it writable, or copy it and name the copy with --home."
            )

    def close(self) -> None:
        """Close the connection. Closing twice is harmless."""
        self._connection.close()

    def rows(self, sql: str, values: Sequence[Any] | Mapping[str, Any] = ()) -> list[Any]:
        """All rows of a query."""
        with self._errors():
            return self._connection.execute(sql, values).fetchall()

    def value(self, sql: str, values: Sequence[Any] | Mapping[str, Any] = ()) -> Any:
        """The first column of the first row, None where there is no row."""
        found = self.rows(sql, values)
        return found[0][0] if found else None

    @contextlib.contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """All or nothing; waits for other writers, and is on disk when it returns."""
        with self._errors():
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                self._refuse_exchanged()
                yield self._connection
                self._connection.execute("COMMIT")
            except BaseException:
                with contextlib.suppress(sqlite3.Error):
                    self._connection.execute("ROLLBACK")
                raise

    def vacuum(self) -> None:
        """Write the file anew, so that no page holds what was deleted. Waits for other writers."""
        with self._errors():
            self._connection.execute("PRAGMA temp_store = MEMORY")  # not a copy in a folder for all
            self._connection.execute("PRAGMA secure_delete = ON")  # from here on nothing is only unlinked
            self._connection.execute("VACUUM")
            self.empty_log()

    def empty_log(self) -> None:
        """Move what is in the log into the file and cut the log off. Raises StoreBusyError while others read it."""
        with self._errors():
            busy, *_ = self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        if busy:
            raise StoreBusyError(f"Other processes are reading the log of {self.path}. Repeat when they are done.")

    def _refuse_exchanged(self) -> None:
        """Refuse to write into a file that no longer has its name: a repair, or somebody, put another there."""
        if _identity(self.path) != self._file:
            raise StoreError(f"The store {self.path} was exchanged for another file. Restart this program.")

    @contextlib.contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise self._explained(error) from error

    def _explained(self, error: sqlite3.Error) -> StoreError:
        code = _code(error)
        if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            return StoreBusyError(f"The store {self.path} is locked by another process. Try again when it is done.")
        if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
            return StoreCorruptError(f"The store {self.path} is damaged ({error}). {RESTORE}")
        if code == sqlite3.SQLITE_FULL:
            return StoreError(f"No space left for the store {self.path}. Free some and repeat; nothing stored is lost.")
        if code in (
            sqlite3.SQLITE_READONLY,
            sqlite3.SQLITE_CANTOPEN,
            sqlite3.SQLITE_PERM,
            sqlite3.SQLITE_IOERR,
        ):
            return StoreError(
                f"The store {self.path} can't be opened or written ({error}). Check the folder and its permissions."
            )
        return StoreError(f"The store {self.path} failed: {error}")


def _code(error: sqlite3.Error) -> int:
    return getattr(error, "sqlite_errorcode", 0) & 0xFF  # the low byte is the primary code


def open_for_reading(path: Path, busy_timeout: float = 5.0) -> sqlite3.Connection:
    """A connection that changes nothing. Raises sqlite3.Error.

    Where the folder can't be written and no other process has made the files that SQLite shares between processes, the
    store is taken as it lies, provided that nothing is waiting in its log.
    """
    where = f"{path.resolve().as_uri()}?mode=ro"
    how: dict[str, Any] = {"timeout": busy_timeout, "isolation_level": None, "check_same_thread": False, "uri": True}
    connection: sqlite3.Connection = sqlite3.connect(where, **how)
    try:
        connection.execute("SELECT 1 FROM sqlite_master").fetchone()
    except sqlite3.OperationalError as error:
        connection.close()
        log = path.with_name(path.name + "-wal")
        if _code(error) not in (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY) or _size(log):
            raise
        frozen: sqlite3.Connection = sqlite3.connect(f"{where}&immutable=1", **how)
        return frozen
    except BaseException:
        connection.close()
        raise
    return connection


def make_private_file(path: Path) -> None:
    """Make an empty file that only its owner can read, unless there is one."""
    with contextlib.suppress(FileExistsError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _identity(path: Path) -> tuple[int, int] | None:
    """What tells a file from another one of the same name; None if there is none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino
