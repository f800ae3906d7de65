"""The order of hits from ranks and absolute evidence together.

    value = Σ weight · feature
    features: 1 / (K + rank) in each leg, BM25 over its ceiling, coverage, cosine, ln(number of passages)

Reciprocal ranks alone can't see that a leg has nothing to say: its best hit counts as much as any best hit. Absolute
numbers can. The weights are fitted on dev splits by `python -m eval order` and shipped as data; they belong to one
model and one analyzer and serve no other.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from indexes.types import Floats, Ids

FILE = Path(__file__).parent / "order.json"
FEATURES = ("words_rank", "vectors_rank", "bm25", "coverage", "cosine", "passages")
RANK_OFFSET = 2.0
"""K above: how fast a rank's worth falls. Of 2, 5 and 10, the fit on dev splits did best with 2."""
WORDS_DEPTH, VECTORS_DEPTH = 50, 60
"""How many hits of each leg are candidates."""


@dataclass(frozen=True, slots=True)
class Candidates:
    """What is known of each candidate, one row each: exact numbers, also from the leg that did not rank it.

    `ranks` are 1-based, infinite where a leg did not rank it. `bm25` is over its ceiling, in 0..1. `cosine` is NaN for
    a memory without a vector, which then counts as the background's mean.
    """

    rids: Ids
    words_rank: NDArray[np.float64]
    vectors_rank: NDArray[np.float64]
    bm25: Floats
    coverage: Floats
    cosine: Floats
    passages: NDArray[np.int32]
    background: float

    def features(self) -> NDArray[np.float64]:
        """One row for each candidate, one column for each of FEATURES."""
        return np.column_stack(
            [
                1 / (RANK_OFFSET + self.words_rank),
                1 / (RANK_OFFSET + self.vectors_rank),
                self.bm25,
                self.coverage,
                np.where(np.isnan(self.cosine), self.background, self.cosine),
                np.log(np.maximum(self.passages, 1)),
            ]
        )


@dataclass(frozen=True, slots=True)
class Order:
    """Fitted weights, by the names of FEATURES."""

    weights: Mapping[str, float]

    @classmethod
    def load(cls, *, model: str, analyzer: str, path: Path = FILE) -> Order | None:
        """The shipped weights, or None if they were fitted for another model or analyzer."""
        data = _read(path)
        if (data["model"], data["analyzer"]) != (model, analyzer):
            return None
        return cls({name: float(data["weights"][name]) for name in FEATURES})

    @property
    def fingerprint(self) -> str:
        """Eight hexadecimal digits that change with any weight: what was fitted on top of this order belongs to it."""
        text = json.dumps([RANK_OFFSET, WORDS_DEPTH, VECTORS_DEPTH, [self.weights[name] for name in FEATURES]])
        return hashlib.sha256(text.encode()).hexdigest()[:8]

    def values(self, candidates: Candidates) -> NDArray[np.float64]:
        """The value of each candidate, by which hits are ordered."""
        weights = np.array([self.weights[name] for name in FEATURES])
        values: NDArray[np.float64] = candidates.features() @ weights
        return values

    def scores(self, candidates: Candidates) -> NDArray[np.float64]:
        """A score in 0..1 for each candidate: its value over the highest that the weights allow, never below 0."""
        first = 1 / (RANK_OFFSET + 1)
        best = dict(zip(FEATURES, (first, first, 1.0, 1.0, 1.0, 0.0), strict=True))
        highest = sum(max(self.weights[name], 0.0) * best[name] for name in FEATURES)
        scores: NDArray[np.float64] = np.clip(self.values(candidates) / highest, 0.0, 1.0)
        return scores


@cache
def _read(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))
