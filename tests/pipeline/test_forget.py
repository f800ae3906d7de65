"""What the user has forgotten is nowhere in the home any more, and stays away."""

from __future__ import annotations

import hashlib
import json
import shutil
import sqlite3
import unicodedata
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from indexes.errors import StoreBusyError, UnknownIdError, UsageError
from indexes.store import Store
from pipeline import Gieok, SearchFilter
from pipeline.cli import app
from pipeline.doctor import diagnose
from pipeline.doctor.repair import repair
from pipeline.forget.residue import scan, text_pieces
from pipeline.legs import Legs
from pipeline.settings import Settings

Open = Callable[..., Gieok]
Notes = Callable[..., Path]
WORDS = {"embedder": {"model": "none"}}
SECRET = "급여 명세서는 셋째 서랍의 파란 봉투에 들어 있고 열쇠는 화분 밑에 있다"
OTHER = "금요일에는 결제 서버를 배포하지 않는다는 규칙을 팀에서 정했다"


def found_in(home: Path, text: str = SECRET) -> list[str]:
    """Files that hold any eight characters of the text, composed, decomposed or as UTF-16: written apart from ours."""
    places = []
    for path in sorted(home.rglob("*")):
        data = path.read_bytes() if path.is_file() else b""
        for start in range(len(text) - 8):
            part = text[start : start + 8]
            forms = [part.encode(), unicodedata.normalize("NFD", part).encode(), part.encode("utf-16-le")]
            if any(form in data for form in forms):
                places.append(str(path.relative_to(home)))
                break
    return places


def transcript(folder: Path, session: str, texts: list[str], day: str = "2026-03-02") -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / f"{session}.jsonl"
    lines = [
        {
            "type": "user" if number % 2 == 0 else "assistant",
            "uuid": f"{session}-{number}",
            "sessionId": session,
            "cwd": f"/work/{session}",
            "timestamp": f"{day}T10:{number:02}:00Z",
            "message": {"role": "user" if number % 2 == 0 else "assistant", "content": text},
        }
        for number, text in enumerate(texts)
    ]
    path.write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines), encoding="utf-8")
    return path


def test_a_memory_leaves_every_file_and_the_others_stay(open_gieok: Open, notes: Notes) -> None:
    memory = open_gieok()
    memory.index([notes({"a.md": f"# 급여\n\n{SECRET}", "b.md": f"# 배포\n\n{OTHER}"})])
    (hit,) = [item for item in memory.search_index("급여 명세서", min_score=0) if "급여" in item.summary]
    assert found_in(memory.home)
    report = memory.forget([hit.id], verify=True)
    assert [gone.id for gone in report.memories] == [hit.id]
    assert report.residue == []
    assert found_in(memory.home) == []
    with pytest.raises(UnknownIdError):
        memory.get_details([hit.id])
    assert not [item for item in memory.search_index("급여 명세서 봉투", min_score=0) if item.id == hit.id]
    assert memory.search_index("결제 서버 배포 규칙")[0].score > 0.8
    assert memory.status().vectors.memories == memory.status().words.memories == 1


def test_its_file_stays_is_named_and_is_not_indexed_again(open_gieok: Open, notes: Notes) -> None:
    folder = notes({"a.md": f"# 급여\n\n{SECRET}"})
    memory = open_gieok(**WORDS)
    memory.index([folder])
    report = memory.forget([memory.search_index("급여", min_score=0)[0].id])
    assert report.elsewhere == [str(folder / "a.md")]
    assert report.files == []
    assert memory.index([folder]).skipped == 1
    # It is there again in each way in which a file is read anew: changed, moved, copied.
    (folder / "a.md").write_text(f"# 급여\n\n{SECRET}\n", encoding="utf-8")
    assert memory.index([folder]).forgotten == 1
    (folder / "a.md").rename(folder / "c.md")
    memory.index([folder])
    shutil.copy(folder / "c.md", folder / "d.md")
    assert memory.index([folder]).forgotten == 1
    assert memory.status().memories == 0
    assert found_in(memory.home) == []


def test_undo_lets_the_last_ones_in_again(open_gieok: Open, notes: Notes) -> None:
    folder = notes({"a.md": SECRET, "b.md": OTHER})
    memory = open_gieok(**WORDS)
    memory.index([folder])
    first, second = (memory.search_index(query, min_score=0)[0].id for query in ("급여", "배포"))
    memory.forget([first])
    memory.forget([second])
    assert memory.unforget() == [second]
    memory.index([folder])
    assert memory.get_details([second])[0].content == OTHER
    assert memory.status().memories == 1
    assert memory.unforget() == [first]
    assert memory.unforget() == []
    memory.index([folder])
    assert memory.status().memories == 2


