"""The folder of the diary: where it lies, what is in it, and how a new number is taken without a race."""

from __future__ import annotations

import datetime as dt
import os
from collections.abc import Callable
from pathlib import Path
from typing import Final

from indexes.errors import SourceError
from pipeline.diary.entry import NAME, Entry, parse_entry
from pipeline.settings import Settings
from pipeline.sources.cleaning import Cleaner
from pipeline.sources.decode import decode
from pipeline.sources.read import load

MAX_BYTES: Final = 1_000_000
"""A longer file is no diary entry."""
_MAX_NUMBER: Final = 9_999


def diary_folder(settings: Settings, home: Path) -> Path:
    """`diary.folder` of the settings, else `diary` in the home."""
    named = settings.diary.folder
    return Path(named).expanduser() if named else home / "diary"


def diary_files(folder: Path) -> list[Path]:
    """The entries of a folder by their names, newest first; none if there is no such folder."""
    try:
        names = [entry.name for entry in os.scandir(folder) if NAME.fullmatch(entry.name)]
    except OSError:
        return []
    return [folder / name for name in sorted(names, key=_order, reverse=True)]


def read_entries(folder: Path, limit: int | None = None) -> list[tuple[Path, Entry]]:
    """The newest `limit` entries that can be read, newest first, without private parts and our own answers."""
    found: list[tuple[Path, Entry]] = []
    for path in diary_files(folder):
        if limit is not None and len(found) >= limit:
            break
        text = read_text(path)
        if text is not None and text.strip():
            found.append((path, parse_entry(Cleaner().text(text), path.name)))
    return found


def read_text(path: Path) -> str | None:
    """The text of an entry as it stands; None if it can't be read, is a link or no text."""
    try:
        return decode(load(path, max_bytes=MAX_BYTES)).text
    except SourceError:
        return None


def create(folder: Path, date: dt.date, content: Callable[[int], str]) -> tuple[Path, int]:
    """Write a new entry of `date` under the next free number, durably, readable by its owner only.

    `content` makes the text for a number. Any number of processes may do this at once: none shares a number with
    another or overwrites anything. Raises OSError.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    number = 1 + max(
        (_order(path.name)[1] for path in diary_files(folder) if _order(path.name)[0] == f"{date}"), default=0
    )
    while True:
        if number > _MAX_NUMBER:
            raise OSError(None, f"{date} has {_MAX_NUMBER:,} entries already")
        path = folder / f"{date.isoformat()}-session-{number:02d}.md"
        try:
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
            break
        except FileExistsError:
            number += 1
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content(number).encode("utf-8"))
            file.flush()
            os.fsync(file.fileno())
        sync(folder)
    except BaseException:
        path.unlink(missing_ok=True)  # a part of an entry would pass for the whole
        raise
    return path, number


def sync(folder: Path) -> None:
    """Wait until the names in a folder are on disk."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _order(name: str) -> tuple[str, int]:
    found = NAME.fullmatch(name)
    return (found["date"], int(found["number"])) if found else ("", 0)
