"""How alike two lines are: by the weighted words they share and by the cosine of their vectors."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from indexes.analyzer import analyze_query
from pipeline.reflect.cues import Cues, cues_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from indexes.embedder import Embedder
    from indexes.types import Floats

WORDS_SHARE = 0.2
"""What full agreement in words adds to a cosine."""
ALIKE = 0.92
"""cosine + WORDS_SHARE · words from which on two lines are one pattern. Chosen on the dev half of the labelled pairs
(tests/pipeline/reflect/pairs.tsv): precision 1.00 there, recall .71. docs/reflect.md has the test half."""
ALIKE_BY_WORDS = 0.6
"""The same without a model, by words alone: precision 1.00 and recall .54 on the dev half."""

_BLOCK = 512


class Likeness:
    """Scores of all pairs among some texts, computed when they are asked for."""

    def __init__(
        self,
        texts: Sequence[str],
        embedder: Embedder | None,
        on_done: Callable[[int], None] | None = None,
    ) -> None:
        """Analyse and embed; without `embedder` words alone count. Raises EmbedderError."""
        self._texts = texts
        self._words = _weighted(texts)
        self._cues: dict[int, Cues] = {}
        self._vectors: Floats | None = embedder.embed_passages(texts, on_done) if embedder is not None else None
        self.threshold = ALIKE if embedder is not None else ALIKE_BY_WORDS

    def score(self, left: int, right: int) -> float:
        """How alike two texts are, in 0..1.2 (words alone: 0..1); -inf if a cue tells them apart."""
        if self._cue(left).clash(self._cue(right)):
            return -math.inf
        words = self._shared(left, right)
        if self._vectors is None:
            return words
        return float(self._vectors[left] @ self._vectors[right]) + WORDS_SHARE * words

    def alike(self, threshold: float | None = None) -> Iterator[tuple[int, int]]:
        """All pairs (left < right) whose score reaches the threshold."""
        wanted = self.threshold if threshold is None else threshold
        for left, right in self._candidates(wanted):
            if self.score(left, right) >= wanted:
                yield left, right

    def _cue(self, row: int) -> Cues:
        if row not in self._cues:
            self._cues[row] = cues_of(self._texts[row])
        return self._cues[row]

    def _shared(self, left: int, right: int) -> float:
        mine, theirs = self._words[left], self._words[right]
        if len(mine) > len(theirs):
            mine, theirs = theirs, mine
        return sum(weight * theirs.get(token, 0.0) for token, weight in mine.items())

    def _candidates(self, wanted: float) -> Iterator[tuple[int, int]]:
        """Pairs that may reach the threshold: a bound on one leg that costs little for all of them."""
        if self._vectors is None:
            yield from self._with_words_in_common()
            return
        floor = wanted - WORDS_SHARE
        for start in range(0, len(self._texts), _BLOCK):
            cosines = self._vectors[start : start + _BLOCK] @ self._vectors[start:].T
            for row, column in np.argwhere(np.triu(cosines >= floor, k=1)):
                yield start + int(row), start + int(column)

    def _with_words_in_common(self) -> Iterator[tuple[int, int]]:
        holders: defaultdict[str, list[int]] = defaultdict(list)
        for right, words in enumerate(self._words):
            # Two texts that reach the threshold share one of each other's heaviest words.
            heaviest = sorted(words, key=lambda token: -words[token])[:8]
            yield from ((left, right) for left in sorted({row for token in heaviest for row in holders[token]}))
            for token in words:
                holders[token].append(right)


def _weighted(texts: Sequence[str]) -> list[dict[str, float]]:
    """Unit vectors of weighted tokens: the analyzer's weight by role, times how rare the token is among the texts."""
    rows = [{f"{token.field}:{token.text}": token.weight for token in analyze_query(text).tokens} for text in texts]
    holders = Counter(token for row in rows for token in row)
    for row in rows:
        for token in row:
            row[token] *= math.log(1 + (len(rows) - holders[token] + 0.5) / (holders[token] + 0.5))
        length = math.sqrt(sum(weight * weight for weight in row.values())) or 1.0
        for token in row:
            row[token] /= length
    return rows
