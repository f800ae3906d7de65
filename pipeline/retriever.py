"""From a question to one ranking per leg and their fused order. The only place where the legs meet."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from indexes.analyzer import WeightedQuery, analyze_query
from indexes.embedder import Embedder
from indexes.errors import EmbedderError
from indexes.legs import DenseLeg, LexicalLeg
from indexes.types import NO_FILTER, DenseRanking, Filter, Floats, LexicalRanking
from pipeline.evidence import Evidence
from pipeline.fusion import Run, reciprocal_rank_fusion
from pipeline.settings import Settings


@dataclass(frozen=True, slots=True)
class Rankings:
    """What the legs found for a query, by row number, and the order made of it.

    A leg that is off is None. `fused` pairs each row number with its score in 0..1, best first.
    """

    query: WeightedQuery
    words: LexicalRanking | None
    vectors: DenseRanking | None
    vector: Floats | None
    fused: list[tuple[int, float]]
    notices: list[str] = field(default_factory=list)


class Retriever:
    """Searches both legs and fuses them."""

    def __init__(
        self,
        words: LexicalLeg | None,
        vectors: DenseLeg | None,
        embedder: Embedder | None,
        noise: Callable[[], Floats] | None,
        settings: Settings,
    ) -> None:
        """A leg that is None takes no part; the other decides alone. `noise` gives what means nothing."""
        self._words = words
        self._vectors = vectors
        self._embedder = embedder
        self._noise = noise
        self._settings = settings

    def rank(self, query: str, *, depth: int, where: Filter = NO_FILTER) -> Rankings:
        """Rank up to `depth` memories in each leg; the fusion looks at `fusion.depth` of them."""
        fusion = self._settings.fusion
        depth = max(depth, fusion.depth)
        weighted = analyze_query(query)
        notices: list[str] = []
        runs: list[Run] = []
        words, vectors, vector = None, None, None
        if self._words is not None:
            words = self._words.search(weighted, depth, where)
            runs.append(Run(words.ids, words.scores, fusion.words_weight))
        if self._vectors is not None and self._embedder is not None and len(self._vectors):
            try:
                vector = self._embedder.embed_query(query)
                vectors = self._vectors.search(vector, depth, where)
                runs.append(Run(vectors.ids, vectors.scores, fusion.vectors_weight))
            except EmbedderError as error:
                notices.append(f"Searched by words only: {error}")
        if len(runs) == 1:  # a leg that is alone decides, even one that the settings give no weight
            runs = [replace(runs[0], weight=1.0)]
        fused = reciprocal_rank_fusion(runs, k=fusion.k, depth=fusion.depth)
        return Rankings(weighted, words, vectors, vector, fused, notices)

    def evidence(self, rankings: Rankings, rids: list[int]) -> dict[int, Evidence]:
        """What each of these memories shows of itself: exact, also for the leg that did not rank it."""
        ids = np.array(rids, np.int64)
        coverage = np.zeros(len(ids), np.float32)
        if self._words is not None:
            coverage = self._words.score(rankings.query, ids).coverage
        margin = np.full(len(ids), np.nan, np.float32)
        if rankings.vector is not None and self._vectors is not None and self._noise is not None:
            noise = self._noise() @ rankings.vector
            margin = self._vectors.score(rankings.vector, ids).scores - noise.max()
        return {rid: Evidence(float(c), float(m)) for rid, c, m in zip(rids, coverage, margin, strict=True)}
