"""The facade: putting in, the three layers, upkeep, and what happens when something is missing or broken."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from indexes.embedder import FastEmbedder
from indexes.errors import AmbiguousIdError, EmbedderError, StoreError, UnknownIdError, UsageError
from pipeline import Gieok, SearchFilter, Settings
from pipeline.progress import Progress

Open = Callable[..., Gieok]
Notes = Callable[..., Path]

DIARY = """---
date: 2026-01-30
session: 1
team_id: t-pay
task_id: PAY-4821
tags: [배포, 결제]
---
# 수행한 작업

결제 재시도에 멱등 키를 넣었다.

## 실수 및 원인

금요일 오후에 배포해서 알림이 두 번 갔다.

# 설계 결정

DuckDB 스키마는 이벤트 소싱으로 한다.
"""


def turn(number: int, text: str, kind: str = "prompt") -> str:
    return json.dumps(
        {
            "id": f"t{number}",
            "content": text,
            "type": kind,
            "session": "s-1",
            "timestamp": f"2026-01-30T14:0{number}:00Z",
        },
        ensure_ascii=False,
    )


TURNS = "\n".join(
    [
        turn(0, "스키마를 어떻게 설계할까?"),
        turn(1, "DuckDB 로 이벤트 소싱을 하자", "response"),
        turn(2, "인덱스는 어떻게 하지?"),
        turn(3, "event_type 별로 인덱스를 만들자", "response"),
        turn(4, "점심은 국수로 하자"),
    ]
)
FILES = {"2026-01-30-session-01.md": DIARY, "turns.jsonl": TURNS, "note.txt": "The retry limit is five attempts."}


@pytest.fixture
def folder(notes: Notes) -> Path:
    return notes(FILES)


def test_counts_say_what_happened_to_files(open_gieok: Open, folder: Path) -> None:
    memory = open_gieok()
    first = memory.index([folder])
    assert (first.indexed, first.updated, first.skipped, first.removed, first.failed) == (3, 0, 0, 0, [])
    assert first.vectors_pending == 0
    again = memory.index([folder])
    assert (again.indexed, again.updated, again.skipped, again.removed) == (0, 0, 3, 0)
    (folder / "note.txt").write_text("The retry limit is seven attempts.", encoding="utf-8")
    (folder / "turns.jsonl").unlink()
    (folder / "binary.txt").write_bytes(b"\0\1\2" * 50)
    last = memory.index([folder])
    assert (last.indexed, last.updated, last.skipped, last.removed) == (0, 1, 1, 1)
    assert [Path(failure.path).name for failure in last.failed] == ["binary.txt"]
    assert memory.search_index("seven attempts")[0].summary.endswith("The retry limit is seven attempts.")
    assert memory.search_index("이벤트 소싱 하자", filter=SearchFilter(session="s-1")) == []


def test_ids_do_not_depend_on_order_or_on_the_rest_of_the_file(open_gieok: Open, folder: Path) -> None:
    one, two = open_gieok("one"), open_gieok("two")
    one.index([folder])
    for name in sorted(FILES, reverse=True):
        two.index([folder / name])
    query = "DuckDB 이벤트 소싱"
    assert {h.id for h in one.search_index(query)} == {h.id for h in two.search_index(query)} != set()
    (before,) = [h.id for h in one.search_index("금요일 배포 알림")][:1]
    text = (folder / "2026-01-30-session-01.md").read_text(encoding="utf-8")
    (folder / "2026-01-30-session-01.md").write_text(
        text.replace("# 설계 결정", "# 새 제목\n\n새 글\n\n# 설계 결정"), encoding="utf-8"
    )
    one.index([folder])
    assert one.search_index("금요일 배포 알림")[0].id == before


def test_the_three_layers(open_gieok: Open, folder: Path) -> None:
    memory = open_gieok()
    memory.index([folder])
    hit = memory.search_index("DuckDB 이벤트 소싱", filter=SearchFilter(session="s-1"))[0]
    assert (hit.summary, hit.type, hit.session_id) == ("DuckDB 로 이벤트 소싱을 하자", "response", "s-1")
    assert hit.timestamp == datetime(2026, 1, 30, 14, 1, tzinfo=UTC)
    assert 0 < hit.score <= 1

    near = memory.get_timeline([hit.id], window=1)
    assert [(item.preview, item.is_target) for item in near] == [
        ("스키마를 어떻게 설계할까?", False),
        ("DuckDB 로 이벤트 소싱을 하자", True),
        ("인덱스는 어떻게 하지?", False),
    ]
    last = near[-1].id
    overlapping = memory.get_timeline([hit.id, last], window=1)
    assert [item.timestamp.minute for item in overlapping] == [0, 1, 2, 3]
    assert [item.is_target for item in overlapping] == [False, True, True, False]

    (full,) = memory.get_details([hit.id])
    assert full.content == "DuckDB 로 이벤트 소싱을 하자"
    assert full.relations.related_ids == [near[0].id, near[2].id]
    assert full.metadata.token_count > 0
    assert not full.metadata.has_code


def test_headings_are_relations_and_front_matter_filters(open_gieok: Open, folder: Path, notes: Notes) -> None:
    long = "\n\n".join(f"{n}번째 문단은 배포 순서와 되돌리는 방법을 길게 적은 것이다." for n in range(40))
    memory = open_gieok()
    memory.index([folder, notes({"long.md": f"# 배포\n\n{long}\n\n## 되돌리기\n\n{long}\n"}, "more")])
    child = next(h for h in memory.search_index("되돌리기", top_k=20) if "되돌리기" in h.summary)
    (full,) = memory.get_details([child.id])
    assert full.relations.parent_id is not None
    assert child.id in memory.get_details([full.relations.parent_id])[0].relations.child_ids

    def found(**fields: object) -> int:
        return len(memory.search_index("배포 스키마 결제", filter=SearchFilter(**fields)))  # type: ignore[arg-type]

    diaries = found(team="t-pay")
    assert diaries > 0
    assert (
        found(task="PAY-4821")
        == found(tags=("결제",))
        == found(since="2026-01-30", until="2026-01-30", types=("insight",))
        == diaries
    )
    assert found(team="t-other") == found(until="2026-01-29") == 0


def test_json_is_that_of_the_specification(open_gieok: Open, folder: Path) -> None:
    memory = open_gieok()
    memory.index([folder])
    answer = json.loads(memory.find("DuckDB 이벤트 소싱", layer=3).result.to_json())
    assert set(answer) == {"index", "details", "meta"}
    assert set(answer["index"][0]) == {"id", "summary", "score", "type", "timestamp", "sessionId"}
    assert set(answer["details"][0]) == {"id", "content", "type", "timestamp", "sessionId", "metadata", "relations"}
    assert (
        {"tokenCount", "hasCode"}
        <= set(answer["details"][0]["metadata"])
        <= {"tokenCount", "hasCode", "files", "tools"}
    )
    assert (
        {"childIds", "relatedIds"} <= set(answer["details"][0]["relations"]) <= {"parentId", "childIds", "relatedIds"}
    )
    assert set(answer["meta"]) == {"totalMatches", "expandedCount", "estimatedTokens", "expansionReason"}
    assert answer["meta"]["totalMatches"] == len(answer["index"])
    assert answer["meta"]["expandedCount"] == len(answer["details"])
    assert answer["index"][0]["timestamp"].endswith("Z")
    snippets = json.loads(memory.find("DuckDB 이벤트 소싱", layer=2).result.to_json())
    assert all("snippet" in hit for hit in snippets["index"])


def test_details_stop_at_the_budget_and_say_what_was_left_out(open_gieok: Open, notes: Notes) -> None:
    rows = "\n".join(turn(n, f"배포 절차 {n}: " + "순서를 지킨다. " * 60) for n in range(3))
    folder = notes({"t.jsonl": rows})
    small = open_gieok("small", budget={"max_total_tokens": 900})
    small.index([folder])
    answer = small.find("배포 절차", layer=3)
    assert len(answer.result.index) == 3
    assert 0 < answer.result.meta.expanded_count < 3
    assert answer.result.meta.estimated_tokens <= 900
    assert any("Budget of 900" in notice for notice in answer.notices)
    large = open_gieok("small", budget={"max_total_tokens": 9000})
    assert len(large.find("배포 절차", layer=3).result.details or ()) == 3


def test_ids_may_be_short_but_not_ambiguous_or_unknown(open_gieok: Open, notes: Notes) -> None:
    rows = "\n".join(json.dumps({"id": str(n), "content": f"고유{n} 메모"}) for n in range(33))
    memory = open_gieok()
    memory.index([notes({"t.jsonl": rows})], vectors=False)
    ids = [row.id for row in memory.memories(range(1, 34))]
    firsts = [name[:5] for name in ids]  # 33 ids, 32 letters: two begin alike
    with pytest.raises(AmbiguousIdError):
        memory.get_details([next(first for first in firsts if firsts.count(first) > 1)])
    assert [memory.get_details([memory.short_id(name)])[0].id for name in ids] == ids
    with pytest.raises(UnknownIdError, match="mem_nothing"):
        memory.get_timeline(["mem_nothing"])


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"layer": 4}, "no layer 4"),
        ({"top_k": 0}, "top_k is 0"),
        ({"min_score": 2}, "min_score is 2"),
        ({"filter": SearchFilter(types=("memo",))}, "Unknown type 'memo'"),
    ],
)
def test_bad_options_are_named(open_gieok: Open, options: dict[str, object], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        open_gieok().find("배포", **options)  # type: ignore[arg-type]


def test_an_empty_answer_tells_filter_from_score_from_nothing(open_gieok: Open, folder: Path) -> None:
    memory = open_gieok()
    memory.index([folder])
    assert "filter" in (memory.find("배포", filter=SearchFilter(team="none")).reason or "")
    low = memory.find("배포", min_score=1.0)
    assert low.result.index or "below 1.0" in (low.reason or "")
    assert "Nothing here" in (memory.find("쀍뛣 훩쮁").reason or "")


def test_a_detail_names_its_file_outside_of_the_json(open_gieok: Open, folder: Path) -> None:
    memory = open_gieok()
    memory.index([folder])
    (full,) = memory.get_details([memory.search_index("국수")[0].id])
    assert full.sources == [str(folder / "turns.jsonl")]
    assert "sources" not in full.to_json()


def test_a_filter_that_hides_every_hit_is_named(open_gieok: Open, folder: Path) -> None:
    memory = open_gieok()
    memory.index([folder])
    answer = memory.find("쀍뛣 훩쮁", filter=SearchFilter(session="s-1"))
    assert "passes the filter" in (answer.reason or "")
    assert "filter" in (answer.advice or "")


def test_a_folder_that_is_gone_says_how_to_drop_it(open_gieok: Open, folder: Path) -> None:
    memory = open_gieok()
    memory.index([folder], vectors=False)
    shutil.rmtree(folder)
    (failure,) = memory.index([folder], vectors=False).failed
    assert "the 3 files indexed from it stay" in failure.reason
    assert memory.index([folder.parent], vectors=False).removed == 3


def test_sessions_may_be_given_by_their_beginning(open_gieok: Open, folder: Path) -> None:
    memory = open_gieok()
    memory.index([folder])
    assert {h.session_id for h in memory.search_index("인덱스", filter=SearchFilter(session="s-"))} == {"s-1"}
    assert memory.search_index("인덱스", filter=SearchFilter(session="nothing")) == []


def test_the_same_file_name_in_two_folders_is_two_sessions(open_gieok: Open, notes: Notes) -> None:
    memory = open_gieok()
    memory.index([notes({"README.md": "배포 하나"}, "one"), notes({"README.md": "배포 둘"}, "two")])
    hits = memory.search_index("배포")
    assert len({hit.session_id for hit in hits}) == 2
    assert len(memory.get_timeline([hits[0].id])) == 1
    before = {hit.id: hit.session_id for hit in hits}
    memory.rebuild()
    assert {hit.id: hit.session_id for hit in memory.search_index("배포")} == before


# --- what lags, breaks or is missing --------------------------------------------------------------


def test_words_are_found_before_vectors_exist_and_the_answer_says_so(open_gieok: Open, folder: Path) -> None:
    memory = open_gieok()
    report = memory.index([folder], vectors=False)
    assert report.vectors_pending == report.memories > 0
    answer = memory.find("국수")
    assert answer.result.index[0].summary == "점심은 국수로 하자"
    assert any("no vectors yet" in notice for notice in answer.notices)
    assert memory.embed_pending() == report.memories
    assert memory.status().vectors.pending == 0
    assert memory.find("국수").notices == []


def test_embedding_resumes_after_ctrl_c(open_gieok: Open, notes: Notes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pipeline.sync.VECTORS_BATCH", 4)
    rows = "\n".join(json.dumps({"id": str(n), "content": f"고유{n} 메모"}) for n in range(12))
    memory = open_gieok()
    memory.index([notes({"t.jsonl": rows})], vectors=False)

    def interrupt(progress: Progress) -> None:
        if progress.done == 8:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        memory.embed_pending(interrupt)
    assert memory.status().vectors.pending == 4
    seen: list[Progress] = []
    assert memory.embed_pending(seen.append) == 4
    assert seen[0] == Progress("vectors", 0, 4)
    assert memory.status().vectors.memories == 12


def test_a_changed_date_keeps_its_vectors(open_gieok: Open, notes: Notes, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = notes({"a.md": DIARY})
    memory = open_gieok()
    memory.index([folder])
    embedded: list[str] = []
    real = FastEmbedder.embed_passages
    monkeypatch.setattr(
        FastEmbedder, "embed_passages", lambda self, texts, on_done=None: embedded.extend(texts) or real(self, texts)
    )
    (folder / "a.md").write_text(DIARY.replace("2026-01-30", "2026-02-01"), encoding="utf-8")
    assert memory.index([folder]).updated == 1
    assert embedded == []
    assert len(memory.search_index("DuckDB 스키마", filter=SearchFilter(since="2026-02-01"))) >= 1
    (folder / "a.md").write_text(DIARY.replace("이벤트 소싱", "상태 테이블"), encoding="utf-8")
    memory.index([folder])
    assert any("상태 테이블" in text for text in embedded)


@pytest.mark.parametrize("part", ["words", "vectors"])
def test_deleting_a_derived_index_loses_nothing(open_gieok: Open, folder: Path, part: str) -> None:
    memory = open_gieok()
    memory.index([folder])
    before = [hit.id for hit in memory.search_index("DuckDB 이벤트 소싱")]
    memory.close()
    shutil.rmtree(memory.home / part)
    memory = open_gieok()
    memory.index()
    assert [hit.id for hit in memory.search_index("DuckDB 이벤트 소싱")] == before


@pytest.mark.parametrize("part", ["words", "vectors"])
def test_a_damaged_index_is_named_and_the_other_answers(open_gieok: Open, folder: Path, part: str) -> None:
    memory = open_gieok()
    memory.index([folder])
    memory.close()
    for path in (memory.home / part).iterdir():
        if path.is_file() and path.suffix != ".lock":
            path.write_bytes(b"\0broken")
    memory = open_gieok()
    answer = memory.find("DuckDB 이벤트 소싱")
    assert answer.result.index
    assert any("gieok rebuild" in notice for notice in answer.notices)
    problem = getattr(memory.status(), part).problem
    assert "gieok rebuild" in problem
    memory.rebuild()
    assert memory.find("DuckDB 이벤트 소싱").notices == []


def test_vectors_of_another_store_or_model_are_refused(open_gieok: Open, folder: Path) -> None:
    memory, other = open_gieok("one"), open_gieok("two")
    memory.index([folder])
    other.index([folder / "note.txt"])
    memory.close()
    other.close()
    shutil.rmtree(memory.home / "vectors")
    shutil.copytree(other.home / "vectors", memory.home / "vectors")
    memory = open_gieok("one")
    assert any("gieok rebuild" in notice for notice in memory.find("국수").notices)


def test_without_a_model_words_still_answer(open_gieok: Open, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    none = open_gieok("none", embedder={"model": "none"})
    assert none.index([folder]).vectors_pending == 0
    assert none.find("국수").result.index[0].summary == "점심은 국수로 하자"
    assert none.find("국수").notices == []

    unknown = open_gieok("unknown", embedder={"model": "no/such-model"})
    report = unknown.index([folder])
    assert any("no/such-model" in notice.reason for notice in report.notices)
    assert unknown.find("국수").result.index

    def broken(self: FastEmbedder, text: str) -> None:
        raise EmbedderError("The model is out of order.")

    good = open_gieok("good")
    good.index([folder])
    monkeypatch.setattr(FastEmbedder, "embed_query", broken)
    answer = good.find("국수")
    assert answer.result.index
    assert answer.notices == ["Searched by words only: The model is out of order."]


def test_a_file_that_cannot_be_read_keeps_what_is_stored(open_gieok: Open, folder: Path) -> None:
    memory = open_gieok()
    memory.index([folder])
    before = memory.status().memories
    (folder / "turns.jsonl").write_bytes(b"\0" * 100)
    report = memory.index([folder])
    assert len(report.failed) == 1
    assert memory.status().memories == before
    missing = memory.index([folder.parent / "missing"])
    assert "does not exist" in missing.failed[0].reason
    shutil.rmtree(folder)  # as when a disk is not mounted
    assert memory.index([folder]).removed == 0
    assert memory.status().memories == before


def test_what_is_ignored_since_leaves_the_store(open_gieok: Open, folder: Path) -> None:
    memory = open_gieok()
    memory.index([folder])
    (hit,) = [hit for hit in memory.search_index("retry limit attempts") if "retry limit" in hit.summary]
    (folder / ".gitignore").write_text("note.txt\n", encoding="utf-8")
    assert memory.index([folder]).removed == 1
    assert hit.id not in {other.id for other in memory.search_index("retry limit attempts")}


def test_a_copied_transcript_is_the_same_memories(open_gieok: Open, notes: Notes) -> None:
    row = {
        "type": "user", "uuid": "u1", "parentUuid": None, "sessionId": "s-9", "timestamp": "2026-01-30T14:00:00Z",
        "message": {"role": "user", "content": "배포 순서를 정하자"},
    }  # fmt: skip
    folder = notes({"a.jsonl": json.dumps(row), "copy/b.jsonl": json.dumps(row)})
    memory = open_gieok()
    assert memory.index([folder]).memories == 1
    (folder / "a.jsonl").unlink()
    memory.index([folder])
    assert memory.search_index("배포 순서")[0].summary == "배포 순서를 정하자"
    (folder / "copy/b.jsonl").unlink()
    memory.index([folder])
    assert memory.search_index("배포 순서") == []


def test_a_write_makes_kept_answers_unreachable(open_gieok: Open, notes: Notes) -> None:
    folder = notes({"a.md": "배포 하나"})
    memory = open_gieok()
    memory.index([folder])
    hit = memory.search_index("배포")[0]
    assert memory.get_details([hit.id])[0].content == "배포 하나"
    assert len(memory.get_timeline([hit.id])) == 1
    (folder / "a.md").write_text("배포 하나 고침", encoding="utf-8")
    memory.index([folder])
    assert memory.search_index("배포")[0].summary == "배포 하나 고침"
    assert memory.get_details([hit.id])[0].content == "배포 하나 고침"
    assert memory.get_timeline([hit.id])[0].preview == "배포 하나 고침"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    locked = tmp_path / "locked"
    locked.mkdir(mode=0o500)
    with pytest.raises(StoreError, match="locked"):
        Gieok.open(locked / "home", Settings())


def test_a_home_that_is_a_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x", encoding="utf-8")
    with pytest.raises(StoreError, match="--home"):
        Gieok.open(tmp_path / "file", Settings())


def test_a_full_disk_loses_nothing(open_gieok: Open, notes: Notes) -> None:
    memory = open_gieok()
    memory.index([notes({"a.md": "배포 하나"})])
    pages = sqlite3.connect(memory.home / "memories.db").execute("PRAGMA page_count").fetchone()[0]
    memory._store._db._connection.execute(f"PRAGMA max_page_count = {pages + 2}")  # the only way to make SQLite full
    with pytest.raises(StoreError, match="No space left"):
        memory.index([notes({"b.md": "긴 글 " * 100_000}, "b")])
    assert memory.search_index("배포")[0].summary == "배포 하나"


def test_the_home_is_private(open_gieok: Open, folder: Path) -> None:
    memory = open_gieok()
    memory.index([folder])
    assert memory.home.stat().st_mode & 0o077 == 0
    assert (memory.home / "memories.db").stat().st_mode & 0o077 == 0
