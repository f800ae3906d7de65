from __future__ import annotations

import io
import re
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from pipeline.formatter import (
    NOTICES_SHOWN,
    Line,
    details_view,
    report_view,
    search_view,
    status_view,
    timeline_view,
    write,
)
from pipeline.results import (
    Answer,
    DetailMetadata,
    Failure,
    FullDetail,
    IndexReport,
    LegStatus,
    Relations,
    SearchIndexItem,
    SearchMeta,
    SearchResult,
    Status,
    TimelineItem,
)

SEOUL = timezone(timedelta(hours=9))
AT = datetime(2026, 1, 30, 5, 5, tzinfo=UTC)  # 14:05 in Seoul
HOSTILE = "\x1b[35m빨강\x1b]8;;http://evil\x07 [bold]x[/bold] [글](http://evil) :smile: \x9b2J\r끝"
ESCAPE = re.compile(r"\x1b\[[0-9;]*m")


def short(memory_id: str) -> str:
    return memory_id[:7]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def text_of(lines: Iterable[Line], **how: Any) -> str:
    stream = io.StringIO()
    write(lines, stream, **how)
    return stream.getvalue()


def item(name: str = "mem_abcdef", summary: str = "DuckDB 스키마 설계 논의", **more: Any) -> SearchIndexItem:
    return SearchIndexItem(id=name, summary=summary, score=0.94, type="response", timestamp=AT, session_id="s1", **more)


def answer(*index: SearchIndexItem, details: list[FullDetail] | None = None, **more: Any) -> Answer:
    meta = SearchMeta(total_matches=len(index), expanded_count=0, estimated_tokens=1240)
    return Answer(result=SearchResult(index=list(index), details=details, meta=meta), **{"notices": [], **more})


def detail(content: str = "첫 줄\n\n    코드 줄", **more: Any) -> FullDetail:
    return FullDetail(
        id="mem_abcdef",
        content=content,
        type="response",
        timestamp=AT,
        session_id="s1",
        metadata=DetailMetadata(token_count=1100, has_code=True, **more),
        relations=Relations(parent_id="mem_parent", child_ids=["mem_child1", "mem_child2"], related_ids=[]),
    )


def near(minutes: int, *, is_target: bool = False, preview: str = "질문: 스키마를 어떻게") -> TimelineItem:
    moment = AT + timedelta(minutes=minutes)
    return TimelineItem(id="mem_abcdef", timestamp=moment, type="prompt", preview=preview, is_target=is_target)


def status(**more: Any) -> Status:
    leg = LegStatus(memories=3, pending=0, bytes=1500)
    given = {"words": leg, "vectors": leg, "memories": 3, **more}
    return Status(
        home="/홈",
        version="0.1.0",
        sources=2,
        sessions=2,
        by_type={"prompt": 1, "response": 2, "tool": 0},
        bytes=999,
        model="m",
        analyzer="1",
        order="evidence",
        **given,
    )


def test_a_search_is_a_header_a_line_a_hit_and_a_hint() -> None:
    lines = search_view(
        "스키마 설계", answer(item(), item("mem_defghi"), advice="gieok show mem_abc"), short, layer=1, zone=SEOUL
    )
    assert text_of(lines) == (
        '2 matches for "스키마 설계"  (layer 1, about 1,240 tokens)\n'
        "#1 [mem_abc] DuckDB 스키마 설계 논의 (0.94)  response · 2026-01-30 14:05\n"
        "#2 [mem_def] DuckDB 스키마 설계 논의 (0.94)  response · 2026-01-30 14:05\n"
        "Hint: gieok show mem_abc\n"
    )


def test_snippets_are_indented_below_their_hit() -> None:
    shown = text_of(search_view("q", answer(item(snippet="…여기서 스키마를…")), short, layer=2, zone=SEOUL))
    assert shown.splitlines()[0].startswith('1 match for "q"')
    assert shown.splitlines()[2] == "   …여기서 스키마를…"


def test_nothing_found_says_why_and_what_next() -> None:
    empty = answer(reason="The store is empty.", advice="gieok index PATH", notices=["Vectors are off."])
    assert text_of(search_view("q", empty, short, layer=1)) == (
        "Note: Vectors are off.\nThe store is empty.\nHint: gieok index PATH\n"
    )


def test_layer_3_shows_details_instead_of_a_hint() -> None:
    shown = text_of(search_view("q", answer(item(), details=[detail()], advice="no"), short, layer=3, zone=SEOUL))
    assert "\n\n[mem_abc]  response, about 1,100 tokens, code\n" in shown
    assert "Hint" not in shown


def test_a_timeline_marks_targets_and_names_each_day_once() -> None:
    items = [near(-5), near(0, is_target=True, preview="DuckDB 이벤트 소싱"), near(600)]
    assert text_of(timeline_view(items, short, reason="clear_winner", zone=SEOUL)) == (
        "Timeline around mem_abc (expanded: clear_winner)\n"
        "2026-01-30\n"
        "14:00    [mem_abc] 질문: 스키마를 어떻게  prompt\n"
        "14:05  ▶ [mem_abc] DuckDB 이벤트 소싱  prompt\n"
        "2026-01-31\n"
        "00:05    [mem_abc] 질문: 스키마를 어떻게  prompt\n"
    )


