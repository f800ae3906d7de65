"""`mine`: whether the product finds the user's own memories again, and whether it beats grep."""

from __future__ import annotations

import time
import unicodedata
from collections.abc import Callable, Sequence

import numpy as np

from eval.knownitem import KINDS, rarity
from eval.latency import timing
from eval.machine import this_machine
from eval.schema import MineFile, MineRow
from eval.stored import all_memories
from indexes.errors import UsageError
from indexes.types import Memory
from pipeline import Gieok

PRODUCT, GREP = "gieok", "grep"
LISTED = 10


class Grep:
    """What a person does without an index: memories that hold most of the query's words, newest first.

    Words are cut at spaces and matched as parts of text without regard to case. The texts are read and lower-cased
    beforehand, which a real grep would have to do each time.
    """

    def __init__(self, memories: Sequence[Memory]) -> None:
        self._texts = [
            (memory.id, f"{memory.title}\n{memory.content}".lower())
            for memory in sorted(memories, key=lambda memory: memory.timestamp, reverse=True)
        ]

    def search(self, query: str) -> list[str]:
        """Ids of up to `LISTED` memories."""
        words = query.lower().split()
        held = [(sum(word in text for word in words), memory_id) for memory_id, text in self._texts]
        best = sorted((entry for entry in held if entry[0]), key=lambda entry: -entry[0])
        return [memory_id for _, memory_id in best[:LISTED]]


def mine(gieok: Gieok, *, sample: int = 100, seed: int = 1) -> MineFile:
    """Sample memories, make every kind of query that each allows, and ask both tools.

    Raises UsageError (the store is empty).
    """
    began, machine = time.perf_counter(), this_machine()
    memories = all_memories(gieok.home)
    if not memories:
        raise UsageError(f"The store in {gieok.home} is empty. Index notes or transcripts first: gieok index PATH")
    rng = np.random.default_rng(seed)
    picked = [memories[i] for i in rng.permutation(len(memories))[:sample]]
    counts, grep = rarity(memories), Grep(memories)
    same: dict[str, set[str]] = {}
    for memory in memories:
        same.setdefault(_plain(memory), set()).add(memory.id)
    gieok.search_index("warm up")  # loads the model: cold starts belong to `latency`
    tools: dict[str, Callable[[str], list[str]]] = {
        PRODUCT: lambda query: [hit.id for hit in gieok.search_index(query, top_k=LISTED)],
        GREP: grep.search,
    }
    kinds: dict[str, dict[str, MineRow]] = {}
    for kind, make in KINDS.items():
        pairs = [(query, same[_plain(memory)]) for memory in picked if (query := make(memory, counts, rng))]
        if pairs:
            kinds[kind] = {tool: _row(pairs, search) for tool, search in tools.items()}
    return MineFile(
        machine=machine,
        seconds=time.perf_counter() - began,
        home=str(gieok.home),
        memories=len(memories),
        with_vectors=gieok.status().vectors.memories,
        sampled=len(picked),
        seed=seed,
        kinds=kinds,
    )


def _row(pairs: Sequence[tuple[str, set[str]]], search: Callable[[str], list[str]]) -> MineRow:
    ms, ranks = [], []
    for query, wanted in pairs:
        began = time.perf_counter()
        ids = search(query)
        ms.append((time.perf_counter() - began) * 1000)
        ranks.append(next((rank for rank, memory_id in enumerate(ids, 1) if memory_id in wanted), None))
    return MineRow(
        queries=len(pairs),
        first=sum(rank == 1 for rank in ranks) / len(ranks),
        in_ten=sum(rank is not None for rank in ranks) / len(ranks),
        ms=timing(ms),
    )


def _plain(memory: Memory) -> str:
    """Copies of one text are one item."""
    return unicodedata.normalize("NFC", memory.content).strip()
