"""A damaged store: what can be read is saved, what can't is named, and the original stays as it was."""

from __future__ import annotations

import contextlib
import random
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from pipeline import Gieok, Settings
from pipeline.cli import app
from pipeline.doctor import agents, derived
from pipeline.doctor.pages import Pages
from pipeline.doctor.salvage import Salvaged, salvage

MANY = 60
LONG = "긴 글 " * 4000  # stands on chained pages
NOTES: dict[str, str | bytes] = {
    f"{n:02d}.md": f"---\ntags: [t{n}]\n---\n# 제목 {n}\n\n고유단어{n} 배포 메모 {LONG[: n * 60]}" for n in range(MANY)
}
WORDS_ONLY = Settings.model_validate({"embedder": {"model": "none"}})


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(agents, "check_hook", lambda home, config: iter(()))
    monkeypatch.setattr(derived, "check_model", lambda settings: iter(()))
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", "/nonexistent")
    monkeypatch.setenv("GIEOK_EMBEDDER_MODEL", "none")


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    top = tmp_path_factory.mktemp("salvage")
    (top / "notes").mkdir()
    for name, text in NOTES.items():
        (top / "notes" / name).write_text(str(text), encoding="utf-8")
    with Gieok.open(top / "home", WORDS_ONLY) as memory:
        memory.index([top / "notes"])
    return top


@pytest.fixture
def home(template: Path, tmp_path: Path) -> Path:
    return shutil.copytree(template / "home", tmp_path / "home")


def rows(path: Path) -> dict[str, str]:
    with contextlib.closing(sqlite3.connect(path)) as db:
        return dict(db.execute("SELECT id, content FROM memories"))


def saved_from(home: Path) -> tuple[Salvaged, dict[str, str]]:
    work = home / "work"
    work.mkdir()
    target = home / "saved.db"
    return salvage(home / "memories.db", target, work), rows(target)


def overwrite(path: Path, page: int, *, size: int = 4096, start: int = 0) -> None:
    data = bytearray(path.read_bytes())
    data[page * size + start : (page + 1) * size] = random.Random(page).randbytes(size - start)
    path.write_bytes(data)


def test_a_sound_store_is_saved_whole(home: Path) -> None:
    before = rows(home / "memories.db")
    result, after = saved_from(home)
    assert after == before
    assert result.complete
    assert (result.memories, result.sources) == (len(before), MANY)
    tables = ("memories", "sources", "occurrences", "tags", "forgotten")
    with (
        contextlib.closing(sqlite3.connect(home / "memories.db")) as old,
        contextlib.closing(sqlite3.connect(home / "saved.db")) as new,
    ):
        for table in tables:
            query = f"SELECT * FROM {table} ORDER BY 1, 2"
            assert new.execute(query).fetchall() == old.execute(query).fetchall()


def test_what_was_removed_or_forgotten_does_not_come_back(home: Path) -> None:
    with contextlib.closing(sqlite3.connect(home / "memories.db")) as db:
        db.execute("PRAGMA secure_delete = OFF")  # the rows stay on their free pages
        gone = [name for (name,) in db.execute("SELECT id FROM memories WHERE rid % 2 = 0")]
        forgotten = [name for (name,) in db.execute("SELECT id FROM memories WHERE rid = 1")]
        db.execute("DELETE FROM memories WHERE rid % 2 = 0")
        db.execute("INSERT INTO forgotten SELECT id, 'mark', 1, 0 FROM memories WHERE rid = 1")
        db.commit()
    result, after = saved_from(home)
    assert not set(after) & {*gone, *forgotten}
    assert result.forgotten == 1
    assert len(after) == len(rows(home / "memories.db")) - 1


def test_what_is_only_in_the_log_is_saved_and_what_was_not_committed_is_not(home: Path) -> None:
    store = home / "memories.db"
    with contextlib.closing(sqlite3.connect(store, isolation_level=None)) as db:
        db.execute("PRAGMA wal_autocheckpoint = 0")
        db.execute("UPDATE memories SET content = '로그에만 있다', sequence = 10000 WHERE rid = 1")
        db.execute("PRAGMA cache_size = 1")
        db.execute("BEGIN")
        db.execute("UPDATE memories SET content = content || '아직 아니다' WHERE rid > 1")  # spills into the log
        for suffix in ("", "-wal"):
            shutil.copy(f"{store}{suffix}", f"{home / 'copy.db'}{suffix}")
        db.execute("ROLLBACK")
    for suffix in ("", "-wal"):
        shutil.move(f"{home / 'copy.db'}{suffix}", f"{store}{suffix}")
    (home / "memories.db-shm").unlink(missing_ok=True)
    result, after = saved_from(home)
    assert result.complete
    assert sum(text == "로그에만 있다" for text in after.values()) == 1
    assert not any("아직 아니다" in text for text in after.values())


@pytest.mark.parametrize("start", [0, 100])
def test_a_damaged_first_page_costs_no_memory(home: Path, start: int) -> None:
    before = rows(home / "memories.db")
    overwrite(home / "memories.db", 0, start=start)
    result, after = saved_from(home)
    assert after == before
    assert result.lost == []
    assert result.orphans == len(before)  # whose they are stood behind the table of tables


def test_a_damaged_header_alone_costs_nothing(home: Path) -> None:
    before = rows(home / "memories.db")
    data = bytearray((home / "memories.db").read_bytes())
    data[:100] = b"\xff" * 100
    (home / "memories.db").write_bytes(data)
    result, after = saved_from(home)
    assert after == before
    assert result.orphans == 0


