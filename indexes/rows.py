"""How a memory stands in a row of the store, and a filter in SQL."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from indexes.errors import StoreCorruptError, UsageError
from indexes.types import Filter, Memory

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

SEARCHED = (
    "content",
    "title",
    "type",
    "timestamp_ms",
    "session_id",
    "project",
    "team_id",
    "task_id",
    "tags",
    "files",
    "metadata",
)
"""Columns that the derived indexes read: a change in one of them is a change for the indexes."""
KEPT = ("position", "parent_id", "tools")
"""Columns that only the store reads."""
COLUMNS = ("id", *SEARCHED, *KEPT)
SELECTED = "rid, " + ", ".join(COLUMNS)

_FACETS = {
    "type": "type",
    "session": "session_id",
    "project": "project",
    "team": "team_id",
    "task": "task_id",
}


def to_ms(moment: datetime) -> int:
    """Milliseconds since the epoch of an aware time; exact where floats are not."""
    return (moment.astimezone(UTC) - _EPOCH) // timedelta(milliseconds=1)


def from_ms(milliseconds: int) -> datetime:
    """The aware UTC time of `to_ms`."""
    return _EPOCH + timedelta(milliseconds=milliseconds)


def to_row(memory: Memory) -> tuple[Any, ...]:
    """The values of COLUMNS."""
    return (
        memory.id, memory.content, memory.title, memory.type, to_ms(memory.timestamp), memory.session_id,
        memory.project, memory.team_id, memory.task_id, _json(memory.tags), _json(memory.files),
        _json(dict(memory.metadata)), memory.position, memory.parent_id, _json(memory.tools),
    )  # fmt: skip


def from_row(row: Sequence[Any]) -> Memory:
    """The memory of a row of SELECTED. Raises StoreCorruptError for values that no memory has."""
    try:
        return _from_row(row)
    except (ValueError, TypeError, OverflowError) as error:
        raise StoreCorruptError(
            f"A memory of the store is damaged (row {row[0]}: {error}). Index its file again, or restore a backup."
        ) from error


def _from_row(row: Sequence[Any]) -> Memory:
    (
        rid,
        id_,
        content,
        title,
        type_,
        ms,
        session,
        project,
        team,
        task,
        tags,
        files,
        meta,
        position,
        parent,
        tools,
    ) = row
    return Memory(
        rid=rid, id=id_, content=content, title=title, type=type_, timestamp=from_ms(ms), session_id=session,
        project=project, team_id=team, task_id=task, tags=tuple(json.loads(tags)), position=position,
        parent_id=parent, files=tuple(json.loads(files)), tools=tuple(json.loads(tools)), metadata=json.loads(meta),
    )  # fmt: skip


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def facets(memory: Memory) -> tuple[str, ...]:
    """The facets that filters can name (see `types.Filter`)."""
    named = (
        ("type", memory.type), ("session", memory.session_id), ("project", memory.project),
        ("team", memory.team_id), ("task", memory.task_id),
    )  # fmt: skip
    return (*(f"{name}={value}" for name, value in named if value), *(f"tag={tag}" for tag in memory.tags))


def where_sql(where: Filter) -> tuple[str, list[Any]]:
    """The filter as a condition on `memories m`, and its values."""
    clauses: list[str] = ["1"]
    values: list[Any] = []
    for group in where.groups:
        parts = ["0"]
        for facet in sorted(group):
            name, _, value = facet.partition("=")
            if name == "tag":
                parts.append("EXISTS (SELECT 1 FROM tags t WHERE t.tag = ? AND t.rid = m.rid)")
            elif name in _FACETS:
                parts.append(f"m.{_FACETS[name]} = ?")
            else:
                raise UsageError(f"Unknown facet {facet!r} in a filter. Known: {', '.join(_FACETS)}, tag")
            values.append(value)
        clauses.append("(" + " OR ".join(parts) + ")")
    if where.since_ms is not None:
        clauses.append("m.timestamp_ms >= ?")
        values.append(where.since_ms)
    if where.until_ms is not None:
        clauses.append("m.timestamp_ms < ?")
        values.append(where.until_ms)
    return " AND ".join(clauses), values
