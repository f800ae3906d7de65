"""From a question to one ranking per leg and their joint order. The only place where the legs meet."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from indexes.analyzer import ANALYZER_VERSION, WeightedQuery, analyze_query
from indexes.embedder import Embedder
from indexes.errors import EmbedderError, IndexError_
from indexes.legs import DenseLeg, LexicalLeg
from indexes.types import NO_FILTER, DenseRanking, Filter, Floats, Ids, LexicalRanking
from pipeline.dialogue import last_turn
from pipeline.evidence import Evidence
from pipeline.fusion import Run, competition_ranks, reciprocal_rank_fusion
from pipeline.order import VECTORS_DEPTH, WORDS_DEPTH, Candidates, Order
from pipeline.settings import Settings


@dataclass(frozen=True, slots=True)
class Rankings:
    """What the legs found for a query, by row number, and the order made of it.

    A leg that is off is None. `fused` pairs each row number with its score in 0..1, best first; `evidence` says what
    each of them shows of itself.
    """

    query: WeightedQuery
    words: LexicalRanking | None
    vectors: DenseRanking | None
    candidates: Candidates
    fused: list[tuple[int, float]]
    evidence: dict[int, Evidence]
    notices: list[str] = field(default_factory=list)


class Retriever:
    """Searches both legs and orders what they found."""

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
        self._fusion = settings.fusion

    def rank(self, query: str, *, depth: int, where: Filter = NO_FILTER) -> Rankings:
        """Rank up to `depth` memories in each leg, and order the best of both.

        A leg that turns out to be damaged takes no part, which a notice says. Raises IndexError_ if both are.
        """
        depth = max(depth, self._fusion.depth, WORDS_DEPTH, VECTORS_DEPTH)
        words, vectors, notices = self._words, self._vectors, list[str]()
        while True:
            try:
                return self._ranked(query, depth, where, words, vectors, notices)
            except _DamagedLegError as damaged:
                notices.append(str(damaged.error))
                if damaged.leg == "words" and vectors is not None:
                    words = None
                elif damaged.leg == "vectors" and words is not None:
                    vectors = None
                else:
                    raise damaged.error from None

    def _ranked(
        self,
        query: str,
        depth: int,
        where: Filter,
        word_leg: LexicalLeg | None,
        vector_leg: DenseLeg | None,
        notices: list[str],
    ) -> Rankings:
        last = last_turn(query)
        weighted = analyze_query(query if last is None else f"{query}\n{last}")
        words, vectors, vector = None, None, None
        if word_leg is not None:
            with _blaming("words"):
                words = word_leg.search(weighted, depth, where)
        if vector_leg is not None and self._embedder is not None and len(vector_leg):
            try:
                vector = self._vector(self._embedder, query, last)
                with _blaming("vectors"):
                    vectors = vector_leg.search(vector, depth, where)
            except EmbedderError as error:
                notices.append(f"Searched by words only: {error}")
        alone = words is None or vectors is None  # then all that it found are hits
        found = [
            ranking.ids if alone else ranking.ids[: max(many, self._fusion.depth)]
            for ranking, many in ((words, WORDS_DEPTH), (vectors, VECTORS_DEPTH))
            if ranking is not None
        ]
        # With an index: the plain form imports numpy.ma, 10 ms of a cold search.
        rids = np.unique(np.concatenate(found or [_NONE]), return_index=True)[0]
        bm25 = coverage = np.zeros(len(rids), np.float32)
        if word_leg is not None and words is not None:
            with _blaming("words"):
                exact = word_leg.score(weighted, rids)
            bm25, coverage = exact.scores / (exact.ceiling or 1.0), exact.coverage
        cosine, passages = np.full(len(rids), np.nan, np.float32), np.zeros(len(rids), np.int32)
        if vector_leg is not None and vectors is not None and vector is not None:
            with _blaming("vectors"):
                near = vector_leg.score(vector, rids)
            cosine, passages = near.scores, near.passages
        candidates = Candidates(
            rids=rids,
            words_rank=_ranks(rids, words, WORDS_DEPTH),
            vectors_rank=_ranks(rids, vectors, VECTORS_DEPTH),
            bm25=bm25,
            coverage=coverage,
            cosine=cosine,
            passages=passages,
            background=vectors.mean if vectors is not None else 0.0,
        )
        fused = self._order(words, vectors, candidates)
        return Rankings(weighted, words, vectors, candidates, fused, self._evidence(candidates, vector), notices)

    def nearest(self, query: str, rids: Sequence[int]) -> dict[int, tuple[int, int]]:
        """By row number, the range of characters of the passage nearest to `query`; none without a vector."""
        if self._vectors is None or self._embedder is None or not rids:
            return {}
        near = self._vectors.score(self._vector(self._embedder, query, last_turn(query)), np.asarray(rids, np.int64))
        spans = zip(near.ids.tolist(), near.scores.tolist(), near.spans.tolist(), strict=True)
        return {rid: (start, end) for rid, score, (start, end) in spans if score == score}  # NaN: no vector

    @staticmethod
    def _vector(embedder: Embedder, query: str, last: str | None) -> Floats:
        """The query's vector; a dialogue's is halfway to that of its last turn.

        Measured on madial_en, whose queries are dialogues, dev / test: nDCG@10 of the vectors .559 / .502 becomes
        .582 / .540, that of the words, which count the last turn twice, .429 / .410 becomes .447 / .435.
        """
        whole = embedder.embed_query(query)
        if last is None:
            return whole
        both = whole + embedder.embed_query(last)
        return both / np.float32(np.linalg.norm(both))

    def _order(
        self, words: LexicalRanking | None, vectors: DenseRanking | None, candidates: Candidates
    ) -> list[tuple[int, float]]:
        order = self._fitted() if words is not None and vectors is not None else None
        if order is not None:
            scores = order.scores(candidates)
            places = np.lexsort((candidates.rids, -scores))  # equal scores by row: an answer never changes by chance
            return list(zip(candidates.rids[places].tolist(), scores[places].tolist(), strict=True))
        runs = []
        if words is not None:
            runs.append(Run(words.ids, words.scores, self._fusion.words_weight))
        if vectors is not None:
            runs.append(Run(vectors.ids, vectors.scores, self._fusion.vectors_weight))
        depth = self._fusion.depth
        if len(runs) == 1:  # a leg that is alone decides, even one that the settings give no weight
            runs, depth = [replace(runs[0], weight=1.0)], len(runs[0].ids)
        return reciprocal_rank_fusion(runs, k=self._fusion.k, depth=depth)

    @property
    def order(self) -> str:
        """How the legs are joined: "evidence", or "rrf" where that is set, or no weights fit model and analyzer."""
        return "rrf" if self._fitted() is None else "evidence"

    @property
    def order_name(self) -> str:
        """`order` with what it was made of, so that it names one order of hits and no other."""
        order, rrf = self._fitted(), self._fusion
        if order is not None:
            return f"evidence:{order.fingerprint}"
        return f"rrf:{rrf.k:g}/{rrf.depth}/{rrf.words_weight:g}/{rrf.vectors_weight:g}"

    def _fitted(self) -> Order | None:
        if self._fusion.order == "rrf" or self._embedder is None or self._vectors is None:
            return None
        return Order.load(model=self._embedder.name, analyzer=ANALYZER_VERSION)

    def _evidence(self, candidates: Candidates, vector: Floats | None) -> dict[int, Evidence]:
        margin: Sequence[float] | Floats = candidates.cosine
        if vector is not None and self._noise is not None:
            margin = candidates.cosine - (self._noise() @ vector).max()
        return {
            rid: Evidence(float(coverage), float(above))
            for rid, coverage, above in zip(candidates.rids.tolist(), candidates.coverage, margin, strict=True)
        }


class _DamagedLegError(Exception):
    """A leg raised: which one, and what."""

    def __init__(self, leg: str, error: IndexError_) -> None:
        super().__init__(str(error))
        self.leg = leg
        self.error = error


@contextmanager
def _blaming(leg: str) -> Iterator[None]:
    try:
        yield
    except IndexError_ as error:
        raise _DamagedLegError(leg, error) from error


_NONE: Ids = np.zeros(0, np.int64)


def _ranks(rids: Ids, ranking: LexicalRanking | DenseRanking | None, depth: int) -> NDArray[np.float64]:
    """The rank of each of `rids` among the first `depth` of a ranking; infinite for the others."""
    ranks = np.full(len(rids), np.inf)
    if ranking is not None:
        ids = ranking.ids[:depth]
        ranks[np.searchsorted(rids, ids)] = competition_ranks(ranking.scores[:depth])
    return ranks
