"""One search: rank, score, keep what shows evidence, and build the layers that were asked for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from indexes.analyzer import analyze_query
from indexes.errors import EmbedderError, IndexError_
from indexes.store import Store
from indexes.types import Filter, Memory
from pipeline import layers
from pipeline.budget import Selection, cost, fit
from pipeline.confidence import Confidence
from pipeline.evidence import supported
from pipeline.plaintext import shown
from pipeline.results import Answer, FullDetail, SearchIndexItem, SearchMeta, SearchResult
from pipeline.retriever import Rankings, Retriever
from pipeline.settings import Settings
from pipeline.summarizer import snippet


@dataclass(frozen=True, slots=True)
class Found:
    """What a search has to choose from: row numbers with their scores, best first, of the hits that show evidence."""

    rankings: Rankings
    hits: list[tuple[int, float]]

    def above(self, min_score: float) -> dict[int, float]:
        """The hits that score enough."""
        return {rid: score for rid, score in self.hits if score >= min_score}

    def spans(self) -> dict[int, tuple[int, int]]:
        """By row number, the range of characters of the passage that is nearest to the query."""
        best = self.rankings.vectors
        if best is None:
            return {}
        return {rid: (start, end) for rid, (start, end) in zip(best.ids.tolist(), best.spans.tolist(), strict=True)}


@dataclass(frozen=True, slots=True)
class Search:
    """Everything that one search needs."""

    store: Store
    retriever: Retriever
    settings: Settings
    confidence: Confidence

    def look(self, query: str, *, depth: int, where: Filter) -> Found:
        """Rank and score."""
        rankings = self.retriever.rank(query, depth=depth, where=where)
        return Found(rankings, self._supported(rankings))

    def answer(
        self, query: str, *, layer: int, top_k: int, where: Filter, min_score: float, notices: list[str]
    ) -> Answer:
        """See `Gieok.find`."""
        found = self.look(query, depth=top_k, where=where)
        notices = [*notices, *found.rankings.notices]
        scores = found.above(min_score)
        memories = self.store.memories(list(scores)[:top_k])
        snippets = self._snippets(found, memories) if layer == 2 else {}
        index = [layers.index_item(m, scores[m.rid], snippets.get(m.rid)) for m in memories]
        reason, advice = self.explain(query, found, index, where, min_score)

        def composed(part: Selection) -> Answer:
            lost = part.cut(self.settings.budget.max_total_tokens, self.store.unique_prefix)
            meta = SearchMeta(
                total_matches=len(index),
                expanded_count=len(part.details),
                estimated_tokens=_tokens(*part.index, *part.details),
                expansion_reason=("user_request" if part.details else None) if index else "no_results",
            )
            result = SearchResult(index=list(part.index), details=list(part.details) or None, meta=meta)
            said = [*notices, lost] if lost else notices
            return Answer(result=result, notices=said, reason=reason, advice=advice)

        part = Selection(index=tuple(index))
        if layer == 3:
            part = self._with_details(part, memories, found, composed)
        return composed(part)

    def _supported(self, rankings: Rankings) -> list[tuple[int, float]]:
        """The hits that show that they have to do with the query; none if none of the first does so clearly."""
        bounds = self.settings.evidence
        shown = supported(
            [rid for rid, _ in rankings.fused],
            rankings.evidence,
            min_coverage=bounds.min_coverage,
            answer_margin=bounds.answer_margin,
            hit_margin=bounds.hit_margin,
        )
        return list(zip(shown, self.confidence.scores(rankings, shown), strict=True))

    def _snippets(self, found: Found, memories: list[Memory]) -> dict[int, str]:
        terms = [word.text for word in found.rankings.query.words]
        spans = found.spans()
        return {memory.rid: snippet(memory.content, terms, span=spans.get(memory.rid)) for memory in memories}

    def _with_details(
        self, part: Selection, memories: list[Memory], found: Found, composed: Callable[[Selection], Answer]
    ) -> Selection:
        """`part` and the details of its best hits, as far as the budget goes."""
        spans = found.spans()
        chosen = memories[: self.settings.layer3.max_details]
        return fit(
            replace(part, details=tuple(layers.detail(self.store, memory) for memory in chosen)),
            limit=self.settings.budget.max_total_tokens,
            written=lambda tried: composed(tried).to_json(),
            spans={memory.id: spans[memory.rid] for memory in chosen if memory.rid in spans},
        )

    def matching(self, query: str, memories: Sequence[Memory]) -> dict[str, tuple[int, int]]:
        """By id, the characters of each memory that match `query`: its nearest passage, else its most telling one."""
        try:
            nearest = self.retriever.nearest(query, [memory.rid for memory in memories])
        except (IndexError_, EmbedderError):  # a leg that is damaged, a model that can't be had: words can tell, too
            nearest = {}
        terms = [(word.weight, word.tokens or (word.text,)) for word in analyze_query(query).words]
        spans = {m.id: nearest.get(m.rid) or layers.telling_passage(m.content, terms) for m in memories}
        return {name: span for name, span in spans.items() if span is not None}

    def explain(
        self, query: str, found: Found, index: list[SearchIndexItem], where: Filter, min_score: float
    ) -> tuple[str | None, str | None]:
        """Why nothing was found, and the next step."""
        if index:
            return None, f"gieok show {self.store.unique_prefix(index[0].id)}"
        if not self.store.any_matching(Filter()):
            return "The store is empty.", "Index notes or transcripts first: gieok index PATH"
        if where and not self.store.any_matching(where):
            return "No memory passes the filter.", "Leave out a filter or widen its dates"
        if found.hits:
            return f"Every hit scores below {min_score} (the best {found.hits[0][1]:.2f}).", "Lower --min-score"
        if not found.rankings.query and found.rankings.vectors is None:
            return f'"{shown(query)}" holds no letters or digits to look for.', "Use words"
        if where:
            return (
                f'Nothing that passes the filter has to do with "{shown(query)}".',
                "Leave out a filter, widen its dates, or try other words",
            )
        return (
            f'Nothing here has to do with "{shown(query)}".',
            "Try other words, or the words that the text itself uses",
        )


def _tokens(*items: SearchIndexItem | FullDetail) -> int:
    return sum(cost(item.to_json()) for item in items)
