"""The tools: what each is called with, and what it asks the store."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pipeline.mcp import arguments, guide, replies
from pipeline.mcp.arguments import RESULT_TOKENS, Arguments
from pipeline.mcp.replies import Reply
from pipeline.options import SmartSearchOptions

if TYPE_CHECKING:
    from pipeline.gieok import Gieok
    from pipeline.notes import Origin


@dataclass(frozen=True, slots=True)
class Tool:
    """One tool. `gives` names what its structured results always hold."""

    name: str
    takes: type[Arguments]
    call: Callable[[Callable[[], Gieok], Any, Origin | None], Reply]
    gives: Mapping[str, str]
    reads_only: bool = True

    @property
    def description(self) -> str:
        """What agents read of it."""
        return guide.TOOLS[self.name]

    def listed(self) -> dict[str, Any]:
        """As a tool list has it."""
        hints: dict[str, bool] = {"readOnlyHint": self.reads_only, "openWorldHint": False}
        if not self.reads_only:
            hints["destructiveHint"] = False
        properties = {name: {"type": kind} for name, kind in self.gives.items()}
        return {
            "name": self.name,
            "description": self.description,
            "inputSchema": arguments.schema(self.takes),
            "outputSchema": {"type": "object", "properties": properties, "required": list(properties)},
            "annotations": hints,
        }

    def run(self, opened: Callable[[], Gieok], given: Mapping[str, Any] | None, origin: Origin | None) -> Reply:
        """Check the arguments and answer. `opened` gives the store. Raises GieokError."""
        return self.call(opened, arguments.read(self.takes, self.name, given), origin)


def _important(opened: Callable[[], Gieok], given: arguments.Nothing, origin: Origin | None) -> Reply:
    return replies.guide_reply(guide.GUIDE)


def _search(opened: Callable[[], Gieok], given: arguments.Search, origin: Origin | None) -> Reply:
    memory = opened()
    answer = memory.find(given.query, top_k=given.top_k, filter=given.filter(), min_score=given.min_score)
    zone = memory.settings.time.tzinfo()
    return replies.bounded_search_reply(answer, memory.short_id, limit=RESULT_TOKENS, zone=zone)


def _timeline(opened: Callable[[], Gieok], given: arguments.Timeline, origin: Origin | None) -> Reply:
    memory = opened()
    items = memory.get_timeline(given.observation_ids, given.window)
    return replies.timeline_reply(items, memory.short_id, limit=RESULT_TOKENS, zone=memory.settings.time.tzinfo())


def _get_observations(opened: Callable[[], Gieok], given: arguments.GetObservations, origin: Origin | None) -> Reply:
    memory = opened()
    details = memory.get_details(given.ids, given.query)
    unique = list({detail.id: detail for detail in details}.values())
    limit = given.max_tokens or RESULT_TOKENS
    return replies.details_reply(unique, memory.short_id, limit=limit, zone=memory.settings.time.tzinfo())


def _smart_search(opened: Callable[[], Gieok], given: arguments.Smart, origin: Origin | None) -> Reply:
    memory = opened()
    options = SmartSearchOptions(
        top_k=given.top_k,
        min_score=given.min_score,
        auto_expand_timeline=given.auto_expand_timeline,
        auto_expand_details=given.auto_expand_details,
        max_auto_expand_count=given.max_auto_expand_count,
        max_total_tokens=given.max_total_tokens,
        filter=given.filter(),
        detect_time=given.detect_time,
    )
    answer = memory.smart_search(given.query, options, form="json")
    return replies.search_reply(answer, memory.short_id, zone=memory.settings.time.tzinfo())


def _remember(opened: Callable[[], Gieok], given: arguments.Remember, origin: Origin | None) -> Reply:
    memory = opened()
    kept = memory.remember(given.text, title=given.title, tags=given.tags or (), project=given.project, origin=origin)
    return replies.remembered_reply(kept, memory.short_id)


TOOLS = (
    Tool("__IMPORTANT", arguments.Nothing, _important, {"guide": "string"}),
    Tool("search", arguments.Search, _search, {"index": "array", "meta": "object"}),
    Tool("timeline", arguments.Timeline, _timeline, {"timeline": "array"}),
    Tool("get_observations", arguments.GetObservations, _get_observations, {"details": "array"}),
    Tool("smart_search", arguments.Smart, _smart_search, {"index": "array", "meta": "object"}),
    Tool("remember", arguments.Remember, _remember, {"path": "string"}, reads_only=False),
)

BY_NAME = {tool.name: tool for tool in TOOLS}
