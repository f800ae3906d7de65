"""Entries read and written."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.diary.entry import HEADINGS, SECTIONS, Entry, is_untouched, parse_entry, render
from pipeline.diary.headings import Language
from pipeline.plaintext import clean
from pipeline.sources.frontmatter import split_front_matter

EXAMPLES = Path(__file__).parents[3] / "examples/memories/diary"
DAY = dt.date(2026, 1, 30)

LINES = st.lists(
    st.sampled_from(
        [
            "- 배포했다",
            "1. one",
            "글",
            "",
            "```",
            "~~~ sql",
            "# 큰 제목",
            "## 실수",
            "### 작은 제목",
            "<!-- x",
            "-->",
            "---",
            "***",
        ]
    )
    | st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=30),
    max_size=25,
).map("\n".join)


def test_the_example_diaries() -> None:
    paths = sorted(EXAMPLES.glob("*.md"))
    assert len(paths) == 18
    for path in paths:
        entry = parse_entry(path.read_text(encoding="utf-8"), path.name)
        assert f"{entry.date}-session-{entry.session:02d}.md" == path.name
        assert entry.title
        assert entry.team_id
        assert all(entry.bodies.get(section) or entry.auto_generated for section in ("work", "decisions"))
    first = parse_entry(paths[0].read_text(encoding="utf-8"), paths[0].name)
    assert first.tags == ("kickoff", "duckdb", "데이터파이프라인")
    assert first.task_id == "task-101.1"
    assert first.sections["patterns"] == ("숫자를 말하기 전에 재현 명령과 머신 사양을 같이 남긴다.",)
    auto = parse_entry((EXAMPLES / "2026-02-20-session-03.md").read_text(encoding="utf-8"))
    assert auto.auto_generated
    assert auto.sections["mistakes"] == ()  # "자동 기록에는 남지 않음." says nothing


def test_front_matter_of_the_specification() -> None:
    entry = Entry(date=DAY, session=2, team_id="1팀", task_id="task-1.1", tags=("배포", "b c", "true", "12"))
    text = render(entry, "ko")
    assert text.startswith(
        '---\ndate: "2026-01-30"\nsession: 2\nteam_id: "1팀"\ntask_id: "task-1.1"\n'
        'tags: [배포, "b c", "true", "12"]\nauto_generated: false\n---\n'
    )
    assert [line[3:] for line in text.split("\n") if line.startswith("## ")] == list(HEADINGS["ko"].values())
    assert text.count("- 없음") == len(SECTIONS)
    assert split_front_matter(text).data["tags"] == ["배포", "b c", "true", "12"]


@pytest.mark.parametrize("language", ["ko", "en"])
@given(bodies=st.dictionaries(st.sampled_from(SECTIONS), LINES))
def test_what_is_written_is_read_again(language: Language, bodies: dict[str, str]) -> None:
    """Whatever stands in a section: sorted once, it comes back the same, in the same section."""
    headings = HEADINGS[language]
    text = "\n\n".join(f"## {headings[section]}\n{clean(body)}" for section, body in bodies.items())  # type: ignore[index]
    once = parse_entry(text)
    entry = Entry(date=DAY, session=1, title=once.title, bodies=once.bodies)
    again = parse_entry(render(entry, language))
    assert again.bodies == entry.bodies
    assert again.sections == entry.sections
    assert (again.date, again.session) == (DAY, 1)


@given(LINES)
def test_no_line_is_lost(text: str) -> None:
    entry = parse_entry(text)
    kept = " ".join([entry.title, *entry.bodies.values()])
    for word in ("배포했다", "글", "작은"):
        assert kept.count(word) == split_front_matter(text).body.count(word)


@given(st.text(max_size=200), st.text(max_size=30))
def test_reading_never_fails(text: str, name: str) -> None:
    parse_entry(text, name)


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=40))
def test_names_survive_as_one_line(name: str) -> None:
    front = split_front_matter(render(Entry(date=DAY, team_id=clean(name), tags=(clean(name) or "x",)), "ko")).data
    assert front["team_id"] == " ".join(clean(name).split())
    assert front["auto_generated"] is False


def test_a_changed_entry_shows() -> None:
    text = render(Entry(date=DAY, session=1, auto_generated=True, bodies={"work": "- 일"}), "ko")
    assert is_untouched(text)
    assert not is_untouched(text.replace("- 일", "- 일, 사람이 고침"))
    assert not is_untouched(text.replace("tags: []", "tags: [mine]"))
    assert not is_untouched(render(Entry(date=DAY), "ko"))
