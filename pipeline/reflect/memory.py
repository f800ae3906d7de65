"""What reflecting remembers beside the diary: entries that are done, rules turned down, proposals still open."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from indexes.errors import HostError, SourceError, StoreBusyError
from pipeline.install.files import read_bytes, replace_atomically
from pipeline.reflect.reading import Diary

LOG, STATE, LOCK = "processed.log", "reflect.json", "reflect.lock"
WAIT = 10.0
"""Seconds that a write waits for another reflection."""


@dataclass(slots=True)
class Target:
    """A rules file as it was seen last: the rules that stood in our section, and those that the user took out."""

    known: list[str] = field(default_factory=list)
    declined: list[str] = field(default_factory=list)


def lock(folder: Path) -> FileLock:
    """The lock of a diary folder; the system frees it when its holder dies. Acquire it with `locked`."""
    return FileLock(folder / LOCK, mode=0o600, timeout=WAIT)


class locked:  # noqa: N801 - reads as a word: with locked(folder)
    """Holds a diary folder. Raises StoreBusyError, SourceError."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = lock(folder)

    def __enter__(self) -> None:
        try:
            self._lock.acquire()
        except Timeout:
            raise StoreBusyError(f"Another gieok reflect holds {self._folder}. Run the command again.") from None
        except OSError as error:
            raise SourceError(
                f"The diary folder {self._folder} can't be written ({error.strerror}), so nothing was changed."
            ) from error

    def __exit__(self, *_: object) -> None:
        self._lock.release()


def processed(folder: Path) -> dict[str, set[str]]:
    """Names of entries that are done, each with the digests it had; an empty digest stands for any content.

    A line is `name`, or `name<tab>digest`; what is neither (a line that was cut off by a crash) is passed over.
    Raises SourceError.
    """
    try:
        data = read_bytes(folder / LOG) or b""
    except HostError as error:
        raise SourceError(str(error)) from error
    done: dict[str, set[str]] = {}
    for line in data.decode("utf-8", "replace").splitlines():
        name, _, digest = line.strip().partition("\t")
        if name.endswith(".md"):
            done.setdefault(Path(name).name, set()).add(digest.strip())
    return done


def is_done(diary: Diary, done: Mapping[str, set[str]]) -> bool:
    """Whether an entry was processed as it is now: one that was written to since counts as new."""
    digests = done.get(diary.path.name, set())
    return "" in digests or diary.digest in digests


def mark(folder: Path, diaries: Iterable[Diary]) -> int:
    """Append entries to the log, in one write that is on disk when this returns; how many were not in it yet.

    The caller holds the lock. Raises SourceError.
    """
    done = processed(folder)
    fresh = [diary for diary in diaries if not is_done(diary, done)]
    if not fresh:
        return 0
    path = folder / LOG
    lines = "".join(f"{diary.path.name}\t{diary.digest}\n" for diary in fresh).encode()
    try:
        handle = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            size = os.fstat(handle).st_size
            torn = size > 0 and os.pread(handle, 1, size - 1) != b"\n"  # a crash in the midst of a line
            os.write(handle, (b"\n" if torn else b"") + lines)
            os.fsync(handle)
        finally:
            os.close(handle)
    except OSError as error:
        raise SourceError(
            f"{path} can't be written ({error.strerror}). Mend that and run gieok reflect --mark"
        ) from error
    return len(fresh)


@dataclass(slots=True)
class State:
    """The content of `reflect.json`."""

    targets: dict[str, Target] = field(default_factory=dict)
    open: list[dict[str, Any]] = field(default_factory=list)

    @classmethod
    def load(cls, folder: Path) -> State:
        """The state of a diary folder; an empty one if there is none yet. Raises SourceError."""
        path = folder / STATE
        try:
            data = read_bytes(path)
            if data is None:
                return cls()
            raw = json.loads(data)
            targets = {
                str(name): Target(list(map(str, target["known"])), list(map(str, target["declined"])))
                for name, target in raw["targets"].items()
            }
            return cls(targets, [dict(item) for item in raw["open"]])
        except (HostError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise SourceError(
                f"{path} can't be read ({type(error).__name__}). Put it right, or delete it: declined rules are then "
                "proposed again."
            ) from error

    def save(self, folder: Path) -> None:
        """Replace the file. The caller holds the lock. Raises SourceError."""
        path = folder / STATE
        targets = {name: {"known": target.known, "declined": target.declined} for name, target in self.targets.items()}
        data = json.dumps({"targets": targets, "open": self.open}, ensure_ascii=False, indent=1).encode()
        try:
            for _ in range(3):
                before = read_bytes(path)
                if before == data or replace_atomically(path, data, expected=before, private=True):
                    return
        except (HostError, OSError) as error:
            raise SourceError(f"{path} can't be written ({error}).") from error
        raise SourceError(f"Another program keeps writing {path}. Close it and run the command again.")
