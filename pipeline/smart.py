"""Smart search: the index always, more of it where a rule or the query says so, all of it within the budget."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, tzinfo

from indexes.errors import AmbiguousIdError, UnknownIdError
from indexes.types import Filter, Memory
from pipeline import layers
from pipeline.budget import Selection, cost, fit, section
from pipeline.expansion import TIMELINE_TARGETS, Decision, Reason, decide
from pipeline.filters import SearchFilter
from pipeline.options import Form, SmartSearchOptions
from pipeline.plaintext import shown
from pipeline.results import Answer, FullDetail, SearchIndexItem, SearchMeta, SearchResult, TimelineItem
from pipeline.search import Found, Search
from pipeline.settings import AutoExpand, Settings
from pipeline.timewords import TimeWords, read_time
from pipeline.triggers import read_request, without_requests


def today(zone: tzinfo | None) -> date:
    """The day that words of time are counted from."""
    return datetime.now(zone).date()


@dataclass(frozen=True, slots=True)
class Plan:
    """One call: its options with the settings filled in. Hashable, so that it is a key for kept answers."""

    top_k: int
    min_score: float
    rules: AutoExpand
    max_total_tokens: int | None
    section: int
    form: Form

    @classmethod
    def of(cls, options: SmartSearchOptions, settings: Settings, form: Form) -> Plan:
        """The settings, with the options of this call in front."""
        changed = {
            "timeline": options.auto_expand_timeline,
            "details": options.auto_expand_details,
            "max_auto_expand_count": options.max_auto_expand_count,
        }
        given = {name: value for name, value in changed.items() if value is not None}
        return cls(
            top_k=settings.layer1.top_k if options.top_k is None else options.top_k,
            min_score=settings.layer1.min_score if options.min_score is None else options.min_score,
            rules=settings.auto_expand.model_copy(update=given),
            max_total_tokens=options.max_total_tokens or settings.budget.max_total_tokens,
            section=settings.layer3.section_tokens,
            form=form,
        )


@dataclass(frozen=True, slots=True)
class Question:
    """A query as it was understood."""

    asked: str
    words: str
    named: tuple[Memory, ...]
    detail: bool
    time: TimeWords | None
    notices: tuple[str, ...]

    @property
    def key(self) -> tuple[object, ...]:
        """All of it, hashable."""
        ids = tuple(memory.id for memory in self.named)
        return self.asked, self.words, ids, self.detail, self.time, self.notices


def understand(query: str, *, by_id: Callable[[str], Memory], day: date | None) -> Question:
    """Take ids, a request for detail and words of time out of a query. `day` is today, None: no words of time.

    What looks like an id and is none counts as a word, with a notice if the query has no other.
    """
    request = read_request(query)
    named: list[Memory] = []
    problems: list[str] = []
    for name in request.ids:
        try:
            named.append(by_id(name))
        except (UnknownIdError, AmbiguousIdError) as error:
            problems.append(str(error))
    words = request.words if named or not request.ids else without_requests(query)
    notices = problems if named or not request.words else []
    time = read_time(words, day) if day is not None and words else None
    if time is not None:
        words = time.rest
        notices.append(f'Only {time.days}, for "{shown(time.phrase)}". To search all times: --no-time')
    unique = {memory.id: memory for memory in named}
    return Question(query, words, tuple(unique.values()), request.detail, time, tuple(notices))


def narrowed(chosen: SearchFilter | None, time: TimeWords | None) -> SearchFilter | None:
    """The filter of a call, with the dates that its query names."""
    if time is None:
        return chosen
    return replace(chosen or SearchFilter(), since=time.since, until=time.until)


@dataclass(frozen=True, slots=True)
class SmartSearch:
    """Everything that one smart search needs. `timeline` and `detail` give the other layers, by id."""

    search: Search
    timeline: Callable[[Sequence[str]], list[TimelineItem]]
    detail: Callable[[str], FullDetail]
    short: Callable[[str], str]
    zone: tzinfo | None

    def consider(
        self, question: Question, plan: Plan, where: Filter, *, depth: int = 0
    ) -> tuple[Found | None, list[SearchIndexItem], Decision]:
        """What there is to show, and what the rules would open of it. Without words nothing is searched."""
        depth = max(depth, plan.top_k)
        found = self.search.look(question.words, depth=depth, where=where) if question.words else None
        hits = self._hits(question, found, plan)
        return found, hits, self._decide(question, hits, plan)

    def answer(self, question: Question, plan: Plan, where: Filter, notices: Sequence[str]) -> Answer:
        """See `Gieok.smart_search`."""
        found, hits, decision = self.consider(question, plan, where)
        said = [*notices, *(found.rankings.notices if found else ()), *question.notices]
        index = hits[: plan.top_k]
        reason, advice = None, None
        if found is not None:
            reason, advice = self.search.explain(question.words, found, index, where, plan.min_score)
        whole, gone = self._open(index, decision, plan)
        spans = self._spans(whole, found)
        if decision.reason in (Reason.SINGLE, Reason.CLEAR_WINNER):
            whole = replace(
                whole, details=tuple(section(each, spans.get(each.id), plan.section) for each in whole.details)
            )
        if gone:
            said.append(f"Gone since the search began: {', '.join(gone)}")
        if question.detail and not plan.rules.details and index:
            said.append("Detail was asked for, but details are switched off for this search.")
        frame = Frame(self, question, plan, decision if _decides(plan) or not index else None, said, reason, advice)
        return frame.fitted(whole, spans)

    def _hits(self, question: Question, found: Found | None, plan: Plan) -> list[SearchIndexItem]:
        """The memories that the query names, then those found: as many as are shown, or as the rules look at."""
        named = {memory.rid for memory in question.named}
        items = [layers.index_item(memory, 1.0) for memory in question.named]
        if found is None:
            return items
        scores = {rid: score for rid, score in found.above(plan.min_score).items() if rid not in named}
        depth = max(plan.top_k, plan.rules.several, TIMELINE_TARGETS)
        memories = self.search.store.memories(list(scores)[:depth])
        return items + [layers.index_item(memory, scores[memory.rid]) for memory in memories]

    def _decide(self, question: Question, hits: list[SearchIndexItem], plan: Plan) -> Decision:
        named = [memory.id for memory in question.named]
        decision = decide(hits, plan.rules, named=named, detail=question.detail)
        seen = {hit.id for hit in hits[: plan.top_k]}
        return replace(
            decision,
            timeline=tuple(name for name in decision.timeline if name in seen and plan.rules.timeline),
            details=tuple(name for name in decision.details if name in seen and plan.rules.details),
        )

    def _open(self, index: list[SearchIndexItem], decision: Decision, plan: Plan) -> tuple[Selection, list[str]]:
        """The layers that the decision opens, and the ids that are gone since the index was read."""
        details, gone = [], []
        for name in decision.details:
            try:
                details.append(self.detail(name))
            except UnknownIdError:
                gone.append(name)
        targets = list(decision.timeline)
        near: list[TimelineItem] = []
        while targets and not near:
            try:
                near = self.timeline(targets)
            except UnknownIdError as error:
                gone.append(error.memory_id)
                targets.remove(error.memory_id)
        if details and all(item.is_target for item in near):
            near = []  # it would only repeat what the details say
        kept = [item for item in index if item.id not in gone]
        return Selection(index=tuple(kept), timeline=tuple(near), details=tuple(details)), list(dict.fromkeys(gone))

    def _spans(self, whole: Selection, found: Found | None) -> dict[str, tuple[int, int]]:
        """By id, the characters of a content that match the query: its nearest passage, else its most telling one."""
        if found is None or not whole.details:
            return {}
        nearest = found.spans()
        terms = [(word.weight, word.tokens or (word.text,)) for word in found.rankings.query.words]
        spans = {}
        for detail in whole.details:
            memory = self.search.store.by_id(detail.id)
            span = nearest.get(memory.rid) or layers.telling_passage(memory.content, terms)
            if span is not None:
                spans[detail.id] = span
        return spans


def _decides(plan: Plan) -> bool:
    return plan.rules.timeline or plan.rules.details


@dataclass(frozen=True, slots=True)
class Frame:
    """What stands around the layers of an answer."""

    smart: SmartSearch
    question: Question
    plan: Plan
    decision: Decision | None
    notices: Sequence[str]
    reason: str | None
    advice: str | None

    def fitted(self, whole: Selection, spans: dict[str, tuple[int, int]]) -> Answer:
        """As much of the answer as the budget holds. Raises UsageError if that is nothing at all."""
        limit = self.plan.max_total_tokens
        if limit is None:
            return self._answer(whole)
        part = fit(whole, limit=limit, written=lambda part: self.written(self._answer(part)), spans=spans)
        answer = self._answer(part)
        return self._answer(part, tokens=cost(self.written(answer)))

    def written(self, answer: Answer) -> str:
        """The answer in its form."""
        smart, plan = self.smart, self.plan
        if plan.form == "json":
            return answer.to_json()
        if plan.form == "markdown":
            from pipeline.markdown import search_markdown

            return search_markdown(answer, smart.short, zone=smart.zone)
        from pipeline.formatter import search_view, write

        stream = io.StringIO()
        view = search_view(
            self.question.asked, answer, smart.short, layer=None, budget=plan.max_total_tokens, zone=smart.zone
        )
        write(view, stream, color=False)
        return stream.getvalue()

    def _answer(self, part: Selection, tokens: int | None = None) -> Answer:
        cut = part.cut(self.plan.max_total_tokens, self.smart.short)
        opened = {detail.id for detail in part.details} | {item.id for item in part.timeline if item.is_target}
        reason = self.decision.reason if self.decision else None
        meta = SearchMeta(
            total_matches=len(part.index) + part.hits_cut,
            expanded_count=len(opened),
            # Until it is known, the budget stands for it: no real figure is longer.
            estimated_tokens=tokens if tokens is not None else (self.plan.max_total_tokens or 0),
            expansion_reason=None if reason is None else str(reason),
        )
        result = SearchResult(
            index=list(part.index), timeline=list(part.timeline) or None, details=list(part.details) or None, meta=meta
        )
        notices = [*self.notices, *([cut] if cut else [])]
        advice = self._advice(part, opened) if part.index else self.advice
        return Answer(result=result, notices=notices, reason=self.reason, advice=advice)

    def _advice(self, part: Selection, opened: set[str]) -> str | None:
        closed = [item.id for item in part.index if item.id not in {detail.id for detail in part.details}]
        if not closed:
            return None
        several = self.decision is not None and self.decision.reason is Reason.SEVERAL
        lead = "several match; choose one: " if several else ""
        return f"{lead}gieok show {self.smart.short(closed[0])}"
