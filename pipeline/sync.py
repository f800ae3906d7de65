"""Bringing the derived indexes up to the store: words at once, vectors when there is time."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import PurePath

import numpy as np
from filelock import FileLock, Timeout
from numpy.typing import NDArray

from indexes.analyzer import analyze_document
from indexes.embedder import Embedder
from indexes.errors import StoreBusyError, StoreError
from indexes.legs import DenseLeg, Leg, LexicalLeg
from indexes.passages import passage_text, split_passages
from indexes.rows import facets, to_ms
from indexes.store import Change, Store
from indexes.turns import is_turn, lent
from indexes.types import Floats, LexicalEntry, Memory, VectorEntry
from pipeline.progress import OnProgress, Progress, Stage

WORDS_BATCH = 20_000
"""Memories in one commit of the word index: commits are dear, contents of so many still fit in memory."""
TURN = 0.25
"""Seconds between looks at whether another process has done our work."""
VECTORS_BATCH = 256
"""Memories in one step of embedding: enough to sort by length, few enough to lose little on Ctrl-C."""
PLACES = ("path", "git_branch", "branch")
"""Metadata whose words find a memory, besides its title, text and tags and the names of its files."""
_LONGEST_PLACE, _MOST_FILES = 300, 40
"""More would bury the text of a memory under names."""


def sync_words(
    store: Store, leg: LexicalLeg, lock: FileLock, *, wait: float, on_progress: OnProgress | None = None
) -> int:
    """Apply to the word index what it lacks; the number of changes. Raises StoreBusyError after `wait` seconds."""

    def apply(memories: Sequence[Memory], changes: Sequence[Change], _: Callable[[float], None]) -> None:
        entries = (_lexical_entry(memory, *_lent(store, memory)) for memory in memories)
        leg.apply(entries, [change.rid for change in changes if change.removed], changes[-1].sequence)

    return _catch_up(store, leg, lock, wait, WORDS_BATCH, apply, _teller(on_progress, "words"))


def rewrite_words(store: Store, leg: LexicalLeg, lock: FileLock, *, wait: float) -> None:
    """Make the word index anew from the store, in one commit. Raises StoreBusyError after `wait` seconds."""
    with held(lock, wait):
        leg.refresh()
        sequence = store.sequence
        leg.rewrite((_lexical_entry(memory, *_lent(store, memory)) for memory in store.all_memories()), sequence)


def purge_vectors(store: Store, leg: DenseLeg) -> None:
    """Drop the vectors of all that went or changed, from the disk, too. The caller holds the lock of the vectors."""
    leg.refresh()
    lag = store.changes_after(leg.sequence, store.pending_after(leg.sequence))
    leg.apply([], [change.rid for change in lag], leg.sequence)  # what changed is embedded again later
    leg.purge()


def sync_vectors(
    store: Store,
    leg: DenseLeg,
    embedder: Embedder,
    lock: FileLock,
    *,
    wait: float,
    on_progress: OnProgress | None = None,
) -> int:
    """Embed what the vector index lacks; the number of changes. Resumes where the last run stopped.

    Raises StoreBusyError when another process is embedding, EmbedderError when the model fails.
    """

    def apply(memories: Sequence[Memory], changes: Sequence[Change], part: Callable[[float], None]) -> None:
        since = {change.rid: change.text_sequence for change in changes}
        entries: list[VectorEntry] = []
        fresh: list[_Fresh] = []
        for memory in memories:
            kept = leg.stored(memory.rid) if since[memory.rid] <= leg.sequence else None
            if kept is not None:  # only its date, tags or session changed
                entries.append(_vector_entry(memory, *kept))
            else:
                fresh.append(_Fresh(memory, *_lent(store, memory)))
        texts = [text for each in fresh for text in each.texts]
        embedded = 0

        def on_done(count: int) -> None:
            nonlocal embedded
            embedded += count
            part(embedded / len(texts))

        vectors = embedder.embed_passages(texts, on_done)
        at = 0
        for each in fresh:
            entries.append(each.entry(vectors[at : at + len(each.texts)]))
            at += len(each.texts)
        leg.apply(entries, [change.rid for change in changes if change.removed], changes[-1].sequence)

    return _catch_up(store, leg, lock, wait, VECTORS_BATCH, apply, _teller(on_progress, "vectors"))


def _catch_up(
    store: Store,
    leg: Leg,
    lock: FileLock,
    wait: float,
    batch: int,
    apply: Callable[[Sequence[Memory], Sequence[Change], Callable[[float], None]], None],
    tell: Callable[[int, int], None],
) -> int:
    leg.refresh()
    goal = store.sequence

    def applied() -> bool:
        leg.refresh()
        left = store.changes_after(leg.sequence, 1)
        return not left or left[0].sequence > goal

    if not store.changes_after(leg.sequence, 1):
        return 0
    with _turn(lock, wait, applied) as mine:
        if not mine:
            return 0
        leg.refresh()  # the one who held the lock may have done all of it
        total = store.pending_after(leg.sequence)
        done = 0
        tell(done, total)
        while changes := store.changes_after(leg.sequence, batch):
            memories = store.memories(change.rid for change in changes if not change.removed)

            def part(share: float, done: int = done, many: int = len(changes)) -> None:
                tell(done + int(share * (many - 1)), max(total, done))

            apply(memories, changes, part)
            done += len(changes)
            tell(done, max(total, done))
        return done


@contextmanager
def _turn(lock: FileLock, wait: float, applied: Callable[[], bool]) -> Iterator[bool]:
    """Hold the lock (True), or find while waiting that others have `applied` what we waited for (False).

    Whoever holds the lock applies all there is. Of many writers one could be unlucky for longer than `wait`, and never
    see that its changes are long done. Raises StoreBusyError, StoreError.
    """
    deadline = time.monotonic() + wait
    with ExitStack() as stack:
        while True:
            left = max(0.0, deadline - time.monotonic())
            try:
                stack.enter_context(held(lock, min(left, TURN)))
                mine = True
                break
            except StoreBusyError:
                if applied():
                    mine = False
                    break
                if left <= TURN:
                    raise
        yield mine


@contextmanager
def held(lock: FileLock, wait: float) -> Iterator[None]:
    """Hold a lock between processes. Raises StoreBusyError after `wait` seconds, StoreError if it can't be had."""
    try:
        lock.acquire(timeout=wait)
    except Timeout:
        raise StoreBusyError(
            f"Another process is bringing an index up to date ({lock.lock_file}). It goes on with your changes, too."
        ) from None
    except OSError as error:
        raise StoreError(
            f"The lock {lock.lock_file} can't be used ({error.strerror}). Delete it and repeat."
        ) from error
    try:
        yield
    finally:
        lock.release()


