"""Every rule from a query down to the output, options, time, legacy mode and caches.

Where a rule needs a certain score, the confidence is replaced: how it is fitted is another test's matter.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from indexes.errors import ConfigError, UnknownIdError, UsageError
from pipeline import Gieok, SearchFilter, Settings
from pipeline.cli import app
from pipeline.markdown import search_markdown
from pipeline.options import SmartSearchOptions
from pipeline.results import Answer, FullDetail
from pipeline.retriever import Rankings

Open = Callable[..., Gieok]
Notes = Callable[..., Path]
Score = Callable[..., None]

SETTINGS: dict[str, dict[str, object]] = {
    "embedder": {"model": "none"},
    "time": {"zone": "UTC"},
    "evidence": {"min_coverage": 0.01},  # in so small a store, a word that no memory holds is all that counts
}
TURNS = [
    ("t0", "스키마를 어떻게 설계할까?", "s-1", "2026-01-30T14:00:00Z"),
    ("t1", "스키마는 DuckDB 로 하자", "s-1", "2026-01-30T14:05:00Z"),
    ("t2", "인덱스는 어떻게 하지?", "s-1", "2026-01-30T14:10:00Z"),
    ("t3", "배포 금지는 금요일", "s-2", "2026-01-30T15:00:00Z"),
    ("t4", "배포 알림은 두 번 갔다", "s-3", "2026-02-03T09:00:00Z"),
    ("t5", "배포 되돌리기 절차", "s-4", "2026-02-03T10:00:00Z"),
    ("t6", "점심 국수", "s-5", "2026-02-03T11:00:00Z"),
]


@dataclass(frozen=True)
class Fixed:
    """A confidence that gives the memories in these rows these scores, and any other a low one."""

    by_rid: Mapping[int, float]
    calibrated: bool = True
    certified: tuple[float, ...] = (0.8, 0.85, 0.92)

    def scores(self, _: Rankings, rids: Sequence[int]) -> list[float]:
        falling, low = [], 1.0
        for rid in rids:
            low = min(low, self.by_rid.get(rid, 0.1))
            falling.append(low)
        return falling


@pytest.fixture
def memory(open_gieok: Open, notes: Notes) -> Gieok:
    rows = "\n".join(
        json.dumps({"id": name, "content": text, "session": session, "timestamp": at}, ensure_ascii=False)
        for name, text, session, at in TURNS
    )
    store = open_gieok(**SETTINGS)
    store.index([notes({"t.jsonl": rows})])
    return store


@pytest.fixture
def score(memory: Gieok, monkeypatch: pytest.MonkeyPatch) -> Score:
    """`score({"배포 금지": 0.95})`: the memory whose text begins so scores so, in that order if scores are equal."""

    def fix(by_text: Mapping[str, float]) -> None:
        by_rid = {
            each.rid: score
            for each in memory.memories(range(1, len(TURNS) + 1))
            for text, score in by_text.items()
            if each.content.startswith(text)
        }
        monkeypatch.setattr(Gieok, "_confidence", lambda _: Fixed(by_rid))

    return fix


def id_of(memory: Gieok, text: str) -> str:
    return next(each.id for each in memory.memories(range(1, len(TURNS) + 1)) if each.content.startswith(text))


def opened(answer: Answer) -> tuple[str | None, list[str], list[str]]:
    """The reason, the targets of the timeline, the details: by content."""
    result = answer.result
    targets = [item.preview for item in result.timeline or () if item.is_target]
    return result.meta.expansion_reason, targets, [each.content for each in result.details or ()]


# --- the rules ----------------------------------------------------------------------------------------


def test_a_sure_single_hit_is_opened(memory: Gieok, score: Score) -> None:
    score({"스키마는": 0.95})
    answer = memory.smart_search("스키마 DuckDB")
    assert [hit.summary for hit in answer.result.index] == ["스키마는 DuckDB 로 하자"]
    assert opened(answer) == (
        "high_confidence_single",
        ["스키마는 DuckDB 로 하자"],
        ["스키마는 DuckDB 로 하자"],
    )
    assert [item.preview for item in answer.result.timeline or ()] == [text for _, text, *_ in TURNS[:3]]
    assert answer.result.meta.expanded_count == 1


def test_a_clear_winner_is_opened(memory: Gieok, score: Score) -> None:
    score({"스키마는": 0.88, "스키마를": 0.75})
    answer = memory.smart_search("스키마 DuckDB")
    assert opened(answer) == ("clear_winner", ["스키마는 DuckDB 로 하자"], ["스키마는 DuckDB 로 하자"])
    assert len(answer.result.index) == 2


def test_several_high_hits_get_one_timeline(memory: Gieok, score: Score) -> None:
    score({"배포": 0.82})
    answer = memory.smart_search("배포")
    reason, targets, details = opened(answer)
    assert (reason, details) == ("ambiguous_multiple_high", [])
    assert sorted(targets) == ["배포 금지는 금요일", "배포 되돌리기 절차", "배포 알림은 두 번 갔다"]
    assert answer.result.meta.expanded_count == 3
    assert (answer.advice or "").startswith("several match; choose one: gieok show mem_")
    assert "Choose an id" in search_markdown(answer, memory.short_id)


def test_hits_near_in_time_get_one_timeline(memory: Gieok, score: Score) -> None:
    score({"스키마": 0.75})
    assert opened(memory.smart_search("스키마")) == (
        "temporal_proximity",
        ["스키마를 어떻게 설계할까?", "스키마는 DuckDB 로 하자"],
        [],
    )


def test_weak_hits_open_nothing(memory: Gieok, score: Score) -> None:
    score({"배포": 0.75})
    answer = memory.smart_search("배포")
    assert opened(answer) == ("low_confidence", [], [])
    assert len(answer.result.index) == 3
    assert answer.result.meta.expanded_count == 0
    assert (answer.advice or "").startswith("gieok show mem_")


def test_nothing_found_says_why(memory: Gieok, score: Score) -> None:
    score({"배포": 0.5})
    answer = memory.smart_search("배포")
    assert opened(answer) == ("no_results", [], [])
    assert answer.reason == "Every hit scores below 0.7 (the best 0.50)."
    assert memory.smart_search("쀍뛣").reason == 'Nothing here has to do with "쀍뛣".'


def test_an_id_in_the_query_is_shown(memory: Gieok) -> None:
    name = id_of(memory, "점심")
    for query in (f"{name} 보여줘", f"show {memory.short_id(name)}", f"{name}를 자세히 알려줘"):
        answer = memory.smart_search(query)
        assert opened(answer) == ("explicit_id", [], ["점심 국수"])
        assert [(hit.id, hit.score) for hit in answer.result.index] == [(name, 1.0)]


def test_an_id_with_other_words_comes_first(memory: Gieok, score: Score) -> None:
    score({"배포": 0.8})
    answer = memory.smart_search(f"{id_of(memory, '점심')} 배포")
    assert answer.result.index[0].summary == "점심 국수"
    assert len(answer.result.index) == 4
    assert opened(answer)[0] == "explicit_id"


def test_an_id_that_is_none_is_said(memory: Gieok, score: Score) -> None:
    answer = memory.smart_search("mem_zzzz 보여줘")
    assert opened(answer)[0] == "no_results"
    assert any("'mem_zzzz'" in notice for notice in answer.notices)
    score({"배포": 0.8})
    identifier = memory.smart_search("mem_free 배포")
    assert identifier.result.index
    assert identifier.notices == []


def test_detail_that_is_asked_for_is_given(memory: Gieok, score: Score) -> None:
    score({"배포": 0.75})
    for query in ("배포 자세히 알려줘", "배포 in detail"):
        reason, targets, details = opened(memory.smart_search(query))
        assert (reason, targets, len(details)) == ("user_request", [], 3)


# --- options ------------------------------------------------------------------------------------------


def test_options_hold_for_one_call_only(memory: Gieok, score: Score) -> None:
    score({"배포": 0.75})
    before = memory.smart_search("배포 자세히")
    for options in (
        SmartSearchOptions(top_k=1),
        SmartSearchOptions(min_score=0.9),
        SmartSearchOptions(auto_expand_details=False),
        SmartSearchOptions(max_auto_expand_count=1),
        SmartSearchOptions(max_total_tokens=300),
        SmartSearchOptions(filter=SearchFilter(session="s-2")),
    ):
        assert memory.smart_search("배포 자세히", options) != before
        assert memory.smart_search("배포 자세히") == before
    assert memory.settings == Settings.model_validate(SETTINGS)


def test_what_each_option_does(memory: Gieok, score: Score) -> None:
    score({"배포": 0.75})

    def ask(query: str = "배포 자세히", **options: Any) -> Answer:
        return memory.smart_search(query, SmartSearchOptions(**options))

    one = ask(top_k=1)
    assert (len(one.result.index), len(one.result.details or ())) == (1, 1)
    assert ask(min_score=0.9).result.index == []
    assert len(ask(max_auto_expand_count=2).result.details or ()) == 2
    none = ask(auto_expand_details=False)
    assert none.result.details is None
    assert any("switched off" in notice for notice in none.notices)
    assert {hit.session_id for hit in ask(filter=SearchFilter(session="s-2")).result.index} == {"s-2"}
    score({"배포": 0.82})
    quiet = ask("배포", auto_expand_timeline=False, auto_expand_details=False)
    assert (quiet.result.timeline, quiet.result.meta.expansion_reason) == (None, None)
    assert ask("배포", auto_expand_timeline=False).result.timeline is None
    assert ask("배포", top_k=1).result.meta.expansion_reason == "ambiguous_multiple_high"  # seen before the cut


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"top_k": 0}, "top_k is 0"),
        ({"top_k": -3}, "top_k is -3"),
        ({"min_score": 1.5}, "min_score is 1.5"),
        ({"min_score": float("nan")}, "min_score is nan"),
        ({"max_total_tokens": -1}, "max_total_tokens is -1"),
        ({"max_auto_expand_count": -1}, "max_auto_expand_count is -1"),
        ({"topk": 3}, "unknown option topk"),
        ({"max_auto_expand_count": 0, "auto_expand_details": True}, "auto_expand_details is on"),
        ({"max_auto_expand_count": 2, "auto_expand_details": False, "auto_expand_timeline": False}, "are off"),
        ({"filter": SearchFilter(since="2026-01-01"), "detect_time": True}, "The filter has dates"),
    ],
)
def test_options_that_make_no_sense_are_refused(options: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        SmartSearchOptions(**options)


def test_a_bad_filter_and_an_empty_query_are_refused(memory: Gieok) -> None:
    backwards = SmartSearchOptions(filter=SearchFilter(since="2026-02-01", until="2026-01-01"))
    with pytest.raises(UsageError, match="after until"):
        memory.smart_search("배포", backwards)
    with pytest.raises(UsageError, match="empty"):
        memory.smart_search("  ")


def test_a_memory_that_vanishes_between_the_layers_is_skipped(
    memory: Gieok, score: Score, monkeypatch: pytest.MonkeyPatch
) -> None:
    score({"배포": 0.75})
    gone = id_of(memory, "배포 알림")
    real = Gieok._detail

    def detail(self: Gieok, name: str) -> FullDetail:
        if name == gone:  # as when another process has just removed it
            raise UnknownIdError(name)
        return real(self, name)

    monkeypatch.setattr(Gieok, "_detail", detail)
    answer = memory.smart_search("배포 자세히")
    assert len(answer.result.details or ()) == 2
    assert gone not in {hit.id for hit in answer.result.index}
    assert f"Gone since the search began: {gone}" in answer.notices
    assert len(memory.search("배포")) == 2


# --- time ---------------------------------------------------------------------------------------------


@pytest.fixture
def fourth_of_february(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pipeline.gieok.today", lambda _: date(2026, 2, 4))


@pytest.mark.usefixtures("fourth_of_february")
def test_words_of_time_filter_and_say_so(memory: Gieok, score: Score) -> None:
    score({"배포": 0.75})
    yesterday = memory.smart_search("어제 배포")
    assert sorted(hit.session_id for hit in yesterday.result.index) == ["s-3", "s-4"]
    assert yesterday.notices == ['Only 2026-02-03, for "어제". To search all times: --no-time']
    assert [hit.session_id for hit in memory.smart_search("last week 배포").result.index] == ["s-2"]
    off = memory.smart_search("어제 배포", SmartSearchOptions(detect_time=False))
    assert len(off.result.index) == 3
    assert off.notices == []
    assert len(memory.smart_search("2월 30일 배포").result.index) == 3


@pytest.mark.usefixtures("fourth_of_february")
def test_dates_of_a_filter_come_first(memory: Gieok, score: Score) -> None:
    score({"배포": 0.75})
    options = SmartSearchOptions(filter=SearchFilter(until="2026-01-31"))
    answer = memory.smart_search("어제 배포", options)
    assert [hit.session_id for hit in answer.result.index] == ["s-2"]
    assert answer.notices == []
    both = memory.smart_search("어제 배포", SmartSearchOptions(filter=SearchFilter(session="s-4")))
    assert [hit.session_id for hit in both.result.index] == ["s-4"]


@pytest.mark.usefixtures("fourth_of_february")
def test_a_day_is_one_of_the_users_zone(open_gieok: Open, notes: Notes, monkeypatch: pytest.MonkeyPatch) -> None:
    row = {"id": "a", "content": "배포 메모", "timestamp": "2026-02-02T16:00:00Z"}  # 01:00 on the 3rd in Seoul
    for zone, found in (("Asia/Seoul", 1), ("UTC", 0)):
        store = open_gieok(zone.replace("/", "-"), embedder={"model": "none"}, time={"zone": zone})
        store.index([notes({"t.jsonl": json.dumps(row)})])
        assert len(store.smart_search("어제 배포").result.index) == found


def test_a_zone_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    (tmp_path / "c.toml").write_text('[time]\nzone = "Seoul/Asia"\n', encoding="utf-8")
    with pytest.raises(ConfigError, match=r"time\.zone"):
        Settings.load(tmp_path / "c.toml", {})


def test_detection_can_be_switched_off(open_gieok: Open, notes: Notes) -> None:
    store = open_gieok(**{**SETTINGS, "time": {"detect": False}})
    store.index([notes({"a.md": "배포 메모"})])
    assert store.smart_search("작년 배포").result.index
    assert store.smart_search("작년 배포", SmartSearchOptions(detect_time=True)).result.index == []


# --- legacy -------------------------------------------------------------------------------------------


def test_search_gives_the_whole_contents(memory: Gieok, score: Score) -> None:
    score({"배포": 0.9})
    hits = memory.search("배포")
    assert sorted((hit.content, hit.score, hit.session_id) for hit in hits) == sorted(
        (text, 0.9, session) for _, text, session, _ in TURNS[3:6]
    )
    score({"배포": 0.3})
    assert memory.search("배포를") == []
    legacy = memory.search("배포", mode="legacy")
    assert sorted(hit.session_id for hit in legacy) == ["s-2", "s-3", "s-4"]
    assert len(memory.search("배포", 1, mode="legacy")) == 1
    assert [hit.session_id for hit in memory.search("배포", filter=SearchFilter(session="s-4"), mode="legacy")] == [
        "s-4"
    ]


def test_the_mode_is_a_setting(open_gieok: Open, notes: Notes) -> None:
    rows = [json.dumps({"id": str(n), "content": f"배포 메모 {n} " + "긴 글 " * 500}) for n in range(8)]
    store = open_gieok(**SETTINGS, progressive={"mode": "legacy", "legacy_top_k": 6})
    store.index([notes({"t.jsonl": "\n".join(rows)})])
    hits = store.search("배포 작년")
    assert len(hits) == 6  # words of time are words, and no budget cuts
    assert all(len(hit.content) > 1900 for hit in hits)
    progressive = store.search("배포", 2, mode="progressive")
    assert [len(hit.content) > 1900 for hit in progressive] == [True, True]
    assert store.search("작년 배포", mode="progressive") == []


# --- caches -------------------------------------------------------------------------------------------


def test_an_answer_is_kept_by_every_argument(memory: Gieok) -> None:
    def hits() -> int:
        return memory.status().caches["layer1"].hits

    first = memory.smart_search("배포")
    assert hits() == 0
    assert memory.smart_search("배포") == first
    assert hits() == 1
    memory.smart_search("배포", form="text")
    memory.smart_search("배포", SmartSearchOptions(top_k=2))
    memory.smart_search("배포", SmartSearchOptions(min_score=0.1))
    memory.smart_search("배포", SmartSearchOptions(max_total_tokens=999))
    memory.smart_search("배포", SmartSearchOptions(max_auto_expand_count=1))
    memory.smart_search("배포", SmartSearchOptions(filter=SearchFilter(session="s-2")))
    assert hits() == 1
    assert memory.status().caches["layer1"].misses == 7


def test_a_write_makes_kept_answers_unreachable(memory: Gieok, notes: Notes) -> None:
    before = memory.smart_search("배포")
    memory.index([notes({"new.md": "배포 새 메모"}, "more")])
    assert len(memory.smart_search("배포").result.index) == len(before.result.index) + 1


def test_threads_get_the_same_answers(memory: Gieok) -> None:
    queries = ["배포", "스키마", "점심 국수", "배포 자세히", "스키마 자세히"]
    alone = [memory.smart_search(query).result for query in queries]
    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(lambda n: memory.smart_search(queries[n % 5]).result, range(100)))
    assert together == [alone[n % 5] for n in range(100)]


# --- the command line ---------------------------------------------------------------------------------


@pytest.fixture
def gieok(monkeypatch: pytest.MonkeyPatch, notes: Notes) -> Callable[..., Any]:
    monkeypatch.setenv("GIEOK_EMBEDDER_MODEL", "none")
    yesterday = datetime.now(UTC) - timedelta(days=1)
    rows = [
        {"id": "a", "content": "배포 규칙: 금요일 금지", "timestamp": yesterday.isoformat()},
        {"id": "b", "content": "배포 알림", "timestamp": "2020-01-01T00:00:00Z"},
    ]
    monkeypatch.setenv("GIEOK_TIME_ZONE", "UTC")
    monkeypatch.setenv("GIEOK_EVIDENCE_MIN_COVERAGE", "0.01")

    def run(*arguments: str) -> Any:
        return CliRunner().invoke(app, list(arguments), prog_name="gieok")

    run("index", str(notes({"t.jsonl": "\n".join(json.dumps(row) for row in rows)})))
    return run


def test_the_default_is_a_smart_search(gieok: Callable[..., Any]) -> None:
    shown = gieok("search", "배포", "자세히").stdout
    assert shown.startswith('2 matches for "배포 자세히"  (progressive, ')
    assert " of 2,000 tokens)\n" in shown
    assert shown.count("\nsession   ") == 2
    answer = json.loads(gieok("search", "배포 자세히", "--json").stdout)
    assert answer["meta"]["expansionReason"] == "user_request"
    assert len(answer["details"]) == answer["meta"]["expandedCount"] == 2
    assert "details" not in json.loads(gieok("search", "배포 자세히", "--json", "--no-expand").stdout)
    assert gieok("search", "배포", "--layer", "auto").stdout == gieok("search", "배포").stdout


def test_time_and_tokens(gieok: Callable[..., Any]) -> None:
    timed = gieok("search", "어제 배포")
    assert timed.stdout.startswith("Note: Only 20")
    assert "1 match for" in timed.stdout
    assert "2 matches for" in gieok("search", "어제 배포", "--no-time").stdout
    small = gieok("search", "배포", "--max-tokens", "10")
    assert small.exit_code == 2
    assert "A budget of 10 tokens is too small" in small.stderr
    assert " of 300 tokens)" in gieok("search", "배포", "--max-tokens", "300").stdout


def test_formats_and_legacy(gieok: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    text = gieok("search", "배포", "--format", "markdown").stdout
    assert text.startswith("<gieok-memory>\n## Related Memories (2 matches)\n")
    legacy = gieok("search", "배포", "--mode", "legacy")
    assert legacy.stdout.startswith('2 matches for "배포"  (legacy)\n')
    assert "배포 규칙: 금요일 금지" in legacy.stdout
    found = json.loads(gieok("search", "배포", "--mode", "legacy", "--json").stdout)["results"]
    assert list(found[0]) == ["id", "content", "score", "type", "timestamp", "sessionId"]
    assert "### mem_" in gieok("search", "배포", "--mode", "legacy", "--format", "markdown").stdout
    nothing = gieok("search", "qxzvwk", "--mode", "legacy")
    assert nothing.exit_code == 1
    assert "qxzvwk" in nothing.stderr
    monkeypatch.setenv("GIEOK_PROGRESSIVE_MODE", "legacy")
    assert "(legacy)" in gieok("search", "배포").stdout
    assert "(progressive, " in gieok("search", "배포", "--mode", "progressive").stdout
    assert "(layer 1, " in gieok("search", "배포", "--layer", "1").stdout


@pytest.mark.parametrize(
    "options",
    [
        ["--layer", "1", "--no-expand"],
        ["--layer", "3", "--max-tokens", "500"],
        ["--mode", "legacy", "--layer", "1"],
        ["--mode", "legacy", "--max-tokens", "500"],
        ["--mode", "legacy", "--min-score", "0.5"],
        ["--json", "--format", "markdown"],
        ["--max-tokens", "-5"],
        ["--mode", "old"],
    ],
)
def test_options_that_contradict_each_other_are_refused(gieok: Callable[..., Any], options: list[str]) -> None:
    result = gieok("search", "배포", *options)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert "Error" in result.stderr
