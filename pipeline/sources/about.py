"""What front matter says about all memories of a note, and what the file's name says where it is silent."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime
from pathlib import PurePosixPath

from indexes.types import JSON, MEMORY_TYPES, MemoryType
from pipeline.sources.dates import date_in_name, parse_moment

_DIARY = re.compile(r"\d{4}-\d{2}-\d{2}-session-\d+")
_FIELDS = frozenset({"date", "session_id", "team_id", "task_id", "tags", "title", "type", "project"})


class About:
    """The fields of front matter, checked. What is unknown or does not fit stays in `metadata` as it was.

    Names of fields count in any case and with `-` for `_`.
    """

    def __init__(self, data: Mapping[str, JSON], label: str, modified: datetime) -> None:
        self._data = {_field(name): value for name, value in data.items()}
        self.notices: list[str] = []
        self.metadata: dict[str, JSON] = {n: v for n, v in self._data.items() if n not in _FIELDS and v is not None}
        self.title = self._text("title") or ""
        self.project = self._text("project")
        self.team_id = self._text("team_id")
        self.task_id = self._text("task_id")
        self.tags = parse_tags(self._data.get("tags"))
        self.type: MemoryType = self._type()
        self.session_id = self._session(PurePosixPath(label).stem) or label
        self.timestamp = self._date() or date_in_name(label) or modified

    def _text(self, name: str) -> str | None:
        value = self._data.get(name)
        if isinstance(value, str | int | float) and not isinstance(value, bool):
            return " ".join(str(value).split()) or None
        if value is not None:
            self.metadata[name] = value
            self.notices.append(f"{name!r} in its front matter is not text and was only kept as metadata")
        return None

    def _type(self) -> MemoryType:
        value = self._data.get("type")
        kind = parse_type(value)
        if kind is None and value is not None:
            self.metadata["type"] = value
        return kind or "insight"

    def _session(self, stem: str) -> str | None:
        session = self._text("session_id")
        named = self._data.get("session")
        if session is None and isinstance(named, str) and not named.strip().isdigit():
            session = named.strip() or None  # `session: 2` counts a diary's sessions of one day
        return session or (stem if _DIARY.fullmatch(stem) else None)

    def _date(self) -> datetime | None:
        value = self._data.get("date")
        moment = parse_moment(value)
        if moment is None and value is not None:
            self.metadata["date"] = value
            self.notices.append(f"the date {value!r} in its front matter is not understood; write YYYY-MM-DD")
        return moment


def parse_type(value: JSON) -> MemoryType | None:
    """The memory type that `value` names, if it is one of ours."""
    return next((kind for kind in MEMORY_TYPES if isinstance(value, str) and value.strip().lower() == kind), None)


def parse_tags(value: JSON) -> tuple[str, ...]:
    """Tags from a list or a comma-separated string, without `#`, each once."""
    items = value if isinstance(value, list) else value.split(",") if isinstance(value, str) else []
    tags = (str(item).strip().lstrip("#") for item in items if isinstance(item, str | int | float))
    return tuple(dict.fromkeys(tag for tag in tags if tag))


def _field(name: str) -> str:
    folded = name.strip().lower().replace("-", "_")
    return folded if folded in _FIELDS | {"session"} else name
