"""A short lane of the torture for every run; `make torture` runs the long one (GIEOK_TORTURE=rounds)."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
ROUNDS = int(os.environ.get("GIEOK_TORTURE") or 0)
longer = pytest.mark.skipif(not ROUNDS, reason="the longer lane: make torture")


def run(script: str, *arguments: str, preload: Path | None = None, seconds: float = 600) -> tuple[int, Any, str]:
    environment = {**os.environ, **({"LD_PRELOAD": str(preload)} if preload is not None else {})}
    done = subprocess.run(
        [sys.executable, str(HERE / script), *arguments],
        env=environment, capture_output=True, text=True, timeout=seconds, check=False,
    )  # fmt: skip
    return done.returncode, json.loads(done.stdout or "null"), done.stderr


@pytest.fixture(scope="session")
def killer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The shim that kills at the n-th call that changes a file."""
    compiler = shutil.which("cc")
    if sys.platform != "linux" or compiler is None:
        pytest.skip("needs Linux and a C compiler (cc)")
    library = tmp_path_factory.mktemp("killer") / "killer.so"
    subprocess.run([compiler, "-O1", "-shared", "-fPIC", "-o", library, HERE / "killer.c", "-ldl"], check=True)
    return library


def test_nothing_acknowledged_is_lost_whenever_a_writer_is_killed() -> None:
    code, said, error = run("torture.py", "--rounds", "24", "--seed", "1")
    assert code == 0, error
    assert sum(said["random"]["killed"].values()) > 12
    assert said["random"]["acknowledged"] > 50


def test_nothing_acknowledged_is_lost_at_whichever_step_a_writer_is_killed(killer: Path) -> None:
    code, said, error = run("torture.py", "--steps", "400", "--every", "59", "--seed", "1", preload=killer)
    assert code == 0, error
    assert all(count >= 5 for count in said["steps"]["steps"].values()), said
    assert len(said["steps"]["steps"]) == 8


def test_a_crowd_on_one_home_loses_nothing_and_nobody_waits_long() -> None:
    code, said, error = run("crowd.py", "--seconds", "6", "--seed", "1")
    assert (code, said["failed"], said["lost"]) == (0, 0, False), error
    assert said["calls"]["write"] > 10


def test_the_torture_notices_what_is_lost(tmp_path: Path) -> None:
    code = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "import sqlite3, torture as t\nfrom pathlib import Path\n"
        "here = t.Ground(Path(sys.argv[2]))\n"
        "here.round('vectors', 1, delay=3, step=None)\n"
        "here.check('vectors')\n"
        "print('sound', flush=True)\n"
        "db = sqlite3.connect(here.home / 'memories.db')\n"
        "db.execute(sys.argv[3]); db.commit(); db.close()\n"
        "here.check('vectors')\n"
    )
    for number, damage in enumerate(
        [
            "DELETE FROM memories WHERE rid = 2",
            "UPDATE memories SET content = 'x' || content WHERE rid = 2",
            "UPDATE memories SET content = (SELECT content FROM memories WHERE rid = 1) WHERE rid = 2",
        ]
    ):
        done = subprocess.run(
            [sys.executable, "-c", code, str(HERE), str(tmp_path / str(number)), damage],
            capture_output=True, text=True, timeout=120, check=False,
        )  # fmt: skip
        assert done.stdout == "sound\n", done.stderr
        assert done.returncode != 0
        assert "is not there" in done.stderr


@longer
def test_longer_random_kills() -> None:
    code, said, error = run("torture.py", "--rounds", str(ROUNDS), seconds=7200)
    assert code == 0, f"{said} {error}"
    print(said)


@longer
def test_longer_every_step(killer: Path) -> None:
    code, said, error = run("torture.py", "--steps", str(ROUNDS), preload=killer, seconds=7200)
    assert code == 0, f"{said} {error}"
    print(said)


@longer
def test_longer_crowd() -> None:
    code, said, error = run("crowd.py", "--seconds", "300", seconds=900)
    assert code == 0, f"{said} {error}"
    print(said)


def test_a_lock_of_another_program_is_waited_for_and_then_named(tmp_path: Path) -> None:
    from indexes.errors import StoreBusyError
    from indexes.store import Source, Store

    Store(tmp_path / "memories.db").close()
    blocker = sqlite3.connect(tmp_path / "memories.db", isolation_level=None)
    blocker.execute("BEGIN IMMEDIATE")
    store = Store(tmp_path / "memories.db", busy_timeout=0.2)
    try:
        with pytest.raises(StoreBusyError, match="locked by another process"):
            store.write([(Source(key="/a", path="/a", root="/", label="a", fingerprint="f"), [])])
        blocker.execute("ROLLBACK")
        store.write([(Source(key="/a", path="/a", root="/", label="a", fingerprint="f"), [])])
    finally:
        blocker.close()
        store.close()
