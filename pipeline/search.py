"""One search: rank, keep what shows evidence, and build the layers that were asked for."""

from __future__ import annotations

from dataclasses import dataclass

from indexes.store import Store
from indexes.tokens import estimate_tokens
from indexes.types import Filter, Memory
from pipeline import layers
from pipeline.results import Answer, FullDetail, SearchIndexItem, SearchMeta, SearchResult
from pipeline.retriever import Rankings, Retriever
from pipeline.settings import Settings
from pipeline.summarizer import snippet

WITNESSES = 10
"""Hits of which one must show evidence. Fixed, so that asking for fewer hits never turns an answer into none."""


@dataclass(frozen=True, slots=True)
class Search:
    """Everything that one search needs."""

    store: Store
    retriever: Retriever
    settings: Settings

    def answer(
        self, query: str, *, layer: int, top_k: int, where: Filter, min_score: float, notices: list[str]
    ) -> Answer:
        """See `Gieok.search`."""
        rankings = self.retriever.rank(query, depth=top_k, where=where)
        notices = [*notices, *rankings.notices]
        hits = self._supported(rankings)
        scores = {rid: score for rid, score in hits if score >= min_score}
        memories = self.store.memories(list(scores)[:top_k])
        snippets = self._snippets(rankings, memories) if layer == 2 else {}
        index = [layers.index_item(m, scores[m.rid], snippets.get(m.rid)) for m in memories]
        details, left_out = self._details(index, memories) if layer == 3 else (None, [])
        if left_out:
            names = ", ".join(self.store.unique_prefix(memory.id) for memory in left_out)
            notices.append(
                f"Left out, beyond the budget of {self.settings.budget.max_total_tokens} tokens: {names}."
                f" Open one with: gieok show {self.store.unique_prefix(left_out[0].id)}"
            )
        reason, advice = self._explain(query, rankings, hits, index, where, min_score)
        meta = SearchMeta(
            total_matches=len(index),
            expanded_count=len(details or ()),
            estimated_tokens=_tokens(*index, *(details or ())),
            expansion_reason=("user_request" if details else None) if index else "no_results",
        )
        return Answer(
            result=SearchResult(index=index, details=details, meta=meta), notices=notices, reason=reason, advice=advice
        )

    def _supported(self, rankings: Rankings) -> list[tuple[int, float]]:
        """The hits that show that they have to do with the query; none if none of the first does so clearly."""
        bounds = self.settings.evidence

        def supports(rid: int, margin: float) -> bool:
            return rankings.evidence[rid].supports(min_coverage=bounds.min_coverage, min_margin=margin)

        if not any(supports(rid, bounds.answer_margin) for rid, _ in rankings.fused[:WITNESSES]):
            return []
        return [(rid, score) for rid, score in rankings.fused if supports(rid, bounds.hit_margin)]

    def _snippets(self, rankings: Rankings, memories: list[Memory]) -> dict[int, str]:
        terms = [word.text for word in rankings.query.words]
        best = rankings.vectors
        spans = dict(zip(best.ids.tolist(), map(tuple, best.spans.tolist()), strict=True)) if best is not None else {}
        return {memory.rid: snippet(memory.content, terms, span=spans.get(memory.rid)) for memory in memories}

    def _details(self, index: list[SearchIndexItem], memories: list[Memory]) -> tuple[list[FullDetail], list[Memory]]:
        """Details of the best hits while they fit, and the memories that did not."""
        budget = self.settings.budget.max_total_tokens - _tokens(*index)
        details: list[FullDetail] = []
        left_out: list[Memory] = []
        for memory in memories[: self.settings.layer3.max_details]:
            detail = layers.detail(self.store, memory)
            cost = _tokens(detail)
            if cost <= budget:
                details.append(detail)
                budget -= cost
            else:
                left_out.append(memory)
        return details, left_out

    def _explain(
        self,
        query: str,
        rankings: Rankings,
        hits: list[tuple[int, float]],
        index: list[SearchIndexItem],
        where: Filter,
        min_score: float,
    ) -> tuple[str | None, str | None]:
        """Why nothing was found, and the next step."""
        if index:
            return None, f"gieok show {self.store.unique_prefix(index[0].id)}"
        if not self.store.any_matching(Filter()):
            return "The store is empty.", "Index notes or transcripts first: gieok index PATH"
        if where and not self.store.any_matching(where):
            return "No memory passes the filter.", "Leave out a filter or widen its dates"
        if hits:
            return f"Every hit scores below {min_score} (the best {hits[0][1]:.2f}).", "Lower --min-score"
        if not rankings.query and rankings.vectors is None:
            return f"{query!r} holds no letters or digits to look for.", "Use words"
        return f"Nothing here has to do with {query!r}.", "Try other words, or the words that the text itself uses"


def _tokens(*items: SearchIndexItem | FullDetail) -> int:
    return sum(estimate_tokens(item.to_json()) for item in items)
