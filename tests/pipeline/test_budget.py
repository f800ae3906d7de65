"""The budget: what a real tokenizer counts never exceeds it, and the best of an answer comes first."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eval.tokens import count_tokens
from indexes.errors import UsageError
from indexes.tokens import estimate_tokens
from pipeline import Gieok
from pipeline.budget import SAFETY, Selection, cost, excerpt, fit
from pipeline.formatter import search_view, write
from pipeline.markdown import search_markdown
from pipeline.options import Form, SmartSearchOptions
from pipeline.results import Answer, DetailMetadata, FullDetail, Relations, SearchIndexItem, TimelineItem

AT = datetime(2026, 1, 30, 14, 0, tzinfo=UTC)
KOREAN = "배포는 금요일 오후에 하지 않는다. 알림이 두 번 가는 문제를 되돌리느라 주말을 쓴 적이 있다. "
ENGLISH = "We never deploy on Friday afternoons, because the rollback took a whole weekend the last time. "
CODE = (
    "def deploy(self, *, dry_run: bool = False) -> Report:\n    for step in self.plan(retries=5):\n        run(step)\n"
)


def item(name: str) -> SearchIndexItem:
    return SearchIndexItem(id=name, summary="s", score=0.9, type="prompt", timestamp=AT, session_id="s")


def near(name: str, *, target: bool = False) -> TimelineItem:
    return TimelineItem(id=name, timestamp=AT, type="prompt", preview="p", is_target=target)


def detail(name: str, content: str) -> FullDetail:
    return FullDetail(
        id=name,
        content=content,
        type="prompt",
        timestamp=AT,
        session_id="s",
        metadata=DetailMetadata(token_count=1, has_code=False),
        relations=Relations(child_ids=[], related_ids=[]),
    )


def words(part: Selection) -> str:
    """A form in which a hit costs 10 tokens, a line of the timeline 10, a detail its content."""
    ten = "one two three four five six seven eight nine ten "
    return ten * (len(part.index) + len(part.timeline)) + " ".join(each.content for each in part.details)


WHOLE = Selection(
    index=tuple(item(name) for name in "abcd"),
    timeline=(near("x"), near("y"), near("a", target=True), near("z")),
    details=(detail("a", "word " * 200), detail("b", "word " * 20)),
)


def fitted(tokens: float) -> Selection:
    """`tokens` are estimated ones."""
    return fit(WHOLE, limit=round(tokens / SAFETY), written=words, spans={})


def test_everything_stays_if_it_fits() -> None:
    assert fitted(10 * 8 + 300) == WHOLE


def test_lines_come_before_the_timeline_and_that_before_details() -> None:
    with pytest.raises(UsageError, match="about"):
        fitted(5)
    few = fitted(22)
    assert [hit.id for hit in few.index] == ["a", "b"]
    assert (few.timeline, few.details, few.hits_cut, few.near_cut, few.left_out) == ((), (), 2, 4, ("a", "b"))
    targets = fitted(55)
    assert [hit.id for hit in targets.index] == ["a", "b", "c", "d"]
    assert [each.id for each in targets.timeline] == ["a"]
    assert (targets.hits_cut, targets.near_cut) == (0, 3)
    nearest = fitted(75)
    assert [each.id for each in nearest.timeline] == ["y", "a", "z"]


def test_a_detail_is_cut_before_it_is_left_out_and_the_next_may_still_fit() -> None:
    part = fitted(80 + 100)
    assert part.shortened == ("a",)
    assert part.left_out == ("b",)
    assert part.details[0].content.startswith("word word")
    assert "characters after this left out …]" in part.details[0].content
    small = fitted(80 + 30)  # too little room for a part of a, enough for b
    assert [each.id for each in small.details] == ["b"]
    assert (small.shortened, small.left_out) == ((), ("a",))


def paragraphs(count: int) -> str:
    return "\n\n".join(f"## 제목 {number}\n\n번호{number} " + KOREAN * 8 for number in range(count))


def test_an_excerpt_is_the_matching_part_with_marks() -> None:
    content = paragraphs(12)
    at = content.index("번호7 ")
    part = excerpt(content, (at, at + 10), 900)
    assert "번호7 " in part
    assert "번호0 " not in part
    assert part.startswith("[… ")
    assert part.endswith("characters after this left out …]")
    assert estimate_tokens(part) < 900 + 40
    kept = [line for line in part.splitlines() if not line.startswith("[… ")]
    assert all(line in content for line in kept)


def test_an_excerpt_of_one_long_passage_ends_after_a_word() -> None:
    part = excerpt("word " * 300, None, 50)
    body, mark = part.rsplit("\n", 1)
    assert set(body.split(" ")) == {"word"}
    assert mark == f"[… {300 * 5 - 2 - len(body):,} characters after this left out …]"  # less two spaces


@given(st.integers(0, 2000), st.integers(5, 600), st.sampled_from([KOREAN, ENGLISH, CODE]))
@settings(max_examples=50, deadline=None)
def test_an_excerpt_never_exceeds_its_room_but_for_the_marks(at: int, room: int, text: str) -> None:
    content = text * 40
    part = excerpt(content, (at, at + 5), room)
    kept = "\n".join(line for line in part.split("\n") if not line.startswith("[… "))
    assert cost(kept) <= room + 1
    assert kept.strip() in content


@pytest.mark.parametrize(
    "text",
    [
        KOREAN,
        ENGLISH,
        CODE,
        "mem_k3f9abcdefgh ",
        "qxzvwkjhgfdpbtrmnlsq" * 3,
        "QXZVWKJHGFDPBTRMNLSQ",
        "170660400012345 ",
        "9f86d081884c7d659a2feaa0c55ad015 ",
        "쀍뛣훩쮁",
        "│ ├── a.py\n",
        "function(a,b){var c=a.length;for(;c--;)if(a[c]===b)return!0;return!1}",
    ],
)
def test_the_estimate_with_its_safety_is_above_a_real_count(text: str) -> None:
    for times in (1, 10, 100):
        assert count_tokens(text * times) <= max(cost(text * times) / SAFETY, 3)


# --- through the facade -----------------------------------------------------------------------------


Notes = Callable[..., Path]
SETTINGS: dict[str, dict[str, object]] = {"embedder": {"model": "none"}, "layer1": {"min_score": 0.0}}


@pytest.fixture
def memory(open_gieok: Callable[..., Gieok], notes: Notes) -> Gieok:
    """Thirty long memories in Korean, English and code, words only, every hit sure."""
    rows = []
    for number in range(30):
        text = [KOREAN * 40, ENGLISH * 40, f"```python\n{CODE * 30}```"][number % 3]
        rows.append(
            {
                "id": f"t{number}",
                "content": f"배포 deploy 기록 {number}\n\n{text}",
                "session": f"3f1b9c52-7d1e-4a55-9c1c-00000000000{number % 3}",
                "timestamp": f"2026-01-30T14:{number:02}:00Z",
                "files": [f"src/core/deploy_{number}.py"],
            }
        )
    store = open_gieok(**SETTINGS)
    store.index([notes({"t.jsonl": "\n".join(json.dumps(row, ensure_ascii=False) for row in rows)})])
    return store


def printed(answer: Answer, form: Form, memory: Gieok, query: str, budget: int) -> str:
    """What the command line prints."""
    import io

    if form == "json":
        return answer.to_json()
    if form == "markdown":
        return search_markdown(answer, memory.short_id)
    stream = io.StringIO()
    write(search_view(query, answer, memory.short_id, layer=None, budget=budget), stream)
    return stream.getvalue()


@pytest.mark.parametrize("form", ["json", "markdown", "text"])
@pytest.mark.parametrize("budget", [250, 500, 1000, 2000, 8000])
@pytest.mark.parametrize("query", ["배포 자세히 알려줘", "deploy in detail", "배포 deploy 기록 4"])
def test_what_is_printed_never_exceeds_the_budget(memory: Gieok, form: Form, budget: int, query: str) -> None:
    options = SmartSearchOptions(max_total_tokens=budget)
    answer = memory.smart_search(query, options, form=form)
    text = printed(answer, form, memory, query, budget)
    real = count_tokens(text)
    assert real <= budget
    assert answer.result.index
    assert abs(answer.result.meta.estimated_tokens - cost(text)) <= 3  # its own digits
    assert 0.85 * real <= answer.result.meta.estimated_tokens <= 1.25 * real
    cut = [notice for notice in answer.notices if notice.startswith("Budget of")]
    free = memory.smart_search(query, SmartSearchOptions(max_total_tokens=1_000_000), form=form).result
    same = (answer.result.index, answer.result.details) == (free.index, free.details)
    assert bool(cut) == (not same)


def test_a_budget_is_used_for_the_matching_part(memory: Gieok) -> None:
    answer = memory.smart_search("배포 자세히 알려줘", SmartSearchOptions(max_total_tokens=1500), form="markdown")
    (first, *_) = answer.result.details or ()
    assert "left out …]" in first.content
    assert "배포 deploy 기록" in first.content
    assert answer.result.meta.estimated_tokens > 0.6 * 1500
    assert any("cut to the matching part" in notice for notice in answer.notices)


@pytest.mark.parametrize("budget", [300, 1000, 2000])
def test_layer_3_keeps_to_the_budget_too(open_gieok: Callable[..., Gieok], memory: Gieok, budget: int) -> None:
    other = open_gieok(**{**SETTINGS, "budget": {"max_total_tokens": budget}})
    answer = other.find("배포", layer=3)
    assert count_tokens(answer.to_json()) <= budget
    assert [notice for notice in answer.notices if notice.startswith(f"Budget of {budget:,} tokens, ")]
    assert bool(answer.result.details) == (budget > 1000)


@pytest.mark.parametrize("form", ["json", "markdown", "text"])
def test_a_budget_too_small_for_a_line_says_what_is_needed(memory: Gieok, form: Form) -> None:
    with pytest.raises(UsageError, match=r"A budget of 10 tokens is too small: the shortest answer takes about \d+\."):
        memory.smart_search("배포", SmartSearchOptions(max_total_tokens=10), form=form)


def test_a_pasted_page_as_a_query_does_not_fill_the_budget(memory: Gieok) -> None:
    query = "쀍뛣 " * 2000
    answer = memory.smart_search(query, SmartSearchOptions(max_total_tokens=300), form="text")
    assert count_tokens(printed(answer, "text", memory, query, 300)) <= 300
