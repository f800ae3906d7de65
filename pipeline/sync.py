"""Bringing the derived indexes up to the store: words at once, vectors when there is time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

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
from indexes.types import Floats, LexicalEntry, Memory, VectorEntry
from pipeline.progress import OnProgress, Progress, Stage

WORDS_BATCH = 20_000
"""Memories in one commit of the word index: commits are dear, contents of so many still fit in memory."""
VECTORS_BATCH = 256
"""Memories in one step of embedding: enough to sort by length, few enough to lose little on Ctrl-C."""


def sync_words(
    store: Store, leg: LexicalLeg, lock: FileLock, *, wait: float, on_progress: OnProgress | None = None
) -> int:
    """Apply to the word index what it lacks; the number of changes. Raises StoreBusyError after `wait` seconds."""

    def apply(memories: Sequence[Memory], changes: Sequence[Change], _: Callable[[float], None]) -> None:
        entries = (_lexical_entry(memory) for memory in memories)
        leg.apply(entries, [change.rid for change in changes if change.removed], changes[-1].sequence)

    return _catch_up(store, leg, lock, wait, WORDS_BATCH, apply, _teller(on_progress, "words"))


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
        fresh: list[tuple[Memory, list[tuple[int, int]]]] = []
        for memory in memories:
            kept = leg.stored(memory.rid) if since[memory.rid] <= leg.sequence else None
            if kept is not None:  # only its date, tags or session changed
                entries.append(_vector_entry(memory, *kept))
            else:
                spans = [(p.start, p.end) for p in split_passages(memory.content, memory.title)]
                fresh.append((memory, spans))
        texts = [passage_text(memory.content, span, memory.title) for memory, spans in fresh for span in spans]
        embedded = 0

        def on_done(count: int) -> None:
            nonlocal embedded
            embedded += count
            part(embedded / len(texts))

        vectors = embedder.embed_passages(texts, on_done)
        at = 0
        for memory, spans in fresh:
            rows = vectors[at : at + len(spans)]
            entries.append(_vector_entry(memory, rows, np.array(spans, np.int32).reshape(-1, 2)))
            at += len(spans)
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
    if not store.changes_after(leg.sequence, 1):
        return 0
    with held(lock, wait):
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


def _lexical_entry(memory: Memory) -> LexicalEntry:
    # The title stands before the text even where the text begins with it: a word of the title counts twice.
    tokens = analyze_document("\n".join(filter(None, (memory.title, memory.content, *memory.tags))))
    return LexicalEntry(memory.rid, tokens.body, tokens.initial, facets(memory), to_ms(memory.timestamp))


def _vector_entry(memory: Memory, vectors: Floats, spans: NDArray[np.int32]) -> VectorEntry:
    return VectorEntry(memory.rid, vectors, spans, facets(memory), to_ms(memory.timestamp))
