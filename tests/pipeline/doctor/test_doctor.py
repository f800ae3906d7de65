from __future__ import annotations

import contextlib
import json
import os
import shutil
import sqlite3
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from pipeline import Gieok, Settings
from pipeline.cli import app
from pipeline.doctor import Diagnosis, Finding, agents, derived, diagnose, environment, folder

NOTES: dict[str, str | bytes] = {f"{n}.md": f"# 제목 {n}\n\n고유단어{n} 배포 메모" for n in range(5)}


CHECK_MODEL = derived.check_model


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """What takes most of a diagnosis has tests of its own."""
    monkeypatch.setattr(agents, "check_hook", lambda home, config: iter(()))
    monkeypatch.setattr(derived, "check_model", lambda settings: iter(()))
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", "/nonexistent")


@pytest.fixture
def home(tmp_path: Path, notes: Callable[..., Path]) -> Path:
    with Gieok.open(tmp_path / "home", Settings()) as memory:
        memory.index([notes(NOTES)])
        return memory.home


def said(diagnosis: Diagnosis, check: str) -> list[Finding]:
    return [finding for finding in diagnosis.findings if finding.check == check]


def one(diagnosis: Diagnosis, check: str) -> Finding:
    (finding,) = said(diagnosis, check)
    return finding


def flip(path: Path, at: int) -> None:
    data = bytearray(path.read_bytes())
    data[at] ^= 0x10
    path.write_bytes(data)


def snapshot(home: Path) -> dict[str, bytes]:
    return {
        str(p.relative_to(home)): p.read_bytes() for p in home.rglob("*") if p.is_file() and not p.name.endswith("-shm")
    }


# --- a store that is well -------------------------------------------------------------------------


@pytest.mark.parametrize("deep", [False, True])
def test_a_store_that_is_well(home: Path, deep: bool) -> None:
    before = snapshot(home)
    found = diagnose(home, deep=deep)
    assert found.worst == "ok", [f for f in found.findings if f.level != "ok"]
    checks = {finding.check for finding in found.findings}
    assert checks >= {
        "python", "sqlite", "packages", "names", "processor", "settings", "store", "memories", "words",
        "vectors", "permissions", "disk", "leftovers", "clock",
    }  # fmt: skip
    assert "5 memories from 5 sources" in one(found, "memories").what
    after = snapshot(home)
    after.pop("memories.db-wal", None)
    before.pop("memories.db-wal", None)
    assert after == before


def test_a_store_in_use_is_well(home: Path) -> None:
    with Gieok.open(home, Settings()) as memory:
        memory.search_index("배포")
        assert diagnose(home).worst == "ok"


# --- where there is no store ------------------------------------------------------------------------


@pytest.mark.parametrize("there", [False, True])
def test_a_mistyped_home_is_named_and_not_made(tmp_path: Path, there: bool) -> None:
    typo = tmp_path / "hoem"
    if there:
        typo.mkdir()
    found = diagnose(typo)
    assert one(found, "store").level == "problem"
    assert str(typo) in one(found, "store").what
    assert "gieok index" in (one(found, "store").mend or "")
    assert typo.exists() == there
    assert not there or list(typo.iterdir()) == []


# --- damage: each is found, named and mended ----------------------------------------------------------


def damage_vectors(home: Path) -> None:
    flip(home / "vectors" / "vectors.0", 1000)  # one bit, which no search would notice


def damage_spans(home: Path) -> None:
    flip(home / "vectors" / "spans.0", 2)


def damage_entries(home: Path) -> None:
    flip(home / "vectors" / "entries.0", 9)  # a time


def cut_vectors(home: Path) -> None:
    path = home / "vectors" / "vectors.0"
    path.write_bytes(path.read_bytes()[:-1])


def lose_vectors(home: Path) -> None:
    (home / "vectors" / "vectors.0").unlink()


def damage_manifest(home: Path) -> None:
    (home / "vectors" / "manifest.json").write_text("{", encoding="utf-8")


def foreign_vectors(home: Path) -> None:
    path = home / "vectors" / "manifest.json"
    path.write_text(path.read_text(encoding="utf-8").replace("e5-small-ko-en@", "other@"), encoding="utf-8")


@pytest.mark.parametrize(
    "damage",
    [damage_vectors, damage_spans, damage_entries, cut_vectors, lose_vectors, damage_manifest, foreign_vectors],
)
def test_damaged_vectors_are_found_and_mended(home: Path, damage: Callable[[Path], None]) -> None:
    damage(home)
    finding = one(diagnose(home), "vectors")
    assert (finding.level, finding.part) == ("problem", "vectors")
    assert "gieok rebuild" in (finding.mend or "")
    assert run("doctor", "--repair", "--home", str(home)).exit_code == 0
    assert diagnose(home).worst == "ok"


