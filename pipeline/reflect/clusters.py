"""Groups of lines that say one thing: average linkage inside what is connected, so that no chain joins strangers."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from pipeline.reflect.likeness import Likeness

LARGEST = 400
"""Connected lines that are clustered at once. A larger knot is template text: it gets a higher threshold."""
STEP = 0.04


def clusters(likeness: Likeness, pairs: Iterable[tuple[int, int]]) -> list[list[int]]:
    """The rows that the pairs connect, in groups of two or more, each in rising order.

    Two groups are joined while the mean score between their lines reaches the threshold and no cue tells any two of
    their lines apart. Equal input gives equal groups.
    """
    found: list[list[int]] = []
    pending = [(list(pairs), likeness.threshold)]
    while pending:
        near, threshold = pending.pop()
        for knot in _connected(near):
            if len(knot) > LARGEST:
                inside = set(knot)
                higher = threshold + STEP
                nearer = [pair for pair in near if pair[0] in inside and likeness.score(*pair) >= higher]
                pending.append((nearer, higher))
            else:
                found += _agglomerate(likeness, knot, threshold)
    return sorted(found)


def _connected(pairs: list[tuple[int, int]]) -> list[list[int]]:
    above: dict[int, int] = {}

    def root(row: int) -> int:
        while above.setdefault(row, row) != row:
            above[row] = above[above[row]]
            row = above[row]
        return row

    for left, right in pairs:
        above[max(root(left), root(right))] = min(root(left), root(right))
    knots: dict[int, list[int]] = {}
    for row in sorted(above):
        knots.setdefault(root(row), []).append(row)
    return list(knots.values())


def _agglomerate(likeness: Likeness, rows: list[int], threshold: float) -> list[list[int]]:
    scores = np.full((len(rows), len(rows)), -math.inf)
    for left in range(len(rows)):
        for right in range(left + 1, len(rows)):
            scores[left, right] = scores[right, left] = likeness.score(rows[left], rows[right])
    groups = [[row] for row in rows]
    while True:
        left, right = sorted(map(int, np.unravel_index(np.argmax(scores), scores.shape)))
        if left == right or scores[left, right] < threshold:
            return [sorted(group) for group in groups if len(group) > 1]
        sizes = len(groups[left]), len(groups[right])
        mean = (scores[left] * sizes[0] + scores[right] * sizes[1]) / sum(sizes)  # -inf stays: a cue is never outvoted
        scores[left], scores[:, left] = mean, mean
        scores[left, left] = -math.inf
        scores[right], scores[:, right] = -math.inf, -math.inf
        groups[left], groups[right] = groups[left] + groups[right], []