def test_a_detail_has_its_rows_and_its_content_line_by_line() -> None:
    assert text_of(details_view([detail(files=["a.py", "b.py"], tools=["Edit"])], short, zone=SEOUL)) == (
        "[mem_abc]  response, about 1,100 tokens, code\n"
        "session   s1\n"
        "date      2026-01-30 14:05\n"
        "files     a.py, b.py\n"
        "tools     Edit\n"
        "parent    mem_par\n"
        "children  mem_chi, mem_chi\n"
        "\n"
        "첫 줄\n"
        "\n"
        "    코드 줄\n"
    )


def test_a_report_names_every_failure_and_folds_the_notices() -> None:
    failed = [Failure(path="a.md", reason="is binary"), Failure(path="b.md", reason="is gone")]
    notices = [Failure(path=f"n{number}.md", reason="was cut") for number in range(NOTICES_SHOWN + 2)]
    report = IndexReport(
        indexed=1000,
        updated=1,
        skipped=3,
        removed=0,
        moved=2,
        failed=failed,
        notices=notices,
        memories=5,
        vectors_pending=4,
    )
    shown = text_of(report_view(report)).splitlines()
    assert shown[0] == "Files: 1,000 indexed, 1 updated, 3 skipped (2 moved), 0 removed, 2 failed"
    assert shown[1:3] == ["Failed: a.md: is binary", "Failed: b.md: is gone"]
    assert shown[3 : 3 + NOTICES_SHOWN] == [f"Note: n{number}.md: was cut" for number in range(NOTICES_SHOWN)]
    assert shown[3 + NOTICES_SHOWN :] == [
        "… and 2 more notes",
        "Memories: 5",
        "4 without vectors so far; words find them already.",
        "Hint: gieok index (finishes the vectors)",
    ]


def test_a_status_shows_lags_and_problems() -> None:
    bad = LegStatus(memories=1, pending=2, bytes=2_500_000, problem="model missing")
    shown = text_of(status_view(status(vectors=bad))).splitlines()
    assert "memories  3 (1 prompt, 2 response)" in shown
    assert "words     3 memories, 1.5 kB" in shown
    assert "vectors   1 memory, 2 pending, 2.5 MB  model missing" in shown
    assert text_of(status_view(status(memories=0))).endswith("Hint: gieok index PATH\n")


def test_a_terminal_gets_colours_and_a_pipe_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    lines = list(search_view("q", answer(item()), short, layer=1))

    def on_terminal(**how: Any) -> str:
        stream = Terminal()
        write(lines, stream, width=200, **how)
        return stream.getvalue()

    assert ESCAPE.search(on_terminal())
    assert "\x1b" not in on_terminal(color=False)
    assert ESCAPE.sub("", on_terminal()) == on_terminal(color=False) == text_of(lines)
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b" not in on_terminal()


def test_wrapping_counts_columns_and_hangs_below_the_text() -> None:
    wide = item(summary="스키마의 설계를 논의하고 이벤트 소싱을 쓰기로 했다")
    shown = text_of(list(search_view("q", answer(wide), short, layer=1))[1:], width=30).splitlines()
    assert len(shown) > 2
    assert max(map(cell_len, shown)) <= 30
    assert shown[0].startswith("#1 [mem_abc] 스키마의")
    assert all(line.startswith("   ") for line in shown[1:])


def hostile_views() -> list[Iterable[Line]]:
    failure = Failure(path=HOSTILE, reason=HOSTILE)
    report = IndexReport(
        indexed=1,
        updated=0,
        skipped=0,
        removed=0,
        moved=0,
        failed=[failure],
        notices=[failure],
        memories=1,
        vectors_pending=0,
    )
    return [
        search_view(
            HOSTILE, answer(item(summary=HOSTILE, snippet=HOSTILE), notices=[HOSTILE], advice=HOSTILE), short, layer=2
        ),
        search_view(HOSTILE, answer(reason=HOSTILE), short, layer=1),
        timeline_view([near(0, preview=HOSTILE)], short),
        details_view([detail(HOSTILE, files=[HOSTILE], tools=[HOSTILE])], short),
        report_view(report),
        status_view(status(vectors=LegStatus(memories=0, pending=0, bytes=0, problem=HOSTILE))),
    ]


@pytest.mark.parametrize("number", range(6))
def test_memories_cannot_speak_to_the_terminal(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    plain = text_of(hostile_views()[number])
    stream = Terminal()
    write(hostile_views()[number], stream, color=True, width=10_000)
    for shown in (plain, ESCAPE.sub("", stream.getvalue())):
        assert "[bold]x[/bold] [글](http://evil) :smile:" in shown  # markup is text
        assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]", shown)
    assert not re.search(r"\x1b\[(?:35m|[^0-9])|\x1b\]", stream.getvalue())


@given(st.text(), st.integers(1, 60))
def test_no_text_breaks_the_width_or_the_form(text: str, width: int) -> None:
    shown = text_of(details_view([detail(text)], short), width=width)
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]", shown)
    if width >= 20:  # beside a lead of ten columns there is room for words
        assert max(map(cell_len, shown.splitlines())) <= width


def test_moments_at_the_end_of_the_calendar_are_shown() -> None:
    first = TimelineItem(
        id="mem_a", timestamp=datetime(1, 1, 1, tzinfo=UTC), type="prompt", preview="x", is_target=True
    )
    west = timezone(timedelta(hours=-9))
    assert "00:00  ▶ [mem_a] x" in text_of(timeline_view([first], short, zone=west))