def _teller(on_progress: OnProgress | None, stage: Stage) -> Callable[[int, int], None]:
    def tell(done: int, total: int) -> None:
        if on_progress is not None:
            on_progress(Progress(stage, done, total))

    return tell


def _lent(store: Store, memory: Memory) -> tuple[str, str]:
    """What a turn takes from its neighbours: the end of the one before, the beginning of the one after."""
    return lent(memory, store.around(memory, 1)) if is_turn(memory) else ("", "")


def _lexical_entry(memory: Memory, before: str = "", after: str = "") -> LexicalEntry:
    # The title stands before the text even where the text begins with it: a word of the title counts twice.
    tokens = analyze_document("\n".join(filter(None, (memory.title, memory.content, *memory.tags, *_places(memory)))))
    near = analyze_document(f"{before}\n{after}").body if before or after else ()
    return LexicalEntry(memory.rid, tokens.body, tokens.initial, facets(memory), to_ms(memory.timestamp), near)


def _places(memory: Memory) -> Iterator[str]:
    """Where a memory is from and what it touched, as people search for it: paths, branches, names of files."""
    for name in PLACES:
        value = memory.metadata.get(name)
        if isinstance(value, str):
            yield value[:_LONGEST_PLACE]
    yield from (PurePath(file).name for file in memory.files[:_MOST_FILES])


class _Fresh:
    """A memory to embed: its passages, and for a turn the window that holds its neighbours, too."""

    def __init__(self, memory: Memory, before: str, after: str) -> None:
        self._memory = memory
        self._spans = [(passage.start, passage.end) for passage in split_passages(memory.content, memory.title)]
        self._has_window = bool(self._spans and (before or after))
        self.texts = [passage_text(memory.content, span, memory.title) for span in self._spans]
        if self._has_window:
            self.texts.append("\n".join(filter(None, (before, memory.content, after))))

    def entry(self, vectors: Floats) -> VectorEntry:
        """The memory with the vectors of its texts; see `indexes.turns` for the mean."""
        rows = (vectors[:-1] + vectors[-1]) / 2 if self._has_window else vectors
        return _vector_entry(self._memory, rows, np.array(self._spans, np.int32).reshape(-1, 2))


def _vector_entry(memory: Memory, vectors: Floats, spans: NDArray[np.int32]) -> VectorEntry:
    return VectorEntry(memory.rid, vectors, spans, facets(memory), to_ms(memory.timestamp))
