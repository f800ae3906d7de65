"""Plain text."""

from __future__ import annotations

from datetime import UTC, datetime

from pipeline.sources.base import SourceText
from pipeline.sources.plain import PlainReader

MODIFIED = datetime(2026, 2, 1, tzinfo=UTC)
PARAGRAPH = ("alpha beta gamma delta " * 100).strip()  # more than half of a part


def read(text: str, label: str = "notes/a.txt") -> list[tuple[str, str, str]]:
    return [(d.place, d.title, d.content) for d in PlainReader().read(SourceText(text, label, MODIFIED)).drafts]


def test_a_short_file_is_one_memory() -> None:
    reading = PlainReader().read(SourceText("# not a heading\n\ntext\n", "notes/a.txt", MODIFIED))
    (draft,) = reading.drafts
    assert (draft.content, draft.title, draft.type) == ("# not a heading\n\ntext", "a.txt", "insight")
    assert (draft.session_id, draft.timestamp, reading.notices) == ("notes/a.txt", MODIFIED, [])


def test_parts_are_cut_at_blank_lines_and_keep_their_places() -> None:
    before = read("\n\n".join(f"{number} {PARAGRAPH}" for number in range(3)))
    after = read("\n\n".join(f"{number} {PARAGRAPH}" for number in range(5)))
    assert [title for _, title, _ in before] == ["a.txt", "a.txt (2)", "a.txt (3)"]
    assert after[:3] == before
    assert len({place for place, _, _ in after}) == 5


def test_equal_parts_have_different_places() -> None:
    places = [place for place, _, _ in read(f"{PARAGRAPH}\n\n{PARAGRAPH}\n\n{PARAGRAPH}")]
    assert len(set(places)) == len(places) == 3


def test_an_empty_file_has_no_memory() -> None:
    assert read(" \n\n") == []
