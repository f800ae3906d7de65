"""A store of an older schema becomes one of ours: backed up first, then changed in one transaction.

Whoever opens it first takes SQLite's write lock; others wait for it and then find nothing left to do. The backup is
whole and on the disk under its name before the first change, so that a kill at any moment leaves the old store or the
new one, never something between.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Mapping, Sequence
from pathlib import Path

from indexes.errors import StoreError
from indexes.manifest import sync_folder
from indexes.schema import FORGOTTEN, SCHEMA_VERSION

MIGRATIONS: Mapping[int, Sequence[str]] = {1: FORGOTTEN}
"""What leads from the schema with this number to the next one."""


def migrate(
    connection: sqlite3.Connection,
    path: Path,
    *,
    target: int = SCHEMA_VERSION,
    migrations: Mapping[int, Sequence[str]] = MIGRATIONS,
) -> Path | None:
    """Bring the store at `path`, which `connection` has open, to the schema `target`; the backup, None if none was due.

    Raises sqlite3.Error (busy: another process holds the store for too long) and StoreError.
    """
    connection.execute("BEGIN IMMEDIATE")
    try:
        version = schema_version(connection)
        kept = None
        if 0 < version < target:
            missing = [step for step in range(version, target) if step not in migrations]
            if missing:
                raise StoreError(
                    f"The store {path} has schema {version}, which this gieok can't bring up to {target}. Open it once"
                    " with an older gieok, or index again into another --home."
                )
            kept = back_up(path, backup_of(path, version))
            for step in range(version, target):
                for statement in migrations[step]:
                    connection.execute(statement)
            connection.execute(f"PRAGMA user_version = {target}")
        connection.execute("COMMIT")
    except BaseException:
        with contextlib.suppress(sqlite3.Error):
            connection.execute("ROLLBACK")
        raise
    return kept


def schema_version(connection: sqlite3.Connection) -> int:
    """The number of the schema that a store has; 0 for a file that is new, or not ours."""
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def backup_of(path: Path, version: int) -> Path:
    """Where the store at `path` is kept as it was before it left schema `version`."""
    return path.with_name(f"{path.name}.v{version}.bak")


def back_up(path: Path, copy: Path) -> Path:
    """A copy of what is committed in the store at `path`, readable by its owner only; durable on return.

    It has its name only when it is whole. An older one of this name gives way. Raises StoreError.
    """
    fresh = copy.with_name(f"{copy.name}.new")
    try:
        fresh.unlink(missing_ok=True)
        os.close(os.open(fresh, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        # A connection of its own: SQLite copies nothing out of one that is writing.
        with (
            contextlib.closing(sqlite3.connect(path)) as source,
            contextlib.closing(sqlite3.connect(fresh, isolation_level=None)) as target,
        ):
            source.backup(target)
            target.execute("PRAGMA journal_mode = DELETE")  # one file, without a log beside it
        with fresh.open("rb+") as file:
            os.fsync(file.fileno())
        fresh.replace(copy)
        sync_folder(copy.parent)
    except (OSError, sqlite3.Error) as error:
        with contextlib.suppress(OSError):
            fresh.unlink(missing_ok=True)
        raise StoreError(
            f"The store {path} must be backed up before it is changed, and {copy} can't be written ({error}). Free"
            f" {path.stat().st_size:,} bytes or mend the permissions; nothing was changed."
        ) from error
    return copy
