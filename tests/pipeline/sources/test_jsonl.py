"""Our own format: rows of memories."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest

from indexes.errors import SourceError
from indexes.types import JSON
from pipeline.sources.base import Reading, SourceText
from pipeline.sources.jsonl import RowsReader

MODIFIED = datetime(2026, 2, 1, tzinfo=UTC)


def read(*rows: JSON, label: str = "a.jsonl") -> Reading:
    return RowsReader().read(SourceText("\n".join(json.dumps(row) for row in rows) + "\n", label, MODIFIED))


def test_a_full_row() -> None:
    reading = read(
        {
            "id": "m1",
            "content": "이벤트 소싱을 쓴다",
            "type": "response",
            "timestamp": "2026-01-30T14:05:00Z",
            "session": "s1",
            "title": "결정",
            "project": "p",
            "team_id": "t",
            "task_id": 7,
            "tags": ["a", "b"],
            "files": ["x.py"],
            "tools": "Bash",
            "parent": "m0",
            "metadata": {"k": 1},
            "extra": [1],
        },
        {"id": "m0", "text": "어떻게?", "session_id": "s1", "type": "prompt"},
    )
    first, second = reading.drafts
    assert (first.place, first.parent, first.content) == ("id:m1", "id:m0", "이벤트 소싱을 쓴다")
    assert (first.type, first.session_id, first.title, first.project) == ("response", "s1", "결정", "p")
    assert (first.team_id, first.task_id, first.tags) == ("t", "7", ("a", "b"))
    assert (first.files, first.tools) == (("x.py",), ("Bash",))
    assert first.timestamp == datetime(2026, 1, 30, 14, 5, tzinfo=UTC)
    assert first.metadata == {"extra": [1], "k": 1, "key": "m1"}
    assert (second.place, second.content, second.session_id) == ("id:m0", "어떻게?", "s1")
    assert reading.notices == ()


def test_a_bare_row() -> None:
    (draft,) = read({"content": "x"}, label="sub/a.jsonl").drafts
    assert (draft.type, draft.session_id, draft.timestamp) == ("insight", "sub/a.jsonl", MODIFIED)
    assert (draft.metadata, draft.parent, draft.title) == ({}, None, "")


def test_rows_without_id_keep_their_places_when_others_come() -> None:
    before = [draft.place for draft in read({"content": "a"}, {"content": "b"}, {"content": "a"}).drafts]
    after = [
        draft.place for draft in read({"content": "c"}, {"content": "a"}, {"content": "b"}, {"content": "a"}).drafts
    ]
    assert after[1:] == before
    assert len(set(after)) == 4


def test_wrong_types_are_said_by_line_and_cost_only_the_field() -> None:
    reading = read(
        {"content": 5},
        {"title": "no content"},
        {
            "content": "a",
            "tags": 5,
            "title": [],
            "timestamp": "someday",
            "metadata": "x",
            "parent": "none",
            "files": [1],
        },
        {"content": "b", "type": "observation"},
        {"content": "  "},
    )
    assert [draft.content for draft in reading.drafts] == ["a", "b"]
    assert reading.drafts[1].metadata == {"type": "observation"}
    assert list(reading.notices) == [
        'lines 1, 2 skipped: no "content" that is text',
        'line 3 kept without "metadata": it is no object',
        'line 3 dated by the file: "timestamp" is not understood',
        'line 3 kept without "title": it is not text',
        'line 3 kept without "tags": it is no list of texts',
        'line 3 kept without "files": it is no list of texts',
        "line 3 kept without its parent: no row has that id",
    ]


def test_of_rows_with_one_id_the_last_counts() -> None:
    reading = read({"id": 1, "content": "old"}, {"id": "1", "content": "new"})
    assert [draft.content for draft in reading.drafts] == ["new"]
    assert reading.notices == ("line 1 replaced: a later row has the same id",)


def test_an_array_in_a_json_file() -> None:
    text = json.dumps([{"content": "a"}, 5, {"content": "b"}], indent=2)
    reading = RowsReader().read(SourceText(text, "a.json", MODIFIED))
    assert [draft.content for draft in reading.drafts] == ["a", "b"]
    assert reading.notices == ('line 2 skipped: no "content" that is text',)


@pytest.mark.parametrize(
    ("text", "reason"), [("{}", "no array"), ("[1,", "not valid JSON"), ("[" * 100_000, "not valid")]
)
def test_other_json_is_refused(text: str, reason: str) -> None:
    with pytest.raises(SourceError, match=reason):
        RowsReader().read(SourceText(text, "a.json", MODIFIED))


def test_private_parts_and_broken_characters() -> None:
    line = r'{"content": "a \ud800 \u003cprivate>secret</private> b", "k\u003cprivate>secret": "<private>secret"}'
    reading = RowsReader().read(SourceText(line, "a.jsonl", MODIFIED))
    assert "secret" not in str(reading)
    assert reading.drafts[0].content == "a \ufffd  b"
    assert reading.notices == ("3 <private> parts left out",)
