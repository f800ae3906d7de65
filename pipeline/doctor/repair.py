"""Mends what the doctor found. What holds memories is never thrown away: the damaged store stays beside the new one."""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from indexes.errors import StoreBusyError, StoreError
from indexes.manifest import sync_folder
from indexes.store import Store
from pipeline.doctor.findings import Diagnosis
from pipeline.doctor.folder import leftovers, open_to_others
from pipeline.doctor.salvage import Salvaged, salvage
from pipeline.gieok import Gieok
from pipeline.home import Home
from pipeline.progress import OnProgress
from pipeline.settings import Settings
from pipeline.sync import held

Ask = Callable[[str], bool]


def repair(
    diagnosis: Diagnosis, settings: Settings, *, ask: Ask, on_progress: OnProgress | None = None
) -> Iterator[str]:
    """Mend what a diagnosis names, and say what was done, a line at a time.

    `ask` is asked before the store is exchanged. Raises StoreError where something can't be mended.
    """
    home = Home(Path(diagnosis.home))
    finished = list(_finish_exchange(home))
    yield from finished
    if diagnosis.broken("permissions"):
        for path in open_to_others(home.path):
            path.chmod(path.stat().st_mode & ~0o077)
        yield f"permissions: {home.path} is its owner's alone now"
    if diagnosis.broken("leftovers"):
        for path in leftovers(home):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
            yield f"leftovers: {path.name} is deleted"
    stored = bool(diagnosis.broken("store"))
    if stored and not finished:
        yield from _save_store(home, settings, ask)
    if diagnosis.broken("forget") and not stored:
        with Gieok.open(home.path, settings, create=False) as memory:
            left = memory.finish_forgetting()
        yield f"forget: {'; '.join(left) or 'no file holds any more what was forgotten'}"
    words, vectors = bool(stored or finished or diagnosis.broken("words")), bool(diagnosis.broken("vectors"))
    if words or vectors:
        with Gieok.open(home.path, settings, create=False) as memory:
            memory.rebuild(words=words, vectors=vectors, on_progress=on_progress)
            state = memory.status()
        for name, wanted, leg in (("words", words, state.words), ("vectors", vectors, state.vectors)):
            if wanted:
                yield f"{name}: made again, {leg.memories:,} memories" + (f"; {leg.problem}" if leg.problem else "")


def _save_store(home: Home, settings: Settings, ask: Ask) -> Iterator[str]:
    stamp = time.strftime("%Y%m%d-%H%M%S")
    work = home.path / f"salvage-{stamp}"
    fresh = home.path / f"memories.db.salvaged-{stamp}"
    unfinished = fresh.with_name(f"{fresh.name}.new")
    with _alone(home, settings):
        try:
            work.mkdir(mode=0o700)
            saved = salvage(home.store, unfinished, work)
            _verify(unfinished, saved)
        except OSError as error:
            raise StoreError(
                f"The store {home.store} can't be saved ({error.strerror}): a copy needs room and a folder that can be"
                " written. Nothing was changed."
            ) from error
        finally:
            shutil.rmtree(work, ignore_errors=True)
            for path in home.path.glob(f"{unfinished.name}-*"):
                path.unlink()
        unfinished.replace(fresh)
        yield from _told(saved)
        kept = home.path / f"memories.db.corrupt-{stamp}"
        if not ask(f"Use the saved store? The damaged one stays as {kept.name}"):
            yield f"store: nothing was changed; the saved store lies at {fresh}"
            raise StoreError(
                f"The store {home.store} is as damaged as it was. Repeat, and say yes, to use the saved one."
            )
        _exchange(home, fresh, kept)
        yield f"store: the saved one is in use; the damaged one stays as {kept}"


def _told(saved: Salvaged) -> Iterator[str]:
    yield f"store: saved {saved.memories:,} memories of {saved.sources:,} sources"
    if saved.lost:
        named = ", ".join(saved.lost[:20]) + (f" and {len(saved.lost) - 20} more" if len(saved.lost) > 20 else "")
        yield f"store: lost {len(saved.lost):,} memories: {named}"
    if saved.damaged:
        yield f"store: {len(saved.damaged):,} memories have unreadable characters: {', '.join(saved.damaged[:20])}"
    if saved.unread_pages:
        yield f"store: {saved.unread_pages:,} pages could not be read whole; what stood there is lost"
    if saved.orphans:
        yield f"store: of {saved.orphans:,} memories it is not known which file they come from; they are kept"
    if not saved.complete:
        yield "store: what is lost and still in your files comes back with: gieok index PATH (your folders)"


def _verify(path: Path, saved: Salvaged) -> None:
    """Raises StoreError unless the new store is sound and holds what it should; then all of it is in one file."""
    store = Store(path)
    count = store.counts().memories
    store.close()
    with contextlib.closing(sqlite3.connect(path)) as db:
        sound = db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        db.execute("PRAGMA journal_mode = DELETE")
    if not sound or count != saved.memories:
        raise StoreError(f"What was saved of the store is not sound ({path}). Nothing was changed; please report it.")
    with path.open("rb+") as file:
        os.fsync(file.fileno())


@contextlib.contextmanager
def _alone(home: Home, settings: Settings) -> Iterator[None]:
    """Hold all locks of the home: nobody indexes or embeds meanwhile."""
    with contextlib.ExitStack() as stack:
        for name in ("store", "words", "vectors"):
            try:
                stack.enter_context(held(home.lock(name), settings.store.busy_timeout))
            except StoreBusyError:
                raise StoreBusyError(
                    f"Another gieok is at work in {home.path} (gieok doctor names it). End it, then repair again."
                ) from None
        yield


def _exchange(home: Home, fresh: Path, kept: Path) -> None:
    """Put the saved store in the place of the damaged one, which keeps a name at every moment.

    The damaged one's log goes first: it must never be applied to the new store.
    """
    _also_named(home.store, kept)
    _move_over(home, fresh, kept)


def _also_named(path: Path, name: Path) -> None:
    try:
        name.hardlink_to(path)
    except OSError:  # a file system without links
        shutil.copy2(path, name)


def _finish_exchange(home: Home) -> Iterator[str]:
    """A repair that was killed between the two renames: the damaged store has its second name, the saved one waits."""
    for kept in home.path.glob("memories.db.corrupt-*"):
        fresh = home.path / kept.name.replace("corrupt", "salvaged")
        with contextlib.suppress(FileNotFoundError):
            if fresh.exists() and kept.samefile(home.store):
                _move_over(home, fresh, kept)
                yield f"store: an interrupted repair is finished; the damaged store stays as {kept}"


def _move_over(home: Home, fresh: Path, kept: Path) -> None:
    for suffix in ("-wal", "-shm"):
        with contextlib.suppress(FileNotFoundError):
            Path(f"{home.store}{suffix}").replace(f"{kept}{suffix}")
    sync_folder(home.path)
    fresh.replace(home.store)
    sync_folder(home.path)
