"""The two derived indexes of a store as a process sees them: opened when needed, brought up to date, never in the way.

A damaged or foreign index is a `problem`, not a failure: the other leg still answers, and the problem names the command
that repairs it.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from filelock import FileLock

from indexes.analyzer import ANALYZER_VERSION
from indexes.dense import FlatDense
from indexes.embedder import FastEmbedder
from indexes.errors import EmbedderError, IndexError_, IndexMismatchError, StoreBusyError
from indexes.legs import DenseLeg, Leg, LexicalLeg
from indexes.lexical import TantivyLexical
from indexes.manifest import Manifest, sync_folder
from indexes.store import Store
from indexes.types import Floats
from pipeline.evidence import noise_vectors
from pipeline.home import Home
from pipeline.progress import OnProgress
from pipeline.settings import Settings
from pipeline.sync import held, purge_vectors, rewrite_words, sync_vectors, sync_words

if TYPE_CHECKING:
    from indexes.embedder import Embedder

NO_MODEL = "none"
EMPTYING = ".emptying"
SEARCH_WAIT = 1.0
"""Seconds that a search waits for a process that is updating the words, before it answers from what is there."""


class Legs:
    """Words and vectors of one store."""

    analyzer = ANALYZER_VERSION

    def __init__(self, home: Home, store: Store, settings: Settings, *, read_only: bool = False) -> None:
        """Open what can be opened; `read_only` takes both indexes as they are and never brings them up to date."""
        self._home = home
        self._read_only = read_only
        self._store = store
        self._busy_timeout = settings.store.busy_timeout
        self._words_lock = home.lock("words")
        self._vectors_lock = home.lock("vectors")
        self.embedder: Embedder | None = None
        if settings.embedder.model != NO_MODEL:
            self.embedder = FastEmbedder(settings.embedder.model, threads=settings.embedder.threads or None)
        self.words: LexicalLeg | None = None
        self.vectors: DenseLeg | None = None
        self.words_problem: str | None = None
        self.vectors_problem: str | None = None
        self._noise: Floats | None = None
        self._open_words()
        self._open_vectors()

    def _finish_emptying(self, folder: Path, lock: FileLock) -> None:
        """Go on where a process was killed that emptied this index; one that is at it is waited for."""
        if (folder / EMPTYING).exists() and not self._read_only:
            with held(lock, self._busy_timeout):
                if (folder / EMPTYING).exists():
                    _empty(folder)

    def _open_words(self) -> None:
        self._finish_emptying(self._home.words, self._words_lock)
        try:
            self.words = TantivyLexical(self._home.words, store_id=self._store.store_id, read_only=self._read_only)
            self.words_problem = None
            if self._ahead(self.words):
                self.reset_words()
        except IndexError_ as error:
            self.words_problem = str(error)

    def _open_vectors(self) -> None:
        if self.embedder is None:
            return
        self._finish_emptying(self._home.vectors, self._vectors_lock)
        try:
            self.vectors = FlatDense(
                self._home.vectors,
                store_id=self._store.store_id,
                model=self.embedder.name,
                dimensions=self.embedder.dimensions,
                read_only=self._read_only,
            )
            self.vectors_problem = None
            if self._ahead(self.vectors):
                self.reset_vectors()
        except (IndexError_, EmbedderError) as error:  # EmbedderError: no model has this name
            self.vectors_problem = str(error)

    def _ahead(self, leg: Leg) -> bool:
        """Whether an older store was put back under this index. It would take new changes for ones that it has applied.

        Whoever opens the store next can't see it any more once there are new changes: so it is emptied at once.
        """
        if leg.sequence <= self._store.sequence:  # in this order: a leg never runs ahead of its own store
            return False
        if self._read_only:
            raise IndexMismatchError("The index is newer than the store: an older one was put back. Run: gieok rebuild")
        return True

    def close(self) -> None:
        """Close both."""
        for leg in (self.words, self.vectors):
            if leg is not None:
                leg.close()
        self.words = self.vectors = None

    def prepare(self) -> list[str]:
        """Make ready for a search: see what others wrote, catch up on words. Notices for the user."""
        notices = []
        # What could not be opened may have been rebuilt since by another process: a server lives for days.
        if self.words is None:
            self._open_words()
        if self.vectors is None:
            self._open_vectors()
        try:
            self.sync_words(wait=SEARCH_WAIT)
        except StoreBusyError:
            notices.append(f"{self.words_pending()} changes are not in the word index yet: another process is at it.")
        if self._read_only:
            notices.append(self._frozen())
        if self.words_problem:
            notices.append(self.words_problem)
        if self.vectors is not None:
            self._refresh_vectors()
        if self.vectors is not None:
            pending = self.vectors_pending()
            if pending:
                notices.append(f"{pending} memories have no vectors yet and are found by words only. Run: gieok index")
        if self.vectors_problem:
            notices.append(self.vectors_problem)
        return notices

    def _frozen(self) -> str:
        lag = self.words_pending() if self.words is not None else 0
        missing = f"; {lag} memories are not in the word index yet" if lag else ""
        return f"The store can't be written here: searching what is there{missing}."

    def _refresh_vectors(self) -> None:
        try:
            if self.vectors is not None:
                self.vectors.refresh()
        except IndexError_ as error:
            self.give_up_vectors(error)

    def give_up_words(self, error: IndexError_) -> None:
        """The word index turned out to be damaged: go on without it until it is rebuilt."""
        if self.words is not None:
            self.words.close()
        self.words, self.words_problem = None, str(error)

    def give_up_vectors(self, error: IndexError_) -> None:
        """The vector index turned out to be damaged: go on without it until it is rebuilt."""
        if self.vectors is not None:
            self.vectors.close()
        self.vectors, self.vectors_problem = None, str(error)

    def generation(self) -> tuple[int, int, int]:
        """Changes with everything that can change an answer."""
        return (
            self._store.sequence,
            self.words.sequence if self.words is not None else -1,
            self.vectors.sequence if self.vectors is not None else -1,
        )

    def sync_words(self, on_progress: OnProgress | None = None, *, wait: float | None = None) -> None:
        """Bring the words up to the store. Raises StoreBusyError."""
        if self.words is None or self._read_only:
            return
        wait = self._busy_timeout if wait is None else wait
        try:
            sync_words(self._store, self.words, self._words_lock, wait=wait, on_progress=on_progress)
        except IndexError_ as error:
            self.give_up_words(error)

    def sync_vectors(self, on_progress: OnProgress | None = None) -> int:
        """Embed what lacks vectors. Raises StoreBusyError, EmbedderError."""
        if self.vectors is None or self.embedder is None or self._read_only:
            return 0
        return sync_vectors(
            self._store, self.vectors, self.embedder, self._vectors_lock, wait=0, on_progress=on_progress
        )

    def purge(self) -> bool:
        """Leave nothing on the disk of what the store no longer holds. Raises StoreBusyError, IndexError_.

        False if all vectors had to go, since nobody can tell here whose they are. Turns beside one that went lose
        theirs, which hold a part of it, until they are embedded again.
        """
        if self.words is None:
            self.reset_words()
        if self.words is not None:
            rewrite_words(self._store, self.words, self._words_lock, wait=self._busy_timeout)
        if self.vectors is None:
            with held(self._vectors_lock, self._busy_timeout):
                known = _never_written(self._home.vectors)
                _empty(self._home.vectors)
            self._open_vectors()
            return known
        with held(self._vectors_lock, self._busy_timeout):
            purge_vectors(self._store, self.vectors)
        return True

    def reset_words(self) -> None:
        """An empty word index, whatever was there."""
        if self.words is not None:
            self.words.close()
        with held(self._words_lock, self._busy_timeout):
            _empty(self._home.words)
            self._open_words()

    def reset_vectors(self) -> None:
        """An empty vector index, whatever was there."""
        if self.vectors is not None:
            self.vectors.close()
        with held(self._vectors_lock, self._busy_timeout):
            _empty(self._home.vectors)
            self._open_vectors()

    def noise(self) -> Floats:
        """Vectors of meaningless strings, against which a cosine is judged. Raises EmbedderError."""
        if self._noise is None:
            if self.embedder is None:
                raise EmbedderError("No embedding model is set (embedder.model). Set one to compare vectors.")
            self._noise = noise_vectors(self.embedder, self._home.noise)
        return self._noise

    def words_count(self) -> int:
        """Memories that words can find."""
        return len(self.words) if self.words is not None else 0

    def vectors_count(self) -> int:
        """Memories that have vectors."""
        return len(self.vectors) if self.vectors is not None else 0

    def words_pending(self) -> int:
        """Changes that the words lack."""
        return self._store.memories_after(self.words.sequence if self.words is not None else 0)

    def vectors_pending(self) -> int:
        """Changes that the vectors lack; 0 when no model is set."""
        if self.embedder is None:
            return 0
        return self._store.memories_after(self.vectors.sequence if self.vectors is not None else 0)


def _never_written(folder: Path) -> bool:
    try:
        manifest = Manifest.read(folder)
    except IndexError_:
        return False
    return manifest is None or not manifest.counts


def _empty(folder: Path) -> None:
    """Delete what is in the folder of an index. The mark, first to come and last to go, tells that it is under way."""
    folder.mkdir(mode=0o700, exist_ok=True)
    mark = folder / EMPTYING
    mark.touch(mode=0o600)
    sync_folder(folder)
    for item in folder.iterdir():
        if item.is_dir() and not item.is_symlink():
            shutil.rmtree(item)
        elif item != mark:
            item.unlink()
    sync_folder(folder)
    mark.unlink()