def words_files(home: Path) -> list[Path]:
    return sorted(p for p in (home / "words").iterdir() if p.suffix in {".idx", ".store", ".term", ".fast"})


@pytest.mark.parametrize("which", range(4))
def test_one_flipped_bit_in_the_word_index_is_found_and_mended(home: Path, which: int) -> None:
    file = words_files(home)[which]
    flip(file, file.stat().st_size // 3)
    finding = one(diagnose(home), "words")
    assert (finding.level, finding.part) == ("problem", "words")
    assert file.name in finding.what
    assert run("doctor", "--repair", "--home", str(home)).exit_code == 0
    assert diagnose(home).worst == "ok"


def test_a_word_index_that_lost_files_or_memories_is_found(home: Path) -> None:
    words_files(home)[0].unlink()
    assert one(diagnose(home), "words").level == "problem"
    with contextlib.closing(sqlite3.connect(home / "memories.db")) as db:
        db.execute("DELETE FROM memories WHERE rid = 1")  # behind the back of both indexes
        db.commit()
    run("rebuild", "words", "--home", str(home))
    assert "holds 5 memories, the store 4" in one(diagnose(home), "vectors").what


def test_what_lags_is_a_warning_with_the_command(home: Path, notes: Callable[..., Path]) -> None:
    with Gieok.open(home, Settings()) as memory:
        memory.index([notes({"x.md": "새 메모"}, "more")], vectors=False)
    finding = one(diagnose(home), "vectors")
    assert (finding.level, finding.mend) == ("warn", "gieok index")


def test_an_older_store_that_was_put_back_is_found(home: Path, notes: Callable[..., Path], tmp_path: Path) -> None:
    shutil.copy(home / "memories.db", tmp_path / "old.db")
    with Gieok.open(home, Settings()) as memory:
        memory.index([notes({"x.md": "새 메모"}, "more")])
    shutil.copy(tmp_path / "old.db", home / "memories.db")
    found = diagnose(home)
    assert "older store" in one(found, "words").what
    assert "older store" in one(found, "vectors").what
    assert run("doctor", "--repair", "--home", str(home)).exit_code == 0


@pytest.mark.parametrize("content", [b"", b"\xff" * 5000, b"SQLite format 3\0" + b"\xff" * 5000, b"x", None])
def test_a_file_that_is_no_store_never_breaks_the_doctor(home: Path, content: bytes | None) -> None:
    for path in home.glob("memories.db*"):
        path.unlink()
    if content is None:
        os.mkfifo(home / "memories.db")
    else:
        (home / "memories.db").write_bytes(content)
    found = diagnose(home)
    assert one(found, "store").level == "problem"
    assert one(found, "store").mend or "backup" in one(found, "store").what
    result = run("doctor", "--repair", "--yes", "--home", str(home))
    assert result.exit_code == 2
    assert "Traceback" not in result.output
    assert content is None or (home / "memories.db").read_bytes() == content


def test_a_database_of_another_program_is_named_and_left_alone(tmp_path: Path) -> None:
    with contextlib.closing(sqlite3.connect(tmp_path / "memories.db")) as db:
        db.execute("CREATE TABLE songs (title)")
        db.commit()
    before = snapshot(tmp_path)
    found = diagnose(tmp_path)
    assert "another program" in one(found, "store").what
    assert run("doctor", "--repair", "--yes", "--home", str(tmp_path)).exit_code == 2
    assert snapshot(tmp_path) == before


def test_memories_that_contradict_each_other_are_named(home: Path) -> None:
    with contextlib.closing(sqlite3.connect(home / "memories.db")) as db:
        db.execute("DELETE FROM occurrences WHERE rid = 1")
        db.execute("UPDATE memories SET tags = 'no json' WHERE rid = 2")
        db.execute("INSERT INTO tags VALUES ('x', 999)")
        ids = [row[0] for row in db.execute("SELECT id FROM memories WHERE rid < 3 ORDER BY rid")]
        db.commit()
    what = one(diagnose(home), "memories").what
    assert all(name in what for name in ids)
    assert "1 rows refer to something" in what


def test_text_that_is_no_utf8_is_found_by_a_deep_look(home: Path) -> None:
    with contextlib.closing(sqlite3.connect(home / "memories.db")) as db:
        db.execute("UPDATE memories SET content = CAST(x'ffc0' AS TEXT) WHERE rid = 3")
        name = db.execute("SELECT id FROM memories WHERE rid = 3").fetchone()[0]
        db.commit()
    assert name in one(diagnose(home, deep=True), "memories").what


def test_a_store_of_another_schema(home: Path) -> None:
    with contextlib.closing(sqlite3.connect(home / "memories.db")) as db:
        db.execute("PRAGMA user_version = 1")
    assert said(diagnose(home), "store")[0].level == "warn"
    with contextlib.closing(sqlite3.connect(home / "memories.db")) as db:
        db.execute("PRAGMA user_version = 99")
    assert "newer gieok" in one(diagnose(home), "store").what


# --- the folder -------------------------------------------------------------------------------------


def test_what_others_may_read_is_named_and_closed(home: Path) -> None:
    home.chmod(0o755)
    (home / "memories.db").chmod(0o644)
    finding = one(diagnose(home), "permissions")
    assert finding.level == "warn"
    assert "memories.db" in finding.what
    assert "chmod" in (finding.mend or "")
    run("doctor", "--repair", "--home", str(home))
    assert (home.stat().st_mode & 0o777, (home / "memories.db").stat().st_mode & 0o777) == (0o700, 0o600)
    assert one(diagnose(home), "permissions").level == "ok"


def test_leftovers_of_killed_commands_are_deleted_and_fresh_ones_are_not(home: Path) -> None:
    old = [home / "words" / "manifest.json.new", home / "noise.0123abcd.npz", home / "memories.db.v1.bak.new"]
    for path in old:
        path.touch()
        os.utime(path, (1, 1))
    fresh = home / "vectors" / "manifest.json.new"
    fresh.touch()
    assert "3 temporary files" in said(diagnose(home), "leftovers")[0].what
    run("doctor", "--repair", "--home", str(home))
    assert not any(path.exists() for path in old)
    assert fresh.exists()


def test_kept_copies_are_named_and_stay(home: Path) -> None:
    for name in ("memories.db.v1.bak", "memories.db.corrupt-20260101-000000"):
        (home / name).touch()
    run("doctor", "--repair", "--home", str(home))
    assert "hold memories, too" in said(diagnose(home), "leftovers")[0].what
    assert (home / "memories.db.v1.bak").exists()


def test_little_room_is_named(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = shutil.disk_usage(home)
    monkeypatch.setattr(folder.shutil, "disk_usage", lambda _: usage._replace(free=50_000_000))
    assert one(diagnose(home), "disk").level == "warn"
    monkeypatch.setattr(folder.shutil, "disk_usage", lambda _: usage._replace(free=5_000))
    assert one(diagnose(home), "disk").level == "problem"


@pytest.mark.skipif(sys.platform != "linux", reason="the system does not list locks")
def test_who_holds_a_lock_is_named(home: Path) -> None:
    from pipeline.home import Home

    with Home(home).lock("vectors"):
        assert one(diagnose(home), "locks").what == f"held: vectors.lock by process {os.getpid()}"
    assert one(diagnose(home), "locks").what == "none is held"


def fake_process(proc: Path, pid: int, command: list[str], *, parent: int, started: int) -> None:
    entry = proc / str(pid)
    entry.mkdir(parents=True)
    (entry / "cmdline").write_bytes("\0".join(command).encode() + b"\0")
    (entry / "stat").write_text(f"{pid} (a b) c) S {parent} " + "0 " * 17 + f"{started} 0")


def test_processes_are_recognised(tmp_path: Path) -> None:
    (tmp_path / "uptime").write_text("100000.0 5")
    fake_process(tmp_path, 11, ["/usr/bin/python", "/x/bin/gieok", "mcp"], parent=1, started=0)
    fake_process(tmp_path, 12, ["python", "-m", "pipeline", "search", "x"], parent=7, started=9_999_900)
    fake_process(tmp_path, 13, ["vim", "notes/gieok.md"], parent=1, started=0)
    fake_process(tmp_path, 14, ["grep", "-r", "-i", "x", "/src/gieok"], parent=1, started=0)
    found = {process.pid: process for process in folder.gieok_processes(tmp_path)}
    assert set(found) == {11, 12}
    assert found[11].orphan
    assert found[11].age == pytest.approx(100_000, abs=1)
    assert not found[12].orphan


def test_leftover_processes_are_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    orphan = folder.Process(11, "gieok mcp", 1e6, True)
    monkeypatch.setattr(folder, "gieok_processes", lambda: [orphan])
    (finding,) = folder.check_processes()
    assert finding.level == "warn"
    assert "11 (gieok mcp" in finding.what
    monkeypatch.setattr(folder, "gieok_processes", lambda: [folder.Process(11, "gieok mcp", 1e6, False)])
    assert next(iter(folder.check_processes())).level == "ok"


# --- the environment ----------------------------------------------------------------------------------


def test_a_package_outside_its_bounds_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    real = environment.metadata.version
    monkeypatch.setattr(environment.metadata, "version", lambda name: "0.1" if name == "tantivy" else real(name))
    (finding,) = environment.check_packages()
    assert finding.level == "problem"
    assert "tantivy is 0.1" in finding.what


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    real = environment.metadata.version

    def version(name: str) -> str:
        if name == "lru-dict":
            raise environment.metadata.PackageNotFoundError(name)
        return real(name)

    monkeypatch.setattr(environment.metadata, "version", version)
    (finding,) = environment.check_packages()
    assert "lru-dict is missing" in finding.what


def test_a_folder_that_hides_our_packages_is_a_warning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "pipeline").mkdir()
    (tmp_path / "pipeline" / "__init__.py").touch()
    (tmp_path / "eval.py").touch()
    monkeypatch.chdir(tmp_path)
    found = list(environment.check_names())
    assert [finding.level for finding in found] == ["warn", "warn"]
    assert str(tmp_path / "pipeline" / "__init__.py") in found[0].what


def test_another_distribution_with_our_names_is_a_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        environment.metadata, "packages_distributions", lambda: {"pipeline": ["gieok", "other-pipeline"]}
    )
    (finding,) = environment.check_names()
    assert finding.level == "problem"
    assert "other-pipeline" in finding.what


