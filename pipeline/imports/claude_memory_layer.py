"""Stores of claude-memory-layer (SQLite): a table of events, and what is known of their sessions."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

from indexes.errors import SourceError
from indexes.types import JSON, MemoryType
from pipeline.imports.base import Item, Session, Work
from pipeline.imports.database import Database, Row, Value
from pipeline.sources.injected import typed_by_user
from pipeline.sources.toolcalls import RESULT_LIMIT, bound, read_call, read_result

_REQUIRED = ("id", "event_type", "session_id", "timestamp", "content")
_TYPES: dict[str, tuple[MemoryType, str]] = {
    "user_prompt": ("prompt", "prompts"),
    "agent_response": ("response", "responses"),
    "tool_observation": ("tool", "tools"),
    "session_summary": ("insight", "summaries"),
}
_Object: TypeAlias = Mapping[str, JSON]


class ClaudeMemoryLayer:
    """Known by its columns: its SQLite stores carry no number of their schema."""

    name = "claude-memory-layer"
    version = 1
    files = ("events.sqlite", "projects/*/events.sqlite")

    def schema(self, database: Database) -> str:
        """See `Kind`."""
        columns = database.columns("events")
        if not columns:
            raise SourceError("is no store of claude-memory-layer (it has no table events)")
        lacking = [name for name in _REQUIRED if name not in columns]
        if lacking:
            raise SourceError(f"has an unknown schema (its events lack {', '.join(lacking)}); nothing was imported")
        return "claude-memory-layer, events" + (" with turns" if "turn_id" in columns else "")

    def sessions(self, database: Database) -> Sequence[Session]:
        """See `Kind`."""
        return [Session(key) for key in database.keys("events", "session_id", "timestamp")]

    def read(self, database: Database, session: Session, work: Work) -> list[Item]:
        """See `Kind`."""
        about: Row = {}
        if database.first_of("sessions", "id"):
            about = next(database.where("sessions", "id", session.key, order="id"), {})
        tags = work.items(about.get("tags"))
        project = _last(work.line(about.get("project_path")))
        items: list[Item] = []
        turns: dict[str, str] = {}
        for number, row in enumerate(database.where("events", "session_id", session.key, order="timestamp")):
            place = work.place("event", row["id"], number)
            item = self._event(row, place, project, tags, turns, work)
            if item.type == "prompt" and item.metadata.get("turn"):
                turns[str(item.metadata["turn"])] = place
            items.append(item)
        summary = work.text(about.get("summary")).strip()
        if summary and all(summary != item.text.strip() for item in items):
            work.rows["summaries"] += 1
            ended = work.moment(about.get("ended_at")) or max((i.timestamp for i in items if i.timestamp), default=None)
            items.append(
                Item(
                    place="session",
                    text=summary,
                    type="insight",
                    timestamp=ended,
                    project=project,
                    tags=("summary", *tags),
                )
            )
        return items

    def _event(
        self, row: Row, place: str, project: str, tags: tuple[str, ...], turns: Mapping[str, str], work: Work
    ) -> Item:
        name = work.line(row["event_type"])
        kind, counted = _TYPES.get(name, ("insight", "others"))
        if name not in _TYPES:
            work.odd["events of a type that is not known here, taken as insights"] += 1
        work.rows[counted] += 1
        found = work.json(row.get("metadata"))
        metadata: _Object = found if isinstance(found, dict) else {}
        turn = work.line(row.get("turn_id")) or work.line(metadata.get("turnId"))
        item = Item(
            place=place,
            text="",
            type=kind,
            timestamp=work.moment(row["timestamp"]),
            parent=turns.get(turn),
            project=project or _last(work.line(metadata.get("projectPath") or metadata.get("cwd"))),
            tags=tags if name in _TYPES else (*tags, name),
            metadata={"turn": turn} if turn else {},
        )
        return _tool(item, row["content"], work) if kind == "tool" else _said(item, work.text(row["content"]))


def _said(item: Item, text: str) -> Item:
    if item.type == "prompt":
        return replace(item, text=typed_by_user(text))
    return (
        replace(item, text=text, tags=("summary", *item.tags)) if item.type == "insight" else replace(item, text=text)
    )


def _tool(item: Item, content: Value, work: Work) -> Item:
    """A call is kept as JSON of its name, inputs and output; another form is kept as text."""
    call = work.json(content) if isinstance(content, str) and content.lstrip().startswith("{") else None
    if not isinstance(call, dict) or not isinstance(name := call.get("toolName"), str):
        return replace(item, text=bound(work.text(content), RESULT_LIMIT), whole=True)
    inputs = call.get("toolInput")
    read = read_call(name, inputs if isinstance(inputs, dict) else {})
    if read.is_own:
        work.odd["calls of gieok itself left out"] += 1
        return item
    failed = call.get("success") is False
    output = read_result(call.get("toolOutput"), work.cleaner) or work.text(call.get("errorMessage"))
    text = f"{read.text}\n\n{'Error' if failed else 'Result'}:\n{bound(output, RESULT_LIMIT)}" if output else read.text
    metadata = {**item.metadata, **({"error": True} if failed else {})}
    return replace(item, text=text, title=read.title, files=read.files, tools=(name,), metadata=metadata, whole=True)


def _last(path: str) -> str:
    return re.split(r"[/\\]", path.rstrip("/\\"))[-1]
