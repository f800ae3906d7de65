"""Who only reads makes nothing, and needs to write nothing."""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from indexes.errors import NoStoreError, StoreError
from pipeline import Gieok, Settings

ROOT = Path(__file__).parents[2]
NOTES = {"a.md": "배포는 금요일에 금지한다", "b.md": "점심은 국수를 먹었다"}
PR_CAPBSET_DROP, CAP_DAC_OVERRIDE = 24, 1


def obey_modes() -> None:
    """Let root, too, write only where the mode allows it."""
    if os.geteuid() == 0:
        ctypes.CDLL(None).prctl(PR_CAPBSET_DROP, CAP_DAC_OVERRIDE)


def readable(folder: Path, *, writable: bool) -> None:
    for path in [folder, *folder.rglob("*")]:
        path.chmod((0o755 if writable else 0o555) if path.is_dir() else (0o644 if writable else 0o444))


@pytest.fixture
def frozen(notes: Callable[..., Path]) -> Iterator[Path]:
    """A home that the process of `gieok` below can read and not write."""
    home = Path(tempfile.mkdtemp(prefix="gieok-frozen-"))
    with Gieok.open(home, Settings()) as memory:
        memory.index([notes(NOTES)])
    readable(home, writable=False)
    yield home
    readable(home, writable=True)
    shutil.rmtree(home)


def gieok(home: Path, *arguments: str, model: str = "none") -> subprocess.CompletedProcess[str]:
    environment = {
        **os.environ,
        "GIEOK_EMBEDDER_MODEL": model,
        "HOME": "/nonexistent",
        "XDG_CONFIG_HOME": "/nonexistent",
    }
    return subprocess.run(
        [sys.executable, "-m", "pipeline", *arguments, "--home", str(home)],
        cwd=ROOT, env=environment, capture_output=True, text=True, check=False, timeout=60, preexec_fn=obey_modes,
    )  # fmt: skip


def state(home: Path) -> dict[str, bytes | None]:
    return {str(p.relative_to(home)): p.read_bytes() if p.is_file() else None for p in home.rglob("*")}


@pytest.mark.parametrize("model", ["none", "e5-small-ko-en"])
def test_a_home_that_cannot_be_written_is_searched(frozen: Path, model: str) -> None:
    before = state(frozen)
    result = gieok(frozen, "search", "금요일 배포", "--json", model=model)
    assert result.returncode == 0, result.stderr
    assert "금요일에" in json.loads(result.stdout)["index"][0]["summary"]
    assert "can't be written" in result.stderr
    hit = json.loads(result.stdout)["index"][0]["id"]
    for command in (["show", hit], ["timeline", hit], ["status"], ["explain", "배포"]):
        assert gieok(frozen, *command, model=model).returncode == 0
    assert state(frozen) == before


@pytest.mark.parametrize("command", [["index"], ["index", str(ROOT / "examples")], ["rebuild"]])
def test_writing_to_it_is_one_clear_line(frozen: Path, command: list[str]) -> None:
    before = state(frozen)
    result = gieok(frozen, *command)
    assert result.returncode == 2
    assert result.stderr.count("\n") == 1
    assert "can't be written" in result.stderr
    assert state(frozen) == before


def test_what_the_word_index_lacks_is_said(notes: Callable[..., Path]) -> None:
    home = Path(tempfile.mkdtemp(prefix="gieok-frozen-"))
    try:
        with Gieok.open(home, Settings.model_validate({"embedder": {"model": "none"}})) as memory:
            memory.index([notes(NOTES)])
            words = home / "words"
            shutil.copytree(words, home / "kept")
            memory.index([notes({"c.md": "새로 쓴 메모"}, "more")])
        shutil.rmtree(words)
        (home / "kept").rename(words)
        readable(home, writable=False)
        result = gieok(home, "search", "배포")
        assert result.returncode == 0, result.stderr
        assert "1 memories are not in the word index" in result.stdout + result.stderr
    finally:
        readable(home, writable=True)
        shutil.rmtree(home)


def test_a_log_that_was_not_written_back_is_not_ignored(frozen: Path) -> None:
    readable(frozen, writable=True)
    log = frozen / "memories.db-wal"
    with contextlib.closing(sqlite3.connect(frozen / "memories.db", isolation_level=None)) as db:
        db.execute("PRAGMA wal_autocheckpoint = 0")
        db.execute("UPDATE memories SET content = '로그에만 있다'")
        kept = log.read_bytes()
    log.write_bytes(kept)
    readable(frozen, writable=False)
    result = gieok(frozen, "search", "로그에만")
    # SQLite reads the log, or the answer is an error: never what was before
    assert "금요일에 금지" not in result.stdout
    assert result.returncode == 2 or "로그에만" in result.stdout


READING = [["search", "배포"], ["explain", "배포"], ["show", "mem_x"], ["timeline", "mem_x"], ["status"], ["rebuild"]]


@pytest.mark.parametrize("command", READING, ids=lambda command: command[0])
def test_a_mistyped_home_is_named_and_not_made(tmp_path: Path, command: list[str]) -> None:
    typo = tmp_path / "tpyo" / "home"
    result = gieok(typo, *command)
    assert result.returncode == 2
    assert (
        result.stderr
        == f"Error: There is no store at {typo}. Make one with: gieok index PATH, or name another --home\n"
    )
    assert not typo.parent.exists()


def test_a_folder_without_a_store_gets_none_by_reading(tmp_path: Path) -> None:
    (tmp_path / "x").mkdir()
    with pytest.raises(NoStoreError):
        Gieok.open(tmp_path / "x", Settings(), create=False)
    assert list((tmp_path / "x").iterdir()) == []
    Gieok.open(tmp_path / "x", Settings()).close()
    Gieok.open(tmp_path / "x", Settings(), create=False).close()


def test_writing_needs_a_home_that_can_be_written(frozen: Path) -> None:
    with Gieok.open(frozen, Settings()) as memory:
        assert memory.read_only == (not os.access(frozen, os.W_OK))
    if os.geteuid():
        with Gieok.open(frozen, Settings()) as memory, pytest.raises(StoreError):
            memory.index()


def test_the_doctor_looks_at_it_and_changes_nothing(frozen: Path) -> None:
    before = state(frozen)
    result = gieok(frozen, "doctor", "--deep", "--json")
    found = {finding["check"]: finding for finding in json.loads(result.stdout)["findings"]}
    assert found["memories"]["level"] == found["words"]["level"] == "ok"
    assert "can't be written" in found["permissions"]["what"] + result.stdout
    assert "could not be looked at" not in result.stdout
    assert state(frozen) == before
