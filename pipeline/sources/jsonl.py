"""gieok's own format: a memory a line, as JSON. See `docs/formats.md`."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import datetime
from pathlib import PurePosixPath

from indexes.errors import SourceError
from indexes.types import JSON
from pipeline.sources.about import parse_tags, parse_type
from pipeline.sources.base import Draft, Reading, SourceText
from pipeline.sources.cleaning import Cleaner
from pipeline.sources.dates import parse_moment
from pipeline.sources.lines import JsonLines, Object, name_lines

SUFFIXES = (".jsonl", ".ndjson", ".json")

_ALIASES = {"text": "content", "session_id": "session"}
_FIELDS = frozenset(
    {"id", "content", "type", "timestamp", "session", "title", "project", "team_id", "task_id"}
    | {"tags", "files", "tools", "parent", "metadata"}
)


class RowsReader:
    """A memory for each row that has a `content`; what else a row says is checked field by field."""

    name = "jsonl"
    version = 2

    def accepts(self, label: str, head: str) -> bool:
        """Whether the name is one of JSON Lines or JSON."""
        return label.lower().endswith(SUFFIXES)

    def read(self, source: SourceText) -> Reading:
        """A draft for each row; SourceError for a `.json` file that is no array."""
        if source.label.lower().endswith(".json"):
            return _Rows(source).read(_array(source.text))
        lines = JsonLines(source.text)
        reading = _Rows(source).read(lines)
        return Reading(reading.drafts, (*lines.notices(), *reading.notices))


def _array(text: str) -> Iterator[tuple[int, Object]]:
    try:
        rows = json.loads(text, parse_constant=str)
    except (ValueError, RecursionError) as error:
        raise SourceError(f"is not valid JSON ({error}); mend it, or write one memory a line as .jsonl") from None
    if not isinstance(rows, list):
        raise SourceError("is JSON but no array of memories; docs/formats.md shows what is read")
    return ((number, row if isinstance(row, dict) else {}) for number, row in enumerate(rows, start=1))


def _name(path: JSON | None) -> str:
    """The name of a file without its suffix, which leads where there is no title, as it does for notes."""
    return PurePosixPath(path).stem if isinstance(path, str) else ""


class _Rows:
    def __init__(self, source: SourceText) -> None:
        self._source = source
        self._cleaner = Cleaner(by_hand=True)
        self._problems: dict[str, list[int]] = {}
        self._same: Counter[str] = Counter()

    def read(self, rows: Iterable[tuple[int, Object]]) -> Reading:
        drafts: dict[str, Draft] = {}
        numbers: dict[str, int] = {}
        for number, row in rows:
            draft = self._draft(number, row)
            if draft is None:
                continue
            if drafts.pop(draft.place, None) is not None:
                self._complain(numbers[draft.place], "replaced: a later row has the same id")
            drafts[draft.place] = draft
            numbers[draft.place] = number
        for place, draft in drafts.items():
            if draft.parent is not None and draft.parent not in drafts:
                self._complain(numbers[place], "kept without its parent: no row has that id")
                drafts[place] = replace(draft, parent=None)
        notices = [f"{name_lines(lines)} {problem}" for problem, lines in self._problems.items()]
        return Reading(list(drafts.values()), (*notices, *self._cleaner.notices()))

    def _draft(self, number: int, raw: Object) -> Draft | None:
        row = {_ALIASES.get(name, name): self._cleaner.json(value) for name, value in raw.items()}
        content = row.get("content")
        if not isinstance(content, str):
            self._complain(number, 'skipped: no "content" that is text')
            return None
        if not content.strip():
            return None
        kind = self._text(number, row, "type")
        key = self._text(number, row, "id")
        parent = self._text(number, row, "parent")
        metadata: dict[str, JSON] = {self._cleaner.text(n): v for n, v in row.items() if n not in _FIELDS}
        if kind is not None and parse_type(kind) is None:
            metadata["type"] = kind
        metadata.update(self._metadata(number, row))
        if key is not None:
            metadata["key"] = key
        return Draft(
            place=self._anonymous(content) if key is None else f"id:{key}",
            content=content,
            type=parse_type(kind) or "insight",
            timestamp=self._moment(number, row),
            session_id=self._text(number, row, "session") or self._source.label,
            parent=None if parent is None else f"id:{parent}",
            title=self._text(number, row, "title") or _name(metadata.get("path")),
            project=self._text(number, row, "project"),
            team_id=self._text(number, row, "team_id"),
            task_id=self._text(number, row, "task_id"),
            tags=parse_tags(row.get("tags")) if self._is_listing(number, row, "tags") else (),
            files=self._names(number, row, "files"),
            tools=self._names(number, row, "tools"),
            metadata=metadata,
        )

    def _complain(self, number: int, problem: str) -> None:
        self._problems.setdefault(problem, []).append(number)

    def _anonymous(self, content: str) -> str:
        """The place of a row without an id: what it says, and how many rows have said the same before."""
        key = hashlib.sha256(content.encode()).hexdigest()[:16]
        self._same[key] += 1
        return f"{key}#{self._same[key]}"

    def _text(self, number: int, row: Object, name: str) -> str | None:
        value = row.get(name)
        if isinstance(value, str | int) and not isinstance(value, bool):
            return " ".join(str(value).split()) or None
        if value is not None:
            self._complain(number, f'kept without "{name}": it is not text')
        return None

    def _moment(self, number: int, row: Object) -> datetime:
        value = row.get("timestamp")
        moment = parse_moment(value)
        if moment is None and value is not None:
            self._complain(number, 'dated by the file: "timestamp" is not understood')
        return moment or self._source.modified

    def _is_listing(self, number: int, row: Object, name: str) -> bool:
        value = row.get(name)
        if value is None or isinstance(value, str):
            return value is not None
        if isinstance(value, list) and all(isinstance(item, str) for item in value):
            return True
        self._complain(number, f'kept without "{name}": it is no list of texts')
        return False

    def _names(self, number: int, row: Object, name: str) -> tuple[str, ...]:
        if not self._is_listing(number, row, name):
            return ()
        value = row[name]
        items = value if isinstance(value, list) else [value]
        return tuple(dict.fromkeys(item for item in items if isinstance(item, str) and item))

    def _metadata(self, number: int, row: Object) -> Object:
        value = row.get("metadata")
        if value is None or isinstance(value, dict):
            return value or {}
        self._complain(number, 'kept without "metadata": it is no object')
        return {}
