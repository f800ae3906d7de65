"""Legs that keep some memories to themselves: what a query finds when its answer is not there."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from indexes.analyzer import WeightedQuery
from indexes.legs import DenseLeg, Leg, LexicalLeg
from indexes.types import NO_FILTER, DenseRanking, Filter, Floats, Ids, LexicalEntry, LexicalRanking, VectorEntry

L = TypeVar("L", bound=Leg)


class _Hiding(Generic[L]):
    """What both have in common."""

    def __init__(self, leg: L, hidden: Collection[int]) -> None:
        self._leg = leg
        self._hidden = np.array(sorted(hidden), np.int64)

    @property
    def sequence(self) -> int:
        """That of the leg."""
        return self._leg.sequence

    def __len__(self) -> int:
        return len(self._leg) - len(self._hidden)

    def refresh(self) -> None:
        """Refresh the leg."""
        self._leg.refresh()

    def close(self) -> None:
        """Close the leg."""
        self._leg.close()


class HiddenWords(_Hiding[LexicalLeg]):
    """A word leg whose searches leave out `hidden`; words weigh as they do with them."""

    def apply(self, entries: Iterable[LexicalEntry], removed: Iterable[int], sequence: int) -> None:
        """Apply to the leg."""
        self._leg.apply(entries, removed, sequence)

    def search(self, query: WeightedQuery, depth: int, where: Filter = NO_FILTER) -> LexicalRanking:
        """The best `depth` of the others."""
        found = self._leg.search(query, depth + len(self._hidden), where)
        kept = _kept(found.ids, self._hidden, depth)
        return LexicalRanking(found.ids[kept], found.scores[kept], found.coverage[kept], found.ceiling)

    def score(self, query: WeightedQuery, ids: Ids) -> LexicalRanking:
        """Exact scores for exactly these memories, hidden or not."""
        return self._leg.score(query, ids)

    def rewrite(self, entries: Iterable[LexicalEntry], sequence: int) -> None:
        """Rewrite the leg."""
        self._leg.rewrite(entries, sequence)

    def ownerless(self, tokens: Iterable[str]) -> list[str]:
        """Tokens of the leg that no memory holds, hidden or not."""
        return self._leg.ownerless(tokens)


class HiddenVectors(_Hiding[DenseLeg]):
    """A vector leg whose searches leave out `hidden`; the background is that of all."""

    def apply(self, entries: Sequence[VectorEntry], removed: Iterable[int], sequence: int) -> None:
        """Apply to the leg."""
        self._leg.apply(entries, removed, sequence)

    def search(self, vector: Floats, depth: int, where: Filter = NO_FILTER) -> DenseRanking:
        """The best `depth` of the others."""
        found = self._leg.search(vector, depth + len(self._hidden), where)
        kept = _kept(found.ids, self._hidden, depth)
        return DenseRanking(
            found.ids[kept], found.scores[kept], found.spans[kept], found.passages[kept], found.mean, found.deviation
        )

    def score(self, vector: Floats, ids: Ids) -> DenseRanking:
        """Exact cosines for exactly these memories, hidden or not."""
        return self._leg.score(vector, ids)

    def purge(self) -> None:
        """Purge the leg."""
        self._leg.purge()

    def holds(self, beginning: bytes) -> bool:
        """Whether the leg has such a vector, hidden or not."""
        return self._leg.holds(beginning)

    def stored(self, rid: int) -> tuple[Floats, NDArray[np.int32]] | None:
        """What the leg holds for a memory, hidden or not."""
        return self._leg.stored(rid)


def _kept(ids: Ids, hidden: Ids, depth: int) -> NDArray[np.int64]:
    return np.flatnonzero(~np.isin(ids, hidden))[:depth]
