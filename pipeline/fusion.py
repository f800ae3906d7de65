"""Reciprocal rank fusion of the legs.

Cormack, Clarke, Büttcher: "Reciprocal Rank Fusion outperforms Condorcet and individual Rank Learning Methods",
SIGIR 2009. Each leg gives weight / (k + rank) to its hits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from indexes.types import Floats, Ids


@dataclass(frozen=True, slots=True)
class Run:
    """What one leg found, best first, and how much it counts."""

    ids: Ids
    scores: Floats
    weight: float


def competition_ranks(scores: Floats) -> Ids:
    """1-based ranks of scores in descending order; equal scores share the better rank.

    >>> competition_ranks(np.array([3.0, 3.0, 1.0], np.float32)).tolist()
    [1, 1, 3]
    """
    if not len(scores):
        return np.zeros(0, np.int64)
    starts = np.r_[True, scores[1:] != scores[:-1]]
    positions = np.arange(1, len(scores) + 1)
    return np.maximum.accumulate(np.where(starts, positions, 0))


def reciprocal_rank_fusion(runs: Sequence[Run], *, k: float, depth: int) -> list[tuple[int, float]]:
    """Pairs of id and score, best first; the score is 1 for what is first in every run.

    Only the first `depth` hits of a run count. Equal scores are ordered by id, so that an answer never changes by
    chance. A run without weight takes no part.
    """
    active = [run for run in runs if run.weight > 0]
    best = sum(run.weight for run in active) / (k + 1)
    total: dict[int, float] = {}
    for run in active:
        ids, ranks = run.ids[:depth], competition_ranks(run.scores[:depth])
        for memory, rank in zip(ids.tolist(), ranks.tolist(), strict=True):
            total[memory] = total.get(memory, 0.0) + run.weight / (k + rank)
    return sorted(((memory, score / best) for memory, score in total.items()), key=lambda pair: (-pair[1], pair[0]))