def test_each_selector_takes_what_it_names(open_gieok: Open, tmp_path: Path) -> None:
    talks = tmp_path / "talks"
    transcript(talks, "haru", [f"하루 프로젝트의 {n}번째 결정은 대기열을 나누는 것이다" for n in range(4)])
    transcript(talks, "mir", [f"미르 프로젝트의 {n}번째 결정은 캐시를 비우는 것이다" for n in range(4)], "2026-05-02")
    memory = open_gieok(**WORDS)
    memory.index([talks])

    def chosen(**selector: object) -> set[str]:
        report = memory.forget(dry_run=True, **selector)  # type: ignore[arg-type]
        assert report.dry_run
        return {item.summary[:2] for item in report.memories}

    assert chosen(filter=SearchFilter(session="ha")) == {"하루"}
    assert chosen(filter=SearchFilter(project="mir")) == {"미르"}
    assert chosen(filter=SearchFilter(until="2026-04-01")) == {"하루"}
    assert chosen(matching="캐시를 비우는", min_score=0, top_k=1) == {"미르"}
    assert chosen(matching="결정", min_score=0, filter=SearchFilter(session="haru")) == {"하루"}
    assert chosen(filter=SearchFilter(project="nothing")) == set()
    assert memory.status().memories == 8
    memory.forget(filter=SearchFilter(session="haru"))
    assert memory.status().by_type.keys() <= {"prompt", "response"}
    assert memory.status().memories == 4
    for wrong in ({}, {"ids": ["mem_a"], "matching": "x"}, {"ids": ["mem_a"], "filter": SearchFilter()}):
        with pytest.raises(UsageError, match="what to forget"):
            memory.forget(**wrong)  # type: ignore[arg-type]


def test_what_neighbours_were_lent_goes_too(open_gieok: Open, tmp_path: Path) -> None:
    memory = open_gieok()
    memory.index([transcript(tmp_path / "talks", "s", [OTHER, SECRET, "그렇게 하자고 모두가 동의했다", "끝"])])
    hit = memory.search_index("급여 명세서 봉투", min_score=0)[0]
    before = {rid: memory._legs.vectors.stored(rid) for rid in range(1, 5)}  # type: ignore[union-attr]
    assert memory.forget([hit.id], verify=True).residue == []
    assert memory._legs.words.ownerless(["서랍", "봉투", "화분"]) == []  # type: ignore[union-attr]
    assert all(item.score < 0.8 for item in memory.search_index("화분 밑의 봉투", min_score=0))
    # The turns beside it were embedded with it, and are embedded anew without.
    after = {rid: memory._legs.vectors.stored(rid) for rid in (1, 3)}  # type: ignore[union-attr]
    for rid, kept in after.items():
        old = before[rid]
        assert kept is not None
        assert old is not None
        assert (kept[0] != old[0]).any()


def test_the_same_text_goes_with_it_wherever_it_is_from(open_gieok: Open, notes: Notes) -> None:
    decomposed = unicodedata.normalize("NFD", SECRET)
    folder = notes({"a.md": SECRET, "b.md": decomposed, "c.md": "고마워", "d.md": "고마워", "e.md": OTHER})
    memory = open_gieok(**WORDS)
    memory.index([folder])
    report = memory.forget([memory.search_index("급여", min_score=0)[0].id], verify=True)
    assert [item.also for item in report.memories] in ([None, "the same text"], ["the same text", None])
    assert report.residue == []
    assert found_in(memory.home) == []
    thanks = memory.search_index("고마워", min_score=0)
    assert len(memory.forget([thanks[0].id]).memories) == 1
    assert memory.status().memories == 2


def test_notes_of_the_home_go_with_their_memories(open_gieok: Open) -> None:
    memory = open_gieok(**WORDS)
    kept = memory.remember(OTHER)
    gone = memory.remember(f"# 하나\n\n{SECRET}\n\n# 둘\n\n{'둘째 부분에 관한 이야기. ' * 600}", title="급여 이야기")
    assert len(gone.ids) > 1
    report = memory.forget(gone.ids[:1], verify=True)
    assert [item.id for item in report.memories] == gone.ids
    assert report.files == [f"notes/{Path(gone.path).name}"]
    assert not Path(gone.path).exists()
    assert Path(kept.path).exists()
    assert report.residue == []
    assert found_in(memory.home) == []


