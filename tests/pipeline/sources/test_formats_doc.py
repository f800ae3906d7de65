"""The examples in docs/formats.md are read as the page says."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path

from pipeline.sources.base import Draft, SourceText
from pipeline.sources.registry import reader_for

PAGE = Path(__file__).parents[3] / "docs" / "formats.md"
SUFFIXES = {"markdown": "md", "json": "jsonl"}


def read(kind: str, example: str) -> tuple[str, list[Draft]]:
    label = f"a.{SUFFIXES[kind]}"
    reader = reader_for(label, example)
    return reader.name, list(reader.read(SourceText(example, label, datetime(2026, 2, 1, tzinfo=UTC))).drafts)


def test_examples() -> None:
    examples = re.findall(r"^```(\w+)\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    note, mirror, transcript, rows = (read(kind, example) for kind, example in examples)
    assert (note[0], note[1][0].title, note[1][0].tags) == ("markdown", "DuckDB 스키마", ("duckdb", "schema"))
    assert (mirror[0], [draft.type for draft in mirror[1]]) == ("claude-memory-layer-mirror", ["response"])
    assert (transcript[0], [draft.type for draft in transcript[1]]) == ("transcript", ["prompt", "tool"])
    assert (rows[0], [draft.title for draft in rows[1]]) == ("jsonl", ["", "저장 방식"])
