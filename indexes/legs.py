"""What a first-stage index must offer, so that another engine fits into one file.

A leg is derived from the store: it takes changes in order, remembers the last one (`sequence`) and can be thrown
away at any time. `apply` is atomic: after a crash the leg holds either all of a call or none of it, and a call may be
repeated without harm. Readers in other processes see a call's changes only once it has returned (after `refresh`).
The tests in `tests/indexes/` run over every implementation.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from indexes.analyzer import WeightedQuery
from indexes.types import NO_FILTER, DenseRanking, Filter, Floats, Ids, LexicalEntry, LexicalRanking, VectorEntry


class Leg(Protocol):
    """What both legs share."""

    @property
    def sequence(self) -> int:
        """The last change of the store that this leg has applied; 0 for a new one."""

    def __len__(self) -> int:
        """The number of memories that can be found."""

    def refresh(self) -> None:
        """See what other processes have applied since."""

    def close(self) -> None:
        """Release files and locks. Using the leg afterwards is an error."""


class LexicalLeg(Leg, Protocol):
    """Ranks by words."""

    def apply(self, entries: Iterable[LexicalEntry], removed: Iterable[int], sequence: int) -> None:
        """Add or replace `entries`, drop the rids in `removed`, and remember `sequence`; durable on return."""

    def rewrite(self, entries: Iterable[LexicalEntry], sequence: int) -> None:
        """Hold exactly `entries`, in new files: nothing of what was there before stays on the disk."""

    def ownerless(self, tokens: Iterable[str]) -> list[str]:
        """Those of the tokens that are still in the files of the index although no memory holds them any more."""

    def search(self, query: WeightedQuery, depth: int, where: Filter = NO_FILTER) -> LexicalRanking:
        """The best `depth` memories for the query's weighted tokens."""

    def score(self, query: WeightedQuery, ids: Ids) -> LexicalRanking:
        """Exact scores for exactly these memories, in the order given; 0 where nothing matches."""


class DenseLeg(Leg, Protocol):
    """Ranks by vectors."""

    def apply(self, entries: Sequence[VectorEntry], removed: Iterable[int], sequence: int) -> None:
        """Add or replace `entries`, drop the rids in `removed`, and remember `sequence`; durable on return."""

    def search(self, vector: Floats, depth: int, where: Filter = NO_FILTER) -> DenseRanking:
        """The best `depth` memories by the cosine of their best passage; `vector` (d,) has unit length."""

    def score(self, vector: Floats, ids: Ids) -> DenseRanking:
        """Exact cosines for exactly these memories, in the order given; NaN for one without a vector."""

    def purge(self) -> None:
        """Keep only what is alive, in new files: nothing of what was dropped or replaced stays on the disk."""

    def holds(self, beginning: bytes) -> bool:
        """Whether the vector of a memory that can be found begins with these bytes (float32, little-endian)."""

    def stored(self, rid: int) -> tuple[Floats, NDArray[np.int32]] | None:
        """Copies of the vectors and spans that the leg holds for a memory: reused when only its date or tags change."""