def test_every_single_damaged_page_costs_only_what_stood_on_it(home: Path) -> None:
    store = home / "memories.db"
    before, sound = rows(store), store.read_bytes()
    pages = len(sound) // 4096
    lost_somewhere = set()
    for page in range(0, pages, max(1, pages // 40)):
        store.write_bytes(sound)
        overwrite(store, page)
        for left in (home / "work", home / "saved.db"):
            shutil.rmtree(left) if left.is_dir() else left.unlink(missing_ok=True)
        result, after = saved_from(home)
        assert all(before[name] == text for name, text in after.items() if name not in result.damaged)
        missing = set(before) - set(after)
        assert len(missing) <= 25  # short notes: so many stand on one page
        assert missing == set(result.lost)  # each is named
        lost_somewhere |= missing
    assert lost_somewhere


def test_a_file_that_is_cut_off_is_saved_up_to_there(home: Path) -> None:
    store = home / "memories.db"
    before = rows(store)
    store.write_bytes(store.read_bytes()[: store.stat().st_size // 2])
    result, after = saved_from(home)
    assert 0 < len(after) < len(before)
    assert set(before) - set(after) >= set(result.lost)
    assert all(before[name] == text for name, text in after.items())


@settings(max_examples=40, deadline=None)
@given(data=st.binary(max_size=3000), at=st.integers(0, 60_000))
def test_any_bytes_are_read_without_an_error(template: Path, data: bytes, at: int) -> None:
    sound = bytearray((template / "home" / "memories.db").read_bytes())
    sound[at : at + len(data)] = data
    place = template / "fuzzed.db"
    place.write_bytes(sound)
    assert sum(1 for _ in Pages(place).records()) >= 0
    place.write_bytes(data)
    assert list(Pages(place).records()) == [] or data


# --- the command ------------------------------------------------------------------------------------------


def run(*arguments: str, answer: str | None = None) -> Any:
    return CliRunner().invoke(app, list(arguments), prog_name="gieok", input=answer)


def test_repair_saves_exchanges_and_keeps_the_original(home: Path) -> None:
    before = rows(home / "memories.db")
    overwrite(home / "memories.db", 0)
    damaged = (home / "memories.db").read_bytes()
    assert run("search", "고유단어7", "--home", str(home)).exit_code == 2
    result = run("doctor", "--repair", "--yes", "--home", str(home))
    assert f"saved {len(before)} memories" in result.stdout
    (kept,) = home.glob("memories.db.corrupt-*")
    assert kept.read_bytes() == damaged
    assert rows(home / "memories.db") == before
    assert "고유단어7 " in run("search", "고유단어7", "--home", str(home)).stdout
    assert run("doctor", "--deep", "--home", str(home)).exit_code == 0
    assert not list(home.glob("salvage*"))
    assert not list(home.glob("*.new*"))


def test_without_yes_nothing_is_exchanged(home: Path) -> None:
    overwrite(home / "memories.db", 0)
    damaged = (home / "memories.db").read_bytes()
    result = run("doctor", "--repair", "--home", str(home))
    assert result.exit_code == 2
    assert (home / "memories.db").read_bytes() == damaged
    (saved,) = home.glob("memories.db.salvaged-*")
    assert len(rows(saved)) > 0
    assert str(saved) in result.stdout


def test_what_was_lost_comes_back_from_the_files(home: Path, template: Path) -> None:
    store = home / "memories.db"
    before = rows(store)
    with contextlib.closing(sqlite3.connect(store)) as db:
        leaves = [page for page in range(1, store.stat().st_size // 4096) if store.read_bytes()[page * 4096] == 0x0D]
        assert db.execute("PRAGMA quick_check").fetchone() == ("ok",)
    for page in leaves[2:5]:
        overwrite(store, page)
    result = run("doctor", "--repair", "--yes", "--home", str(home))
    assert "gieok index" in result.stdout
    assert len(rows(store)) <= len(before)
    assert run("index", str(template / "notes"), "--home", str(home)).exit_code == 0
    assert rows(store) == before
    assert run("doctor", "--deep", "--home", str(home)).exit_code == 0


def test_vectors_of_what_is_saved_stay(tmp_path: Path, notes: Callable[..., Path]) -> None:
    with Gieok.open(tmp_path / "home", Settings()) as memory:
        memory.index([notes({f"{n}.md": f"고유단어{n} 메모" for n in range(4)})])
        name = memory._store.store_id
    home = tmp_path / "home"
    mark = (home / "vectors" / "vectors.0").stat().st_mtime_ns
    data = bytearray((home / "memories.db").read_bytes())
    data[:100] = b"\0" * 100
    (home / "memories.db").write_bytes(data)
    run("doctor", "--repair", "--yes", "--home", str(home))
    with Gieok.open(home, Settings()) as memory:
        assert memory._store.store_id == name
        assert memory.status().vectors.memories == 4
        assert memory.status().vectors.problem is None
        assert memory.search_index("고유단어2")[0].summary.startswith("고유단어2")
    assert (home / "vectors" / "vectors.0").stat().st_mtime_ns == mark


def test_a_repair_that_was_killed_between_the_renames_is_finished(home: Path) -> None:
    before = rows(home / "memories.db")
    shutil.copy(home / "memories.db", home / "memories.db.salvaged-20260101-000000")
    overwrite(home / "memories.db", 0)
    (home / "memories.db.corrupt-20260101-000000").hardlink_to(home / "memories.db")
    result = run("doctor", "--repair", "--home", str(home))
    assert "interrupted repair is finished" in result.stdout
    assert rows(home / "memories.db") == before
    assert not list(home.glob("memories.db.salvaged-*"))
