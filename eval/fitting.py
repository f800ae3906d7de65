"""Fitting the confidence: a logistic model on a third of the dev queries, its map to scores certified on the others."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from eval.measures import Values
from eval.risk import certify, certify_silence
from eval.trials import WHOLE, Trial
from pipeline import Settings
from pipeline.confidence import ANCHORS, FALLBACK_FEATURES, FLOOR, NO_MARGIN, UNPROMISED, Confidence, Logistic
from pipeline.evidence import supported

HEAD = 10
"""Hits of a query that are looked at: a page of results."""
TAUGHT = 3
"""First hits of a query that the model learns from; later ones are nearly always irrelevant and teach it little."""
KNOCKOUT_SHARE = 0.25
"""How much a query whose answer is missing counts beside one that has its answer, in p: the design's figure, and an
assumption about what people ask. A higher one makes p more careful; the certificates don't depend on it."""
SMALL_SHARE = 0.5
"""How much the trials of a set's small stores count beside those of its whole store."""
EACH_SET = 300.0
"""Weight of a set: its queries count as so many, however many it has."""
PENALTY = 1.0
"""Of squared weights, features scaled to deviation 1: next to nothing beside thousands of queries."""
GRID = tuple(step / 200 for step in range(110, 193))
"""Thresholds of p that are tried for each anchor: .55 to .96."""
EXPANDS, MOST_FALSE = 0.85, 0.03
"""From this anchor on details are opened by themselves: at most so many of the queries without an answer (knock-outs,
off-topic, nonsense) may reach it, certified as well."""
LOST, LOST_ANSWERS = 0.003, 0.015
"""Share of the relevant hits among the first ten that may fall below the floor: for their own p, and because the first
hit of their query is not worth an answer. The bar for both is .02. Most goes to the latter, which silences nonsense:
its first hit has a low p; a relevant hit at rank nine may have one, too."""
_STEP = 1e-6


@dataclass(frozen=True, slots=True)
class Asked:
    """A trial with the features of its first hits: all of them as ranked, and whether the answer lists them."""

    trial: Trial
    features: Values
    right: Values
    listed: tuple[int, ...]
    listed_features: Values
    listed_right: Values

    @property
    def fits(self) -> bool:
        """Whether the query belongs to the third of dev that fits, in every store that it was asked of.

        Nine numbers need little data, certificates need much.
        """
        return zlib.crc32(self.trial.query.encode("utf-8", "surrogatepass")) % 3 == 0

    @property
    def weight(self) -> float:
        """How much it counts beside an answerable one."""
        return KNOCKOUT_SHARE if self.trial.kind == "knockout" else 1.0


def asked(trial: Trial, settings: Settings) -> Asked:
    """Look at the first hits of a trial, before and after the evidence threshold."""
    rids = [rid for rid, _ in trial.rankings.fused]
    bounds = settings.evidence
    listed = supported(
        rids,
        trial.rankings.evidence,
        min_coverage=bounds.min_coverage,
        answer_margin=bounds.answer_margin,
        hit_margin=bounds.hit_margin,
    )[:HEAD]
    maker = Confidence(None, Logistic(0.0, (0.0,) * len(FALLBACK_FEATURES), ((0.0, 0.0), (1.0, 1.0))))
    first = rids[:TAUGHT]
    return Asked(
        trial,
        maker.features(trial.rankings, first),
        _right(trial, first),
        tuple(listed),
        maker.features(trial.rankings, listed),
        _right(trial, listed),
    )


def fit(dev: Sequence[Asked]) -> Confidence:
    """The model, its map and the fallback for these trials."""
    taught = [each for each in dev if each.fits and len(each.right)]
    weights = np.repeat(_weights(taught), [len(each.right) for each in taught])
    features = np.concatenate([each.features for each in taught])
    right = np.concatenate([each.right for each in taught])
    raw = _logistic(features, right, weights)
    few = _logistic(features[:, : len(FALLBACK_FEATURES)], right, weights)
    least = float(few.probability(np.array([[0.0, NO_MARGIN]]))[0])
    fallback = Logistic(few.intercept, few.weights, ((0.0, 0.0), (least, FLOOR), (1.0, ANCHORS[0] - UNPROMISED)))
    floor, answer = floors(raw, dev)
    return Confidence(Logistic(raw.intercept, raw.weights, _knots(raw, floor, dev), answer), fallback)


def certifying(dev: Sequence[Asked]) -> tuple[list[Asked], list[Asked]]:
    """What scores are certified on: queries of whole stores that the model has not seen, with and without an answer."""
    unseen = [each for each in dev if not each.fits and each.trial.store == WHOLE]
    answerable = [each for each in unseen if each.trial.kind == "answerable"]
    return answerable, [each for each in unseen if each.trial.kind != "answerable"]


