"""Everything a store holds, for tools that look at it whole."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from indexes.store import Store
from indexes.types import Memory
from pipeline.home import Home

_BATCH = 5_000  # memories at a time: some tens of MB of text


def all_memories(home: Path) -> list[Memory]:
    """All memories of the store in a home folder, in the order in which they were last written."""
    memories: list[Memory] = []
    with closing(Store(Home(home).store)) as store:
        sequence = 0
        while changes := store.changes_after(sequence, _BATCH):
            memories += store.memories(change.rid for change in changes if not change.removed)
            sequence = changes[-1].sequence
    return memories
