"""Files that belong to other programs: read with care, backed up, and replaced whole or not at all."""

from __future__ import annotations

import os
import re
import secrets
import stat
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeAlias

from indexes.errors import HostError

MAX_BYTES = 64_000_000
"""Settings above this are not settings."""
BACKUPS_KEPT = 5
"""Backups of one file; the oldest go first."""
TRIES = 5
"""How often a change is worked out again because another program wrote the file meanwhile."""

Edit: TypeAlias = Callable[[bytes | None], bytes | None]
"""What a file shall hold, from what it holds; None is a file that is not there."""


def read_bytes(path: Path) -> bytes | None:
    """The content of a regular file, through symlinks; None if there is none. Raises HostError."""
    try:
        # Without O_NONBLOCK the opening of a pipe would wait for a writer.
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise HostError(f"{path} can't be read ({error.strerror}). Mend that and run the command again.") from error
    about = os.fstat(handle)
    if not stat.S_ISREG(about.st_mode):
        os.close(handle)
        raise HostError(f"{path} is not a file. Move it away and run the command again.")
    with os.fdopen(handle, "rb") as file:
        data = file.read(MAX_BYTES + 1) if about.st_size <= MAX_BYTES else b""
    if max(about.st_size, len(data)) > MAX_BYTES:
        raise HostError(
            f"{path} is larger than {MAX_BYTES // 1_000_000} MB; that is no settings file. Look at it first."
        )
    return data


def update(
    path: Path, edit: Edit, *, private: bool, keep_backup: bool
) -> tuple[bytes | None, bytes | None, Path | None]:
    """Let `edit` change a file; what it held, what it holds now, and the backup if one was made.

    A file that another program writes at the same time is read and edited again, so that neither change is lost.
    `private` new files are readable by their owner only. Raises HostError; the file then is as it was.
    """
    for _ in range(TRIES):
        before = read_bytes(path)
        after = edit(before)
        if after == before:
            return before, after, None
        try:
            check_writable(path)
            # What is to be gone held nothing but our own entries.
            saved = backup(path, before) if keep_backup and before is not None and after is not None else None
            if replace_atomically(path, after, expected=before, private=private):
                return before, after, saved
            if saved is not None:
                saved.unlink()
        except OSError as error:
            raise HostError(f"{path} can't be written ({error.strerror}). It is as it was.") from error
    raise HostError(f"Another program keeps writing {path}. Close it and run the command again.")


def replace_atomically(path: Path, data: bytes | None, *, expected: bytes | None, private: bool = False) -> bool:
    """Make a file hold `data` (None: be gone), if it still holds `expected`; False if it doesn't.

    The new content is on disk before it takes the name, so that a crash leaves the old or the new file, never half of
    one. Mode and owner stay; a symlink stays, and the file it names is replaced. Raises OSError and HostError.
    """
    target = Path(os.path.realpath(path))
    if data is None:
        if read_bytes(target) != expected:
            return False
        target.unlink(missing_ok=True)
        _sync_folder(target.parent)
        return True
    target.parent.mkdir(mode=0o700 if private else 0o777, parents=True, exist_ok=True)
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(6)}.tmp")
    try:
        _write_new(temporary, data, like=target if expected is not None else None, private=private)
        if read_bytes(target) != expected:
            return False
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)
    _sync_folder(target.parent)
    return True


def check_writable(path: Path) -> None:
    """Refuse a file that may not be written: it could be replaced, but whoever made it read-only meant both.

    Raises HostError.
    """
    target = Path(os.path.realpath(path))
    if target.exists() and not (target.stat().st_mode & stat.S_IWUSR and os.access(target, os.W_OK)):
        link = f", a link to {target}," if path.is_symlink() else ""
        raise HostError(f"{path}{link} is read-only. Allow writing (chmod u+w) and run the command again.")
    folder = next(parent for parent in target.parents if parent.exists())
    if not folder.is_dir() or not os.access(folder, os.W_OK | os.X_OK):
        raise HostError(f"{folder} is no folder that can be written to, so {path} can't be. Mend that and try again.")


def backup(path: Path, data: bytes) -> Path:
    """Keep `data` beside the file, under a new name and with its mode; the oldest backups go. Raises OSError."""
    moment = datetime.now(UTC)
    stamp = f"{moment:%Y%m%dT%H%M%S}.{moment.microsecond:06}Z-{secrets.token_hex(2)}"
    saved = path.with_name(f"{path.name}.gieok-{stamp}.bak")
    temporary = path.with_name(f".{saved.name}.tmp")
    try:
        _write_new(temporary, data, like=path, private=True)
        temporary.rename(saved)
    finally:
        temporary.unlink(missing_ok=True)
    for old in backups(path)[:-BACKUPS_KEPT]:
        old.unlink(missing_ok=True)
    return saved


def backups(path: Path) -> list[Path]:
    """The backups of a file, oldest first."""
    ours = re.compile(re.escape(path.name) + r"\.gieok-\d{8}T\d{6}\.\d{6}Z-[0-9a-f]{4}\.bak")
    try:
        return sorted(file for file in path.parent.iterdir() if ours.fullmatch(file.name))
    except FileNotFoundError:
        return []
    except OSError as error:
        raise HostError(f"{path.parent} can't be read ({error.strerror}). Mend that and try again.") from error


def _write_new(path: Path, data: bytes, *, like: Path | None, private: bool) -> None:
    about = like.stat() if like is not None else None
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600 if private or about else 0o666)
    with os.fdopen(handle, "wb") as file:
        if about is not None:
            if about.st_uid != os.geteuid():
                os.fchown(file.fileno(), about.st_uid, about.st_gid)
            os.fchmod(file.fileno(), stat.S_IMODE(about.st_mode))
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
