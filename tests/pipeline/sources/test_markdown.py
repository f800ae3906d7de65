"""Notes and diaries: what front matter, names and headings make of a memory."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from indexes.types import MemoryType
from pipeline.sources.base import Draft, Reading, SourceText
from pipeline.sources.markdown import MarkdownReader

MODIFIED = datetime(2026, 2, 1, tzinfo=UTC)
LONG = "alpha beta gamma delta " * 80


def read(text: str, label: str = "notes/a.md") -> Reading:
    return MarkdownReader().read(SourceText(text, label, MODIFIED))


def only(text: str, label: str = "notes/a.md") -> Draft:
    (draft,) = read(text, label).drafts
    return draft


def test_a_diary() -> None:
    draft = only(
        "---\n"
        'date: "2026-01-30"\n'
        "session: 1\n"
        "team_id: 팀-플랫폼\n"
        "task_id: task-1480.1\n"
        "tags: [duckdb, '#스키마', duckdb]\n"
        "auto_generated: false\n"
        "mood: {day: good}\n"
        "---\n\n## 설계 결정\n\n이벤트 소싱을 쓴다.\n",
        "diary/2026-01-30-session-01.md",
    )
    assert draft.content == "## 설계 결정\n\n이벤트 소싱을 쓴다."
    assert draft.title == "2026-01-30-session-01 > 설계 결정"
    assert draft.session_id == "2026-01-30-session-01"
    assert (draft.team_id, draft.task_id, draft.tags) == ("팀-플랫폼", "task-1480.1", ("duckdb", "스키마"))
    assert draft.metadata == {
        "path": "diary/2026-01-30-session-01.md",
        "session": 1,
        "auto_generated": False,
        "mood": {"day": "good"},
    }
    assert draft.timestamp == datetime(2026, 1, 30).astimezone()
    assert (draft.type, draft.project, draft.namespace) == ("insight", None, None)


@pytest.mark.parametrize(
    ("front", "label", "expected"),
    [
        ('date: "2026-01-21T18:18:16.066345+11:00"', "a.md", datetime(2026, 1, 21, 7, 18, 16, 66_345, UTC)),
        ("date: 2026-01-21 18:18", "2025-05-05.md", datetime(2026, 1, 21, 18, 18).astimezone()),
        ("title: x", "2025-05-05-notes.md", datetime(2025, 5, 5).astimezone()),
        ("title: x", "a.md", MODIFIED),
        ("date: someday", "a.md", MODIFIED),
    ],
)
def test_the_time_comes_from_front_matter_name_or_file(front: str, label: str, expected: datetime) -> None:
    assert only(f"---\n{front}\n---\ntext", label).timestamp == expected


@pytest.mark.parametrize(
    ("front", "label", "session"),
    [
        ("session_id: abc", "diary/2026-01-30-session-01.md", "abc"),
        ("session: auth-refactor", "a.md", "auth-refactor"),
        ("session: '02'", "notes/a.md", "notes/a.md"),
        ("x: y", "diary/2026-01-30-session-01.md", "2026-01-30-session-01"),
        ("x: y", "notes/a.md", "notes/a.md"),
    ],
)
def test_the_session(front: str, label: str, session: str) -> None:
    assert only(f"---\n{front}\n---\ntext", label).session_id == session


@pytest.mark.parametrize(
    ("written", "kind", "kept"),
    [("prompt", "prompt", None), ("Response", "response", None), ("observation", "insight", "observation")],
)
def test_the_type(written: str, kind: MemoryType, kept: str | None) -> None:
    draft = only(f"---\ntype: {written}\n---\ntext")
    assert (draft.type, draft.metadata.get("type")) == (kind, kept)


def test_fields_of_another_spelling_and_shape() -> None:
    reading = read("---\nTeam-ID: 7\nTags: a, b\ntitle: [x]\ndate: [y]\n---\ntext")
    (draft,) = reading.drafts
    assert (draft.team_id, draft.tags, draft.title) == ("7", ("a", "b"), "")
    assert draft.metadata == {"path": "notes/a.md", "title": ["x"], "date": ["y"]}
    assert len(reading.notices) == 2


def test_titles_lead_with_what_names_the_whole() -> None:
    body = f"{LONG}\n## B\n{LONG}\n"
    assert [draft.title for draft in read(f"---\ntitle: 회의\n---\n{body}").drafts] == ["회의", "회의 > B"]
    assert [draft.title for draft in read(body).drafts] == ["a", "a > B"]
    assert [draft.title for draft in read(f"# A\n{body}").drafts] == ["A", "A > B"]
    assert [draft.title for draft in read("no heading at all").drafts] == [""]


def test_parents_are_places_of_the_reading() -> None:
    drafts = read(f"# A\n{LONG * 2}\n## B\n{LONG * 2}").drafts
    assert [(draft.place, draft.parent) for draft in drafts] == [("A#1~1", None), ("A > B#1~1", "A#1~1")]


def test_broken_front_matter_does_not_cost_the_body() -> None:
    reading = read("---\ntitle: a: b\nsession_id: s\n---\nbody")
    assert [(draft.content, draft.title, draft.session_id) for draft in reading.drafts] == [("body", "a: b", "s")]
    assert "not valid YAML (line 2" in reading.notices[0]


def test_private_parts_are_gone_before_anything_else_is_read() -> None:
    reading = read(
        "---\ntitle: <private>secret</private>plan\n---\n# A <private>secret</private>\ntext\n<private>\nsecret"
    )
    assert "secret" not in str(reading)
    assert reading.drafts[0].content == "# A \ntext"
    assert reading.notices == ("3 <private> parts left out",)


def test_zone_of_an_aware_date_is_kept_as_a_moment() -> None:
    seoul = timezone(timedelta(hours=9))
    assert only("---\ndate: 2026-01-30T09:00:00+09:00\n---\nx").timestamp == datetime(2026, 1, 30, 9, tzinfo=seoul)
