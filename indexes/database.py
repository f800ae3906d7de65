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
from indexes.schema import SCHEMA, SCHEMA_VERSION

RESTORE = "Move it away and index again, or restore a backup; nothing was changed."


class Database:
    """The store's file, opened or created. Not for use by two threads at once."""

    def __init__(self, path: Path, *, busy_timeout: float) -> None:
        """`busy_timeout`: seconds that a write waits for another process."""
        self.path = path
        with self._errors():
            created = not path.exists()
            self._connection = sqlite3.connect(
                path, timeout=busy_timeout, isolation_level=None, check_same_thread=False
            )
            try:
                if created and os.name == "posix":
                    path.chmod(0o600)
                self._set_up(busy_timeout)
            except BaseException:
                self._connection.close()
                raise

    def _set_up(self, busy_timeout: float) -> None:
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
        self._connection.execute("PRAGMA foreign_keys = ON")
        version = self._version()
        if version > SCHEMA_VERSION:
            raise StoreVersionError(
                f"The store {self.path} has schema {version}, this gieok knows {SCHEMA_VERSION}. Upgrade gieok:"
                " pip install --upgrade gieok"
            )
        if version == 0:
            with self.transaction():
                if self._version() == 0:  # another process may have been first
                    for statement in SCHEMA:
                        self._connection.execute(statement)
                    self._connection.execute("INSERT INTO meta VALUES ('store_id', ?)", (secrets.token_hex(8),))
                    self._connection.execute("INSERT INTO meta VALUES ('sequence', 0)")
                    self._connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")

    def _version(self) -> int:
        return int(self._connection.execute("PRAGMA user_version").fetchone()[0])

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
                yield self._connection
                self._connection.execute("COMMIT")
            except BaseException:
                with contextlib.suppress(sqlite3.Error):
                    self._connection.execute("ROLLBACK")
                raise

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