def test_an_old_sqlite_is_a_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(environment.sqlite3, "sqlite_version_info", (3, 30, 0))
    assert [finding.level for finding in environment.check_python()] == ["ok", "problem"]


def test_settings_that_are_wrong_are_named_and_the_rest_goes_on(home: Path, tmp_path: Path) -> None:
    config = tmp_path / "config.toml"
    config.write_text("[layer1]\ntop_q = 3\n", encoding="utf-8")
    found = diagnose(home, config)
    assert "layer1.top_q" in one(found, "settings").what
    assert one(found, "words").level == "ok"


def test_the_model_is_loaded_and_named() -> None:
    (finding,) = CHECK_MODEL(Settings())
    assert "e5-small-ko-en@" in finding.what
    assert list(CHECK_MODEL(Settings.model_validate({"embedder": {"model": "none"}}))) == []


def test_a_model_that_cannot_be_had_is_named(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIEOK_EMBEDDER_MODEL", "no/such-model")
    (finding,) = CHECK_MODEL(Settings.load())
    assert finding.level == "problem"
    assert said(diagnose(home), "vectors") == []


def test_a_clock_that_went_wrong(home: Path) -> None:
    os.utime(home / "memories.db", (time.time() + 1e6,) * 2)
    assert one(diagnose(home), "clock").level == "warn"


def test_a_check_that_fails_is_a_finding(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> Any:
        raise RuntimeError("no idea")

    monkeypatch.setattr(folder, "check_room", broken)
    finding = one(diagnose(home), "disk")
    assert (finding.level, "no idea" in finding.what) == ("problem", True)


# --- the command ----------------------------------------------------------------------------------------


def run(*arguments: str) -> Any:
    return CliRunner().invoke(app, list(arguments), prog_name="gieok")


def test_the_command_says_all_and_ends_with_its_code(home: Path) -> None:
    result = run("doctor", "--home", str(home))
    assert result.exit_code == 0
    assert "All is well." in result.stdout
    damage_vectors(home)
    result = run("doctor", "--home", str(home))
    assert result.exit_code == 2
    assert "mend: gieok rebuild vectors" in result.stdout
    assert result.stderr == "Problems: vectors\n"


def test_json_is_json_and_nothing_else(home: Path) -> None:
    damage_vectors(home)
    result = run("doctor", "--json", "--home", str(home))
    found = json.loads(result.stdout)
    assert found["home"] == str(home)
    assert {"level": "problem", "check": "vectors"}.items() <= next(
        f for f in found["findings"] if f["check"] == "vectors"
    ).items()
    assert json.loads(run("doctor", "--json", "--repair", "--home", str(home)).stdout)["findings"]


def test_a_warning_is_no_failure(home: Path) -> None:
    home.chmod(0o755)
    assert run("doctor", "--home", str(home)).exit_code == 0
