"""Why each hit stands where it stands, and at which stage an expected memory fell out."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from indexes.errors import UnknownIdError
from indexes.store import Store
from indexes.types import DenseRanking, Filter, LexicalRanking, Memory
from pipeline import layers
from pipeline.confidence import Confidence
from pipeline.evidence import WITNESSES, Evidence
from pipeline.expansion import Decision
from pipeline.fusion import competition_ranks
from pipeline.order import VECTORS_DEPTH, WORDS_DEPTH
from pipeline.results import Result
from pipeline.retriever import Rankings
from pipeline.search import Found
from pipeline.settings import Settings
from pipeline.smart import Plan, Question


class Stage(StrEnum):
    """Where a memory fell out of a search, in the order of the stages; SHOWN: it did not."""

    NOT_IN_STORE = "not_in_store"
    FILTERED_OUT = "filtered_out"
    NOT_A_CANDIDATE = "not_a_candidate"
    NO_EVIDENCE = "no_evidence"
    BELOW_MIN_SCORE = "below_min_score"
    BEYOND_TOP_K = "beyond_top_k"
    SHOWN = "shown"


class Term(Result):
    """A word of the query as the word leg weighs it, before its rarity counts."""

    text: str
    weight: float


class HitExplanation(Result):
    """A candidate in the joint order.

    Ranks are 1-based, absent where a leg did not rank it. `bm25` is over the query's ceiling, `coverage` the share of
    the query's words that it holds, `cosine` that of its best passage, `margin` that above random letters; the last
    two are absent without a vector. `order` is the value by which it stands here, `probability` what the calibrated
    model says (absent without one), `score` what is shown (absent without evidence). `stage` is how far it came.
    """

    place: int
    id: str
    summary: str
    words_rank: int | None = None
    vectors_rank: int | None = None
    bm25: float
    coverage: float
    cosine: float | None = None
    margin: float | None = None
    order: float
    probability: float | None = None
    score: float | None = None
    stage: Stage


class Expected(Result):
    """What became of the memory that was expected, and why."""

    id: str
    stage: Stage
    why: str


class Explanation(Result):
    """A search taken apart. `searched` is the query without ids, requests and words of time."""

    query: str
    searched: str
    terms: list[Term]
    notices: list[str]
    scores: str
    rule: str
    timeline: list[str]
    details: list[str]
    hits: list[HitExplanation]
    expected: Expected | None = None


@dataclass(frozen=True, slots=True)
class Explainer:
    """Explains one search. `found` is None for a query that only names ids."""

    store: Store
    settings: Settings
    question: Question
    plan: Plan
    where: Filter
    found: Found | None
    confidence: Confidence

    def explanation(
        self, decision: Decision, *, scores: str, notices: Sequence[str], expect: str | None
    ) -> Explanation:
        """The whole."""
        terms = self.found.rankings.query.words if self.found is not None else ()
        return Explanation(
            query=self.question.asked,
            searched=self.question.words,
            terms=[Term(text=word.text, weight=round(word.weight, 3)) for word in terms],
            notices=[*notices, *(self.found.rankings.notices if self.found else ()), *self.question.notices],
            scores=scores,
            rule=str(decision.reason),
            timeline=list(decision.timeline),
            details=list(decision.details),
            hits=self._hits(self.found) if self.found is not None else [],
            expected=None if expect is None else self._expected(expect),
        )

    def _hits(self, found: Found) -> list[HitExplanation]:
        """As many of the joint order as the answer has room for, those without evidence among them."""
        fused = found.rankings.fused[: self.plan.top_k]
        memories = {memory.rid: memory for memory in self.store.memories(rid for rid, _ in fused)}
        return [
            self._hit(found, place, memories[rid], order)
            for place, (rid, order) in enumerate(fused, 1)
            if rid in memories
        ]

    def _hit(self, found: Found, place: int, memory: Memory, order: float) -> HitExplanation:
        rankings, scores = found.rankings, dict(found.hits)
        candidates = rankings.candidates
        row = int(np.searchsorted(candidates.rids, memory.rid))
        return HitExplanation(
            place=place,
            id=memory.id,
            summary=layers.index_item(memory, 0.0).summary,
            words_rank=_finite_rank(candidates.words_rank[row]),
            vectors_rank=_finite_rank(candidates.vectors_rank[row]),
            bm25=_rounded(candidates.bm25[row]) or 0.0,
            coverage=_rounded(candidates.coverage[row]) or 0.0,
            cosine=_rounded(candidates.cosine[row]),
            margin=_rounded(rankings.evidence[memory.rid].margin),
            order=round(order, 4),
            probability=self._probability(rankings, memory.rid),
            score=_rounded(scores.get(memory.rid, math.nan)),
            stage=self._stage(found, memory),
        )

    def _probability(self, rankings: Rankings, rid: int) -> float | None:
        if not self.confidence.calibrated:
            return None
        return _rounded(self.confidence.probability(rankings, [rid])[0])

    def _stage(self, found: Found, memory: Memory) -> Stage:
        """How far a memory of the store that passes the filter came."""
        if memory.rid not in found.rankings.evidence:
            return Stage.NOT_A_CANDIDATE
        scores = dict(found.hits)
        if memory.rid not in scores:
            return Stage.NO_EVIDENCE
        if scores[memory.rid] < self.plan.min_score:
            return Stage.BELOW_MIN_SCORE
        named = {other.rid for other in self.question.named}
        listed = [rid for rid in found.above(self.plan.min_score) if rid not in named]
        return Stage.SHOWN if listed.index(memory.rid) < self.plan.top_k - len(named) else Stage.BEYOND_TOP_K

    def _expected(self, name: str) -> Expected:
        try:
            memory = self.store.by_id(name)
        except UnknownIdError:
            return Expected(
                id=name,
                stage=Stage.NOT_IN_STORE,
                why="No memory has this id. Index the file that holds it: gieok index PATH",
            )
        if memory.id in {other.id for other in self.question.named}:
            return Expected(id=memory.id, stage=Stage.SHOWN, why="The query names it.")
        if self.found is None:
            why = "The query only names other memories, so nothing was searched."
            return Expected(id=memory.id, stage=Stage.NOT_A_CANDIDATE, why=why)
        if not self.store.passes(memory.rid, self.where):
            when = f"{memory.timestamp:%Y-%m-%d %H:%M} UTC"
            why = f"The filter leaves it out (type {memory.type}, session {memory.session_id}, {when})."
            if self.question.time is not None:
                why += f' The query asks for {self.question.time.days} ("{self.question.time.phrase}"); see --no-time.'
            return Expected(id=memory.id, stage=Stage.FILTERED_OUT, why=why)
        stage = self._stage(self.found, memory)
        return Expected(id=memory.id, stage=stage, why=self._why(self.found, memory, stage))

    def _why(self, found: Found, memory: Memory, stage: Stage) -> str:
        rankings = found.rankings
        if stage is Stage.NOT_A_CANDIDATE:
            words = _in_words(memory.rid, rankings.words, max(WORDS_DEPTH, self.settings.fusion.depth))
            vectors = _in_vectors(memory.rid, rankings.vectors, max(VECTORS_DEPTH, self.settings.fusion.depth))
            return f"{words} {vectors}"
        if stage is Stage.NO_EVIDENCE:
            return self._lacks(found, rankings.evidence[memory.rid])
        score = dict(found.hits)[memory.rid]
        if stage is Stage.BELOW_MIN_SCORE:
            return f"It scores {score:.2f}; min_score is {self.plan.min_score}. Lower --min-score to see it."
        place = list(found.above(self.plan.min_score)).index(memory.rid) + 1
        if stage is Stage.BEYOND_TOP_K:
            return f"It is hit {place}; {self.plan.top_k} are shown. Raise --top-k."
        return f"It is hit {place} with a score of {score:.2f}."

    def _lacks(self, found: Found, shows: Evidence) -> str:
        bounds = self.settings.evidence
        vector = "has no vector" if math.isnan(shows.margin) else f"its margin is {shows.margin:+.3f}"
        own = f"It covers {shows.coverage:.2f} of the query's words and {vector}."
        if not found.hits and shows.supports(min_coverage=bounds.min_coverage, min_margin=bounds.hit_margin):
            return (
                f"{own} But there is no answer at all: none of the first {WITNESSES} hits covers {bounds.min_coverage}"
                f" or has a margin of {bounds.answer_margin:+} (evidence.answer_margin)."
            )
        return f"{own} A hit must cover {bounds.min_coverage} or have a margin of {bounds.hit_margin:+} ([evidence])."


def _in_words(rid: int, ranking: LexicalRanking | None, depth: int) -> str:
    if ranking is None:
        return "The word index is off."
    rank = _rank(rid, ranking)
    if rank is None:
        return "By words: it holds none of the query's words, not even in part."
    return f"By words: rank {rank:,}; the first {depth} take part."


def _in_vectors(rid: int, ranking: DenseRanking | None, depth: int) -> str:
    if ranking is None:
        return "Vectors are off."
    rank = _rank(rid, ranking)
    if rank is None:
        return "By meaning: it has no vector yet. Run: gieok index"
    cosine = float(ranking.scores[np.flatnonzero(ranking.ids == rid)[0]])
    return f"By meaning: rank {rank:,} (cosine {cosine:.3f}); the first {depth} take part."


def _rank(rid: int, ranking: LexicalRanking | DenseRanking) -> int | None:
    places = np.flatnonzero(ranking.ids == rid)
    return int(competition_ranks(ranking.scores)[places[0]]) if len(places) else None


def _finite_rank(rank: float) -> int | None:
    return int(rank) if math.isfinite(rank) else None


def _rounded(value: float) -> float | None:
    return None if math.isnan(value) else round(float(value), 4)
