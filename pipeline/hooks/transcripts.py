"""The hooks that index: a transcript becomes memories when the agent stops, and vectors when its session has ended.

Nothing stays behind. A worker indexes while it holds one lock, and embeds while it holds another, so that there is
never more than one of each; the others leave a note of what is to be done, and whoever works takes it along. A timer of
the kernel ends a worker after `hooks.background` seconds whatever it does.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from indexes.errors import SourceError, StoreBusyError
from pipeline.hooks.log import harmless, note
from pipeline.hooks.reply import Reply
from pipeline.hooks.seen import folder
from pipeline.settings import Settings

_TRIES = 3
"""Times that a transcript is begun: one that is never finished must not be tried for ever."""
_HEAD = 1 << 16


def accepted(named: str, home: Path, most_bytes: int) -> Path:
    """The transcript at a path that the host names. Raises SourceError: anything else is not read at all."""
    if not named:
        raise SourceError("The host named no transcript.")
    path = Path(named)
    if not path.is_absolute() or "\0" in named or ".." in path.parts:
        raise SourceError("The transcript is not named by an absolute path without '..'.")
    if path.suffix != ".jsonl":
        raise SourceError("The transcript has another suffix than .jsonl.")
    try:
        # O_NONBLOCK: a named pipe must not keep us waiting.
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        try:
            about = os.fstat(handle)
            if not stat.S_ISREG(about.st_mode) or about.st_uid != os.geteuid():
                raise SourceError("The transcript is not a regular file of this user.")
            if about.st_size > most_bytes:
                raise SourceError(
                    f"The transcript has {about.st_size:,} bytes (sources.max_file_bytes: {most_bytes:,})."
                )
            head = os.read(handle, _HEAD).decode("utf-8", "replace")
        finally:
            os.close(handle)
    except OSError as error:
        raise SourceError(f"The transcript can't be read ({error.strerror}).") from None
    path = path.resolve()
    if path.is_relative_to(home):
        raise SourceError("The transcript lies in the home of gieok itself.")
    from pipeline.sources.transcript import TranscriptReader

    if about.st_size and not TranscriptReader().accepts(path.name, head):
        raise SourceError("The file named as a transcript is none.")
    return path


def index_transcripts(home: Path, settings: Settings, reply: Reply, event: str, *paths: Path | None) -> None:
    """Index these files and what others left; words can be searched when the host has its answer.

    Makes the store if there is none: a fresh installation begins to remember by itself. Raises GieokError, OSError.
    """
    for path in paths:
        if path is not None:
            _leave(home, path)
    if not any(_left(home)):
        return
    with _alone(folder(home) / "work.lock", until=lambda: reply.left) as mine:
        if mine:
            _take_all(home, settings, event)


def embed(home: Path, settings: Settings) -> None:
    """Make the vectors that lack, quietly: on one core, at the lowest priority. Raises GieokError, OSError."""
    from pipeline.gieok import Gieok

    with _alone(folder(home) / "embed.lock", until=lambda: 0.0) as mine:
        if not mine:
            return
        os.nice(19)
        modest = settings.model_copy(update={"embedder": settings.embedder.model_copy(update={"threads": 1})})
        with Gieok.open(home, modest, create=False) as memory:
            try:
                memory.embed_pending()
            except StoreBusyError:
                return  # `gieok index` is at it


def _take_all(home: Path, settings: Settings, event: str) -> None:
    from pipeline.gieok import Gieok

    with Gieok.open(home, settings) as memory:
        while waiting := list(_left(home)):
            for mark in waiting:
                path = _begin(mark)
                if path is not None:
                    report = memory.index([path], vectors=False)
                    for failure in report.failed:
                        note(home, event, harmless(f"{failure.path}: {failure.reason}"))
                mark.unlink(missing_ok=True)


def _leave(home: Path, path: Path) -> None:
    home.mkdir(mode=0o700, parents=True, exist_ok=True)  # parents get another mode: each of ours is made by itself
    place = folder(home)
    place.mkdir(mode=0o700, exist_ok=True)
    mark = place / f"todo-{hashlib.sha256(os.fsencode(path)).hexdigest()[:16]}"
    _write(mark, 0, path)


def _left(home: Path) -> Iterator[Path]:
    return (mark for mark in sorted(folder(home).glob("todo-*")) if len(mark.name) == len("todo-") + 16)


def _begin(mark: Path) -> Path | None:
    """The transcript that a mark names, if it has not been begun too often."""
    try:
        number, _, name = mark.read_bytes().partition(b"\n")
        path, tries = Path(os.fsdecode(name)), int(number)
    except (OSError, ValueError):
        return None
    if tries >= _TRIES or not path.is_file():
        return None
    _write(mark, tries + 1, path)
    return path


def _write(mark: Path, tries: int, path: Path) -> None:
    new = mark.with_name(f"{mark.name}.{os.getpid()}")
    handle = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
    try:
        os.write(handle, b"%d\n%s" % (tries, os.fsencode(path)))
    finally:
        os.close(handle)
    new.replace(mark)


@contextmanager
def _alone(lock: Path, *, until: Callable[[], float]) -> Iterator[bool]:
    """Hold a lock, and whether we got it while `until` still gave seconds. The system frees it when we die."""
    lock.parent.mkdir(mode=0o700, exist_ok=True)
    handle = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        while True:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                mine = True
            except BlockingIOError:
                mine = False
            if mine or until() <= 0:
                break
            time.sleep(0.02)
        yield mine
    finally:
        os.close(handle)