def thresholds(model: Logistic, dev: Sequence[Asked]) -> dict[float, float | None]:
    """For each anchor the p from which on a first hit deserves it; None: it can't be certified."""
    answerable, others = certifying(dev)
    answerable = [each for each in answerable if each.listed]
    p, right = first_p(model, answerable), np.array([each.listed_right[0] for each in answerable])
    quiet = certify_silence(first_p(model, others), GRID, MOST_FALSE)
    found: dict[float, float | None] = {}
    for anchor in ANCHORS:
        threshold = certify(p, right, GRID, anchor)
        if anchor >= EXPANDS and threshold is not None:
            threshold = max(threshold, quiet) if quiet is not None else None
        found[anchor] = threshold
    return found


def first_p(model: Logistic, trials: Sequence[Asked]) -> Values:
    """The p of the first listed hit of each; 0 where none is listed."""
    return np.array([model.probability(each.listed_features[:1])[0] if each.listed else 0.0 for each in trials])


def floors(model: Logistic, dev: Sequence[Asked]) -> tuple[float, float]:
    """The p below which a hit is not shown, and the p of a first hit below which nothing is."""
    found = [
        each
        for each in dev
        if each.trial.kind == "answerable" and each.trial.store == WHOLE and each.listed_right.any()
    ]
    p = [np.minimum.accumulate(model.probability(each.listed_features)) for each in found]
    own = np.concatenate([mine[each.listed_right > 0] for mine, each in zip(p, found, strict=True)])
    first = np.concatenate(
        [np.full(int(each.listed_right.sum()), mine[0]) for mine, each in zip(p, found, strict=True)]
    )
    names = np.concatenate([[each.trial.name] * int(each.listed_right.sum()) for each in found])
    _, number, counts = np.unique(names, return_inverse=True, return_counts=True)
    weights = 1 / counts[number]  # sets alike
    return _quantile(own, weights, LOST), _quantile(first, weights, LOST_ANSWERS)


def _quantile(values: Values, weights: Values, share: float) -> float:
    """The highest of the values below which no more than this share of the weight lies."""
    order = np.argsort(values, kind="stable")
    below = np.cumsum(weights[order]) - weights[order]
    return float(values[order][np.flatnonzero(below <= share * weights.sum())[-1]])


def _knots(model: Logistic, last: float, dev: Sequence[Asked]) -> tuple[tuple[float, float], ...]:
    knots = [(0.0, 0.0), (last, FLOOR)]
    for anchor, threshold in thresholds(model, dev).items():
        if threshold is None:
            return (*knots, (1.0, anchor - UNPROMISED))
        last = max(threshold, last + _STEP)
        knots.append((last, anchor))
    return (*knots, (1.0, 1.0))


def _logistic(features: Values, right: Values, weights: Values) -> Logistic:
    """Regression by Newton's method on scaled features; the intercept is not penalised."""
    scale = features.std(axis=0) + 1e-12
    design = np.column_stack([np.ones(len(features)), features / scale])
    penalty = np.r_[0.0, np.full(features.shape[1], PENALTY)]
    found = np.zeros(design.shape[1])
    for _ in range(100):
        p = 1 / (1 + np.exp(-np.clip(design @ found, -30, 30)))
        curve = (design * (weights * p * (1 - p))[:, None]).T @ design + np.diag(penalty + 1e-9)
        step = np.linalg.solve(curve, design.T @ (weights * (p - right)) + penalty * found)
        found = found - step
        if np.abs(step).max() < 1e-9:
            break
    rounded = [round(float(value), 4) for value in np.r_[found[0], found[1:] / scale]]
    return Logistic(rounded[0], tuple(rounded[1:]), ((0.0, 0.0), (1.0, 1.0)))


def _weights(trials: Sequence[Asked]) -> Values:
    """A weight for each trial: sets alike, small stores by their share."""
    weights = np.array([each.weight for each in trials])
    names = np.array([each.trial.name for each in trials])
    whole = np.array([each.trial.store == WHOLE for each in trials])
    for name in np.unique(names):
        for part, share in ((whole, 1 - SMALL_SHARE / (1 + SMALL_SHARE)), (~whole, SMALL_SHARE / (1 + SMALL_SHARE))):
            mine = (names == name) & part
            if mine.any():
                weights[mine] *= EACH_SET * share / weights[mine].sum()
    return weights


def _right(trial: Trial, rids: Sequence[int]) -> Values:
    return np.array([float(rid in trial.relevant) for rid in rids])
