"""Is a difference between two systems more than luck? Paired tests and intervals over queries.

- *Paired randomisation test* (Fisher's; Smucker, Allan and Carterette, "A comparison of statistical significance tests
  for information retrieval evaluation", CIKM 2007): under the null hypothesis the two systems' values of a query may be
  swapped, so every sign of a difference d_q is as likely as the other. p is the share of sign assignments s with
  |mean(s·d)| ≥ |mean(d)|: all 2^n of them when that is no more than `ROUNDS`, else (1 + hits) / (1 + ROUNDS) over
  random ones (Phipson and Smyth 2010: a drawn p is never 0).
- *Holm's correction* (Holm 1979): of m sorted p-values, the i-th smallest (from 0) becomes
  max over j ≤ i of min(1, (m − j)·p_j).
- *Percentile bootstrap* (Efron): the 2.5 % and 97.5 % quantiles of the mean over queries drawn with replacement.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from eval.measures import Values

ROUNDS = 10_000
"""Draws of each test and interval: the standard error of a p near .05 is then .002."""
LEVEL = 0.95
SEED = 20_260_130
"""Any fixed number serves: the same inputs give the same figures."""
_BLOCK = 500  # draws at a time: 500 x 10,000 queries are 40 MB


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean and its bootstrap interval at `LEVEL`."""

    mean: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Comparison:
    """`a` − `b` over the same queries. `p` is the randomisation test's, `p_holm` corrected over its family."""

    a: str
    b: str
    difference: Interval
    p: float
    p_holm: float


def randomisation_p(differences: Sequence[Values]) -> float:
    """Two-sided p of the mean of differences being 0.

    Several arrays are strata (sets): the statistic is then the plain mean of their means, as in a macro mean.
    """
    weighted = np.concatenate([d / (len(d) * len(differences)) for d in differences])
    observed = abs(float(weighted.sum()))
    close = observed * (1 - 1e-9) - 1e-15  # sums of the same numbers in another order
    n = len(weighted)
    if 2**n <= ROUNDS:
        signs = 1.0 - 2.0 * ((np.arange(2**n)[:, None] >> np.arange(n)) & 1)
        return float(np.mean(np.abs(signs @ weighted) >= close))
    rng = np.random.default_rng(SEED)
    hits = 0
    for start in range(0, ROUNDS, _BLOCK):
        size = min(_BLOCK, ROUNDS - start)
        signs = 1.0 - 2.0 * rng.integers(0, 2, size=(size, n), dtype=np.int8)
        hits += int(np.count_nonzero(np.abs(signs @ weighted) >= close))
    return (1 + hits) / (1 + ROUNDS)


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm-corrected p-values, in the order given."""
    corrected = [0.0] * len(p_values)
    running = 0.0
    for rank, i in enumerate(sorted(range(len(p_values)), key=lambda i: p_values[i])):
        running = max(running, min(1.0, (len(p_values) - rank) * p_values[i]))
        corrected[i] = running
    return corrected


def bootstrap_means(columns: Values) -> Values:
    """Means (`ROUNDS`, c) of resampled rows of `columns` (n, c); the rows of all columns are drawn together."""
    n = len(columns)
    rng = np.random.default_rng(SEED + n)
    draws = np.empty((ROUNDS, columns.shape[1]))
    for start in range(0, ROUNDS, _BLOCK):
        size = min(_BLOCK, ROUNDS - start)
        picked = rng.integers(0, n, size=(size, n))
        counts = np.zeros((size, n))
        np.add.at(counts, (np.arange(size)[:, None], picked), 1.0)
        draws[start : start + size] = counts @ columns / n
    return draws


def interval(mean: float, draws: Values) -> Interval:
    """The percentile interval of bootstrap means."""
    tail = (1 - LEVEL) / 2
    low, high = np.quantile(draws, [tail, 1 - tail])
    return Interval(mean, float(low), float(high))


def compare_all(strata: Sequence[Mapping[str, Values]]) -> tuple[dict[str, Interval], list[Comparison]]:
    """Intervals of every system and comparisons of every pair, Holm-corrected over the pairs.

    Each stratum (a set) maps the same systems to their values per query; several give macro means. Pairs are
    (later, earlier) in the order of systems, so that a positive difference speaks for the later one.
    """
    systems = list(strata[0])
    columns = [np.column_stack([stratum[system] for system in systems]) for stratum in strata]
    means = np.mean([column.mean(axis=0) for column in columns], axis=0)
    draws = np.mean([bootstrap_means(column) for column in columns], axis=0)
    intervals = {s: interval(float(means[i]), draws[:, i]) for i, s in enumerate(systems)}
    pairs = [(j, i) for i, j in combinations(range(len(systems)), 2)]
    p_values = [randomisation_p([column[:, a] - column[:, b] for column in columns]) for a, b in pairs]
    corrected = holm(p_values)
    comparisons = [
        Comparison(
            systems[a], systems[b], interval(float(means[a] - means[b]), draws[:, a] - draws[:, b]), p, corrected[i]
        )
        for i, ((a, b), p) in enumerate(zip(pairs, p_values, strict=True))
    ]
    return intervals, comparisons
