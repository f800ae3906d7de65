"""Why hits stand where they stand, and at which stage an expected memory fell out."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from indexes.errors import AmbiguousIdError
from pipeline import Gieok, SearchFilter
from pipeline.cli import app
from pipeline.explain import Explanation
from pipeline.options import SmartSearchOptions

Open = Callable[..., Gieok]
Notes = Callable[..., Path]

ROWS = [
    {"id": "a", "content": "배포는 금요일에 금지한다", "session": "s-1", "timestamp": "2026-01-30T14:00:00Z"},
    {"id": "b", "content": "금요일 배포 알림이 두 번 갔다", "session": "s-2", "timestamp": "2026-02-03T14:00:00Z"},
    {"id": "c", "content": "점심은 국수로 하자", "session": "s-3", "timestamp": "2026-02-03T15:00:00Z"},
]
CROWD = [{"id": f"x{n}", "content": f"번호{n} 다른 이야기", "session": "s-4"} for n in range(70)]


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Gieok:
    """Three memories in a crowd of others, with vectors."""
    from pipeline import Settings

    folder = tmp_path_factory.mktemp("explain")
    rows = "\n".join(json.dumps(row, ensure_ascii=False) for row in [*ROWS, *CROWD])
    (folder / "t.jsonl").write_text(rows, encoding="utf-8")
    store = Gieok.open(folder / "home", Settings.model_validate({"time": {"zone": "UTC"}}))
    store.index([folder / "t.jsonl"])
    return store


def id_of(memory: Gieok, text: str) -> str:
    return next(each.id for each in memory.memories(range(1, 80)) if each.content.startswith(text))


def fate(memory: Gieok, query: str, expect: str, **options: Any) -> tuple[str, str]:
    told = memory.explain(query, expect, SmartSearchOptions(**options))
    assert told.expected is not None
    return told.expected.stage, told.expected.why


def test_each_hit_shows_its_figures(memory: Gieok) -> None:
    told = memory.explain("금요일 배포 금지")
    first = told.hits[0]
    assert (first.place, first.id, first.summary) == (1, id_of(memory, "배포는"), "배포는 금요일에 금지한다")
    assert (first.words_rank, first.vectors_rank, first.stage) == (1, 1, "shown")
    assert 0 < first.bm25 <= 1
    assert first.coverage > 0.5
    assert first.cosine is not None
    assert first.margin is not None
    assert first.margin < first.cosine
    assert [hit.order for hit in told.hits] == sorted((hit.order for hit in told.hits), reverse=True)
    answer = memory.smart_search("금요일 배포 금지").result
    assert [(hit.id, hit.score) for hit in told.hits if hit.stage == "shown"] == [
        (hit.id, hit.score) for hit in answer.index
    ]
    assert told.rule == answer.meta.expansion_reason
    assert [term.text for term in told.terms] == ["금요일", "배포", "금지"]
    assert told.scores == memory.status().scores


def test_a_query_is_shown_as_it_was_understood(memory: Gieok) -> None:
    told = memory.explain("2026년 2월에 배포 자세히 알려줘")
    assert told.searched == "배포"
    assert told.rule == "user_request"
    assert any("2026-02-01" in notice for notice in told.notices)
    named = memory.explain(f"{id_of(memory, '점심')} 보여줘")
    assert (named.searched, named.rule, named.hits) == ("", "explicit_id", [])
    assert named.details == [id_of(memory, "점심")]


def test_shown(memory: Gieok) -> None:
    stage, why = fate(memory, "금요일 배포 금지", id_of(memory, "배포는")[:10])
    assert stage == "shown"
    assert why.startswith("It is hit 1 with a score of ")
    name = id_of(memory, "점심")
    assert fate(memory, f"{name} 보여줘", name) == ("shown", "The query names it.")


def test_not_in_the_store(memory: Gieok) -> None:
    stage, why = fate(memory, "배포", "mem_zzzzzzzzzzzz")
    assert stage == "not_in_store"
    assert "gieok index PATH" in why


def test_a_beginning_that_fits_several_ids_is_refused(memory: Gieok) -> None:
    firsts = [each.id[:5] for each in memory.memories(range(1, 80))]  # 73 ids, 32 letters
    with pytest.raises(AmbiguousIdError):
        memory.explain("배포", next(first for first in firsts if firsts.count(first) > 1))


def test_filtered_out(memory: Gieok) -> None:
    stage, why = fate(memory, "금요일 배포", id_of(memory, "배포는"), filter=SearchFilter(session="s-2"))
    assert stage == "filtered_out"
    assert "session s-1" in why
    stage, why = fate(memory, "2026년 2월에 금요일 배포", id_of(memory, "배포는"))
    assert stage == "filtered_out"
    assert "2026-01-30" in why
    assert "--no-time" in why


def test_no_candidate(memory: Gieok) -> None:
    """The vector leg ranks every memory, so that only one beyond its depth falls out here."""
    ranked = memory.rank("번호3 다른 이야기", depth=100).vectors
    assert ranked is not None
    last = memory.memories([int(ranked.ids[-1])])[0]
    stage, why = fate(memory, "번호3 다른 이야기", last.id)
    assert stage == "not_a_candidate"
    assert "rank 73" in why
    assert "the first 60 take part" in why
    assert "holds none of the query's words" in why


def test_no_evidence(memory: Gieok) -> None:
    weak = [
        hit for hit in memory.explain("금요일 배포 금지", options=SmartSearchOptions(top_k=60)).hits if not hit.score
    ]
    assert weak
    stage, why = fate(memory, "금요일 배포 금지", weak[-1].id)
    assert stage == "no_evidence"
    assert why.startswith("It covers 0.00 of the query's words and its margin is ")
    assert why.endswith("A hit must cover 0.2 or have a margin of -0.05 ([evidence]).")


def test_no_answer_at_all(open_gieok: Open, notes: Notes) -> None:
    strict = open_gieok(evidence={"min_coverage": 1.0, "answer_margin": 2.0})
    strict.index([notes({"t.jsonl": "\n".join(json.dumps(row) for row in ROWS)})])
    stage, why = fate(strict, "금요일 배포 순서", id_of(strict, "배포는"))
    assert stage == "no_evidence"
    assert "there is no answer at all: none of the first 10 hits covers 1.0" in why


def test_below_min_score_and_beyond_top_k(memory: Gieok) -> None:
    second = id_of(memory, "금요일 배포")
    stage, why = fate(memory, "금요일 배포 금지", second, min_score=1.0)
    assert stage == "below_min_score"
    assert "min_score is 1.0" in why
    stage, why = fate(memory, "금요일 배포 금지", second, min_score=0.0, top_k=1)
    assert (stage, why) == ("beyond_top_k", "It is hit 2; 1 are shown. Raise --top-k.")


def test_legs_that_are_off_or_lag(open_gieok: Open, notes: Notes) -> None:
    rows = "\n".join(json.dumps(row) for row in ROWS)
    lagging = open_gieok("lagging")
    lagging.index([notes({"t.jsonl": rows})], vectors=False)
    stage, why = fate(lagging, "배포", id_of(lagging, "점심"))
    assert stage == "not_a_candidate"
    assert "holds none of the query's words" in why
    assert "Vectors are off" in why or "no vector yet" in why
    hit = lagging.explain("배포").hits[0]
    assert (hit.cosine, hit.margin, hit.vectors_rank) == (None, None, None)


def test_the_command(memory: Gieok) -> None:
    def run(*arguments: str) -> Any:
        return CliRunner().invoke(app, ["--home", str(memory.home), *arguments], prog_name="gieok")

    name = id_of(memory, "점심")
    shown = run("explain", "금요일", "배포", "금지", "--expect", name)
    assert shown.exit_code == 0
    assert "searched  금요일 배포 금지\n" in shown.stdout
    assert "words #1  meaning #1  bm25 0." in shown.stdout
    assert f"Expected [{name}]: below_min_score. It scores 0." in shown.stdout
    told = Explanation.model_validate(json.loads(run("explain", "금요일 배포", "--json").stdout))
    assert told.hits
    assert run("explain", "금요일 배포", "--session", "s-9").exit_code == 1
    assert run("explain", " ").exit_code == 2
    now = datetime.now(UTC)
    assert run("explain", "배포", "--since", f"{now:%Y}-13-01").exit_code == 2