def test_a_diary_entry_goes_with_what_was_proposed_from_it(open_gieok: Open) -> None:
    memory = open_gieok(**WORDS)
    line = "배포 전에는 셋째 서랍의 파란 봉투에 적힌 순서를 반드시 따른다"
    days = [datetime(2026, 3, day, tzinfo=UTC).date() for day in (1, 2, 3)]
    entries = [memory.diary(f"## Lessons\n\n- {line}\n", date=day) for day in days]
    folder = memory.home / "diary"
    state = {"targets": {"/x/CLAUDE.md": {"known": [line, "다른 규칙"], "declined": [line]}}, "open": [{"text": line}]}
    (folder / "reflect.json").write_text(json.dumps(state, ensure_ascii=False), encoding="utf-8")
    memory.forget([id_ for entry in entries for id_ in entry.ids])
    assert found_in(memory.home, line) == []
    left = json.loads((folder / "reflect.json").read_text(encoding="utf-8"))
    assert left["targets"]["/x/CLAUDE.md"] == {"known": ["다른 규칙"], "declined": []}


def test_older_copies_of_the_store_go_too(open_gieok: Open, notes: Notes) -> None:
    memory = open_gieok(**WORDS)
    memory.index([notes({"a.md": SECRET})])
    for name in ("memories.db.v1.bak", "memories.db.corrupt-20260101-000000", "memories.db.salvaged-20260101-000000"):
        with sqlite3.connect(memory.home / name) as copy, sqlite3.connect(memory.home / "memories.db") as store:
            store.backup(copy)
    assert len(found_in(memory.home)) >= 4
    report = memory.forget(matching="급여", min_score=0)
    assert len(report.backups) == 3
    assert found_in(memory.home) == []


def test_a_query_forgets_nothing_that_is_rather_not_meant(open_gieok: Open, notes: Notes) -> None:
    memory = open_gieok()
    memory.index([notes({f"{n}.md": f"{n}번째 회의에서는 {text}" for n, text in enumerate([SECRET, OTHER] * 3)})])
    assert memory.search_index("팀 회식 장소", min_score=0)
    assert memory.forget(matching="팀 회식 장소").memories == []
    assert {"급여" in item.summary for item in memory.forget(matching="급여 명세서 봉투가 든 서랍").memories} == {True}
    assert memory.status().memories == 3


def test_a_dry_run_changes_no_byte(open_gieok: Open, notes: Notes) -> None:
    memory = open_gieok(**WORDS)
    memory.index([notes({"a.md": SECRET})])

    def state() -> dict[str, str]:
        files = [path for path in memory.home.rglob("*") if path.is_file() and not path.name.endswith("-shm")]
        return {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}

    before = state()
    assert len(memory.forget(matching="급여", min_score=0, dry_run=True).memories) == 1
    assert state() == before


class Killed(BaseException):
    """Ends everything, as a kill does."""


@pytest.mark.parametrize("place", [(Legs, "purge"), (Store, "cleaned"), (Store, "due")], ids=lambda p: p[1])
@pytest.mark.parametrize("how", ["index", "forget", "rebuild", "repair"])
def test_what_a_kill_left_undone_is_finished(
    open_gieok: Open, notes: Notes, monkeypatch: pytest.MonkeyPatch, place: tuple[type, str], how: str
) -> None:
    memory = open_gieok(**WORDS)
    note = memory.remember(SECRET)
    memory.index([notes({"b.md": OTHER})])

    def killed(*_: object) -> None:
        raise Killed

    with monkeypatch.context() as patch:
        real = getattr(*place)
        calls = iter([real, killed]) if place[1] == "due" else iter([killed])  # the first look finds nothing due
        patch.setattr(*place, lambda *arguments: next(calls)(*arguments))
        with pytest.raises(Killed):
            memory.forget(note.ids)
    memory.close()
    assert [f.check for f in diagnose(memory.home).findings if f.level == "problem"] == ["forget"]
    if how == "repair":
        said = list(repair(diagnose(memory.home), Settings.model_validate(WORDS), ask=lambda _: False))
        assert said == ["forget: no file holds any more what was forgotten"]
    again = open_gieok(**WORDS)
    if how == "index":
        assert again.index().notices == []
    elif how == "forget":
        again.forget(matching="없는 것")
    elif how == "rebuild":
        again.rebuild()
    assert found_in(memory.home) == []
    assert not [f for f in diagnose(memory.home).findings if f.level == "problem"]
    assert again.search_index("결제 서버 배포", min_score=0)[0].summary.startswith("금요일")


