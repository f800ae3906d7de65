"""What a threshold is worth: certified bounds, the error of a probability, and how risk grows with coverage."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import takewhile

import numpy as np
from scipy.stats import beta

from eval.measures import Values

DELTA = 0.05
"""The chance that a certificate is wrong."""
ECE_BINS = 10


def lower_bound(hits: int, of: int, delta: float = DELTA) -> float:
    """A proportion is at least so high, at confidence 1 - delta (Clopper and Pearson 1934, one-sided)."""
    return float(beta.ppf(delta, hits, of - hits + 1)) if hits else 0.0


def upper_bound(hits: int, of: int, delta: float = DELTA) -> float:
    """A proportion is at most so high, at confidence 1 - delta."""
    return float(beta.ppf(1 - delta, hits + 1, of - hits)) if hits < of else 1.0


def certify(p: Values, right: Values, grid: Sequence[float], target: float) -> float | None:
    """The lowest threshold of the grid at which hits of p or more are right in at least `target` of cases.

    Thresholds are tested from the highest down, and the first that fails ends it. Each test may then use all of DELTA:
    for a wrong threshold to be chosen, the first wrong one must pass, and there is only one first (fixed sequence
    testing; Angelopoulos et al., "Learn then Test", 2021). None: not even the highest can be certified.
    """

    def holds(threshold: float) -> bool:
        fired = p >= threshold
        return lower_bound(int(right[fired].sum()), int(fired.sum())) >= target

    return _lowest(grid, holds)


def certify_silence(p: Values, grid: Sequence[float], most: float) -> float | None:
    """The lowest threshold that at most the share `most` of these p reach, certified like `certify`."""
    return _lowest(grid, lambda threshold: upper_bound(int((p >= threshold).sum()), len(p)) <= most)


def _lowest(grid: Sequence[float], holds: Callable[[float], bool]) -> float | None:
    passed = list(takewhile(holds, sorted(grid, reverse=True)))
    return passed[-1] if passed else None


def calibration_error(p: Values, right: Values, weights: Values) -> float:
    """Expected calibration error: |mean p - share right| in bins of equal weight, averaged by weight."""
    order = np.argsort(p, kind="stable")
    place = np.cumsum(weights[order]) - weights[order] / 2
    bins = np.minimum((place / weights.sum() * ECE_BINS).astype(int), ECE_BINS - 1)
    gaps = weights[order] * (p[order] - right[order])
    return float(np.abs(np.bincount(bins, gaps, ECE_BINS)).sum() / weights.sum())


def risk_coverage(p: Values, right: Values, steps: Sequence[float]) -> list[tuple[float, float]]:
    """For each coverage in `steps`, the share of wrong answers among that share of queries, surest first."""
    wrong = 1 - right[np.argsort(-p, kind="stable")]
    counts = [max(1, round(step * len(p))) for step in steps]
    return [(step, float(wrong[:count].mean())) for step, count in zip(steps, counts, strict=True)] if len(p) else []
