"""What went wrong in hooks, for `gieok doctor`: nobody reads a hook's stderr, and the host would show it as a failure.

One line a problem in `<home>/hooks.log`: time, event, kind of error, message. Never a prompt, nothing of a transcript.
"""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path

from indexes.errors import GieokError
from pipeline.plaintext import clean, fold

LARGEST = 64_000
"""Bytes after which the log becomes `hooks.log.1`, and that one is gone."""
_MESSAGE = 300


def log_path(home: Path) -> Path:
    """Where it lies."""
    return home / "hooks.log"


def note(home: Path | None, event: str, error: BaseException | str) -> None:
    """Write down a problem, if the home is there; never raises.

    What an error says is made `harmless`. A text is written as it is, and without an import: an import that hangs in
    another thread may be what it tells about.
    """
    if home is None or not home.is_dir():
        return
    kind, message = ("Note", error) if isinstance(error, str) else (type(error).__name__, _said(error))
    try:
        line = f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%S+00:00} {event} {kind}: {message[:_MESSAGE]}\n"
        path = log_path(home)
        if path.exists() and path.stat().st_size > LARGEST:
            path.replace(path.with_name("hooks.log.1"))
        # One write to a file opened for appending: lines of two processes don't mix.
        handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK, 0o600)
        try:
            os.write(handle, line.encode("utf-8", "replace"))
        finally:
            os.close(handle)
    except (OSError, ValueError):  # a full disk, a folder that can't be written: there is nobody left to tell
        return


def harmless(text: str) -> str:
    """On one line, without what a terminal would obey and with secrets masked."""
    from pipeline.sources.redact import masked

    return masked(fold(clean(text)))


def recent(home: Path, limit: int = 20) -> list[str]:
    """The last problems, oldest first; [] if there are none or they can't be read."""
    try:
        return log_path(home).read_text(encoding="utf-8", errors="replace").splitlines()[-limit:]
    except OSError:
        return []


def _said(error: BaseException) -> str:
    # Only our own errors and the system's are written for people; others may quote what they choked on.
    if isinstance(error, GieokError):
        return harmless(str(error))
    if isinstance(error, OSError):
        return harmless(f"{error.strerror} ({error.filename})" if error.filename else str(error.strerror))
    return "unexpected; please report it"
