"""How sure it is that a hit answers the query: what the score means.

The order of hits is relative: some hit is always the best. Confidence is absolute. A logistic model over what a hit
shows of itself, and how far it stands out, gives `p`, the probability that it is relevant; a monotone map turns it into
the score. At the anchors the score is a promise: of the first hits that scored 0.92 or more (0.85, 0.80), at least so
many were relevant, for queries that have an answer and took no part in the fit; and of the queries whose answer was
hidden at most 3 % scored 0.85 or more. Both are certified with 95 % confidence. Below 0.70 a hit is not worth showing;
in between the score only grades. `python -m eval calibrate` fits model and map; docs/confidence.md has the figures.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pipeline.retriever import Rankings

FILE = Path(__file__).parent / "confidence.json"
FEATURES = (
    "coverage",
    "margin",
    "coverage_lead",
    "margin_lead",
    "coverage_tail",
    "margin_tail",
    "words",
    "passages",
)
FALLBACK_FEATURES = ("coverage", "margin")
FLOOR, ANCHORS = 0.70, (0.80, 0.85, 0.92)
"""The score below which nothing is shown, and the scores that are promises."""
WORDS_HELD = 0.5
"""Coverage from which a hit is always shown: what only words can find (a ticket's number) has no margin to speak of."""
UNPROMISED = 0.01
"""Where nothing is certified, scores stay so far below the anchor."""
NO_MARGIN = -0.05
"""The margin of a memory without a vector, and the least that a rival counts for, so that a store with few rivals has
leads and tails, too: cosines below it say nothing (it is the default of `evidence.hit_margin`)."""
ENOUGH = 0.1
"""A lead of a cosine beyond this tells no more: a memory that is alone in its store has it for nothing."""
TAIL = 10
"""The tail is the rank behind the first ten: near-duplicates of the answer don't hide how far it stands out."""

Values = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Logistic:
    """p = 1 / (1 + exp(-(intercept + Σ weight · feature))), and the map from p to the score as rising knots.

    `answer` is the p that the first hit needs for anything to be shown: below it no hit reaches 0.70.
    """

    intercept: float
    weights: tuple[float, ...]
    knots: tuple[tuple[float, float], ...]
    answer: float = 0.0

    def probability(self, features: Values) -> Values:
        """The p of each row."""
        odds = np.clip(self.intercept + features @ np.array(self.weights), -30.0, 30.0)
        p: Values = 1 / (1 + np.exp(-odds))
        return p

    def score(self, p: Values) -> Values:
        """The score of each p."""
        from_p, to_score = zip(*self.knots, strict=True)
        scores: Values = np.interp(p, from_p, to_score)
        return scores


@dataclass(frozen=True, slots=True)
class Confidence:
    """Scores hits. `model` is None where none was fitted for this model, analyzer and order.

    `fallback` is a model of two features, coverage and margin. It serves where `model` is None, for hits without a
    vector, and when a leg did not answer. Nothing is certified for it: its scores stay below 0.80, so that nothing is
    expanded on its word; whatever shows evidence (`pipeline.evidence`) reaches 0.70.
    """

    model: Logistic | None
    fallback: Logistic

    @classmethod
    def load(cls, *, model: str, analyzer: str, order: str, path: Path = FILE) -> Confidence:
        """The shipped model if it belongs to exactly this combination, else the fallback alone.

        `model` is `Embedder.name`, `analyzer` `ANALYZER_VERSION`, `order` `Retriever.order_name`.
        """
        data = _read(path)
        fallback = _logistic(data["fallback"], FALLBACK_FEATURES)
        if (data["model"], data["analyzer"], data["order"]) != (model, analyzer, order):
            return cls(None, fallback)
        return cls(_logistic(data, FEATURES), fallback)

    @property
    def calibrated(self) -> bool:
        """Whether scores are promises here."""
        return self.model is not None

    @property
    def certified(self) -> tuple[float, ...]:
        """The anchors that a score can reach here; the other tiers are off."""
        highest = self.model.knots[-1][1] if self.model is not None else 0.0
        return tuple(anchor for anchor in ANCHORS if anchor <= highest)

    def features(self, rankings: Rankings, rids: Sequence[int]) -> Values:
        """One row for each of `rids`, which are candidates of the rankings, one column for each of FEATURES.

        `coverage` and `margin` are those of `Evidence`. A lead is the distance to the best other candidate (negative
        for all but the first; of cosines at most ENOUGH), a tail that to the eleventh. `words` is ln(1 + words of the
        query), `passages` ln(passages of the memory).
        """
        candidates = rankings.candidates
        at = np.searchsorted(candidates.rids, np.asarray(rids, np.int64))
        coverage = candidates.coverage.astype(np.float64)
        margin = np.array([rankings.evidence[rid].margin for rid in candidates.rids.tolist()], np.float64)
        margin = np.where(np.isnan(margin), NO_MARGIN, margin)
        return np.column_stack(
            [
                coverage[at],
                margin[at],
                _lead(coverage, at, 0.0),
                np.minimum(_lead(margin, at, NO_MARGIN), ENOUGH),
                _tail(coverage, at, 0.0),
                _tail(margin, at, NO_MARGIN),
                np.full(len(at), np.log1p(len(rankings.query.words))),
                np.log(np.maximum(candidates.passages[at], 1)),
            ]
        )

    def probability(self, rankings: Rankings, rids: Sequence[int]) -> Values:
        """The p of each of `rids`, each for itself."""
        return self._judge(rankings, rids)[0]

    def scores(self, rankings: Rankings, rids: Sequence[int]) -> list[float]:
        """The score in 0..1 of each of `rids`, which stand in the order of the answer; never rising along it.

        A hit that holds WORDS_HELD of the query is never below the floor, and so nothing before it is.
        """
        falling = np.minimum.accumulate(self._judge(rankings, rids)[1])
        at = np.searchsorted(rankings.candidates.rids, np.asarray(rids, np.int64))
        held = np.where(rankings.candidates.coverage[at] >= WORDS_HELD, FLOOR, 0.0)
        floors = np.maximum.accumulate(held[::-1])[::-1]
        scores: list[float] = np.maximum(falling, floors).tolist()
        return scores

    def _judge(self, rankings: Rankings, rids: Sequence[int]) -> tuple[Values, Values]:
        if not len(rids):
            return np.zeros(0), np.zeros(0)
        features = self.features(rankings, rids)
        p = self.fallback.probability(features[:, : len(FALLBACK_FEATURES)])
        scores = self.fallback.score(p)
        if self.model is not None and rankings.words is not None and rankings.vectors is not None:
            at = np.searchsorted(rankings.candidates.rids, np.asarray(rids, np.int64))
            known = ~np.isnan(rankings.candidates.cosine[at])
            fitted = self.model.probability(features)
            p, scores = np.where(known, fitted, p), np.where(known, self.model.score(fitted), scores)
            if known.all() and p[0] < self.model.answer:
                scores = np.minimum(scores, FLOOR - UNPROMISED)
        return p, scores


def _lead(values: Values, at: NDArray[np.int64], least: float) -> Values:
    """How far the candidates at these places are above the best other one, which counts at least `least`."""
    if len(values) < 2:
        return values[at] - least
    first = int(np.argmax(values))
    second = np.delete(values, first).max()
    others = np.where(at == first, second, values[first])
    lead: Values = values[at] - np.maximum(others, least)
    return lead


def _tail(values: Values, at: NDArray[np.int64], least: float) -> Values:
    """How far they are above the best candidate behind the first ten, which counts at least `least`."""
    behind = np.sort(values)[::-1][TAIL] if len(values) > TAIL else least
    tail: Values = values[at] - max(float(behind), least)
    return tail


def _logistic(data: Mapping[str, Any], names: Sequence[str]) -> Logistic:
    return Logistic(
        float(data["intercept"]),
        tuple(float(data["weights"][name]) for name in names),
        tuple((float(p), float(score)) for p, score in data["knots"]),
        float(data["answer"]),
    )


@cache
def _read(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))