def test_a_reader_in_the_way_is_said_and_the_next_call_finishes(open_gieok: Open, notes: Notes) -> None:
    memory = open_gieok(**WORDS, store={"busy_timeout": 0.2})
    memory.index([notes({"a.md": SECRET})])
    reader = sqlite3.connect(memory.home / "memories.db", isolation_level=None)
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM memories").fetchone()
    with pytest.raises(StoreBusyError):
        memory.forget(matching="급여", min_score=0)
    (notice,) = memory.index().notices
    assert "not finished" in notice.reason
    assert memory.status().memories == 0
    reader.close()
    assert memory.index().notices == []
    assert found_in(memory.home) == []


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("left.txt", b"xxx" + SECRET.encode()),
        ("words/left.bin", bytes(range(256)) * 9 + unicodedata.normalize("NFD", SECRET).encode()),
        ("left16", b"\0" + SECRET.encode("utf-16-le")),
        ("left.json", json.dumps({"text": SECRET}).encode()),
        ("vector", b"?" * 5),
    ],
)
def test_verify_finds_what_is_left(open_gieok: Open, notes: Notes, name: str, data: bytes) -> None:
    memory = open_gieok()
    memory.index([notes({"a.md": SECRET})])
    if name == "vector":
        data += memory._legs.vectors.stored(1)[0].tobytes()  # type: ignore[union-attr, index]
    (memory.home / name).write_bytes(data)
    residue = memory.forget(matching="급여", min_score=0, verify=True).residue
    assert residue
    assert {place.path for place in residue} == {name}
    assert {place.what for place in residue} == {"a vector" if name == "vector" else "text"}


TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=60, max_size=300)


@given(TEXTS, st.integers(0, 3000), st.sampled_from(["utf-8", "utf-16-le"]), st.sampled_from(["NFC", "NFD"]), st.data())
def test_any_48_bytes_that_are_left_are_found(
    tmp_path_factory: pytest.TempPathFactory, text: str, offset: int, encoding: str, form: str, data: st.DataObject
) -> None:
    whole = unicodedata.normalize(form, text).encode(encoding)  # type: ignore[arg-type]
    start = data.draw(st.integers(0, max(len(whole) - 48, 0)))
    home = tmp_path_factory.mktemp("home")
    (home / "file").write_bytes(b"\x01" * offset + whole[start : start + 48] + b"\x01" * 7)
    assert list(scan(home, text_pieces(text), lambda *_: False))


def test_what_living_memories_say_is_no_residue(open_gieok: Open, notes: Notes) -> None:
    memory = open_gieok(**WORDS)
    memory.index([notes({"a.md": f"# 하나\n\n{OTHER}. {SECRET}", "b.md": f"# 둘\n\n{OTHER}. 그리고 이유가 있다"})])
    report = memory.forget(matching="급여 명세서", top_k=1, min_score=0, verify=True)
    assert report.residue == []
    assert len(report.memories) == 1
    assert found_in(memory.home) == []
    assert found_in(memory.home, OTHER)


QUERY = ("--matching", "급여 명세서 봉투", "-k", "1")


def forget(home: Path, *arguments: str, typed: str | None = None) -> tuple[int, str, str]:
    done = CliRunner().invoke(app, ["forget", *arguments, "--home", str(home)], input=typed)
    return done.exit_code, done.stdout, done.stderr


def test_the_command_shows_asks_and_forgets(open_gieok: Open, notes: Notes, monkeypatch: pytest.MonkeyPatch) -> None:
    memory = open_gieok()
    memory.index([notes({"a.md": SECRET, "b.md": OTHER})])
    home = memory.home
    code, out, err = forget(home, *QUERY)
    assert code == 2
    assert "급여 명세서" in out
    assert "--yes" in err
    monkeypatch.setattr("pipeline.cli.forgetting._terminal", lambda: True)
    code, _, err = forget(home, *QUERY, typed="n\n")
    assert code == 1
    assert "Nothing was forgotten" in err
    assert memory.status().memories == 2
    code, out, _ = forget(home, *QUERY, "--verify", typed="y\n")
    assert code == 0
    assert "Forgotten: 1 memory" in out
    assert "no file of the store holds any of it" in out
    assert found_in(home) == []
    assert forget(home, "--session", "없는 세션", "--yes")[0] == 1
    code, out, _ = forget(home, "--undo")
    assert (code, out) == (0, "1 memory may come back. Index its file again: gieok index PATH\n")


def test_the_command_in_json(open_gieok: Open, tmp_path: Path) -> None:
    memory = open_gieok(**WORDS)
    talks = tmp_path / "talks"
    for day in (1, 2):
        transcript(talks, f"s{day}", [f"{day}일에는 대기열을 둘로 나누기로 했다"], f"2026-03-0{day}")
    memory.index([talks])
    code, out, _ = forget(memory.home, "--before", "2026-03-02", "--dry-run", "--json")
    assert code == 0
    shown = json.loads(out)
    assert [item["summary"][:2] for item in shown["memories"]] == ["1일"]
    code, out, _ = forget(memory.home, shown["memories"][0]["id"][:9], "--yes", "--json", "--verify")
    assert code == 0
    assert json.loads(out)["residue"] == []
    assert json.loads(out)["elsewhere"] == [str(talks / "s1.jsonl")]
    for wrong in (
        ["--json", "--matching", "x"],
        ["--before", "gestern"],
        ["--undo", "--yes", "--session", "s"],
        ["-k", "1"],
    ):
        assert forget(memory.home, *wrong)[0] == 2, wrong
