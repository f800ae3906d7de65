"""Hooks as whole processes, cold: what a person waits for."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from eval.corpus import rows_text
from eval.datasets import load
from pipeline import Gieok

ROUNDS = 20


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with the built-in sample and its vectors, and a transcript beside it."""
    folder = tmp_path_factory.mktemp("hooks")
    rows = folder / "rows.jsonl"
    rows.write_text(rows_text(load("sample", "test").documents), encoding="utf-8")
    with Gieok.open(folder / "home") as memory:
        memory.index([rows])
    lines = [
        {
            "type": "user",
            "uuid": str(number),
            "sessionId": "s",
            "timestamp": "2026-01-20T01:00:00Z",
            "message": {"role": "user", "content": f"{number}번째 요청: 배포 전에 테스트를 돌려줘. " * 20},
        }
        for number in range(200)
    ]
    (folder / "s.jsonl").write_text("\n".join(json.dumps(line) for line in lines), "utf-8")
    return folder


@pytest.mark.parametrize("event", ["user-prompt-submit", "session-start", "pre-compact", "stop", "session-end"])
def test_a_hook(benchmark: BenchmarkFixture, place: Path, event: str) -> None:
    query = next(iter(load("sample", "test").queries.values()))
    given = {"prompt": query, "cwd": "/x", "source": "startup", "transcript_path": str(place / "s.jsonl")}
    command = [sys.executable, "-m", "pipeline", "--home", str(place / "home"), "hook", event]

    def run() -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(command, input=json.dumps(given).encode(), capture_output=True, check=False)

    done = benchmark.pedantic(run, rounds=ROUNDS, warmup_rounds=1)
    assert (done.returncode, done.stderr) == (0, b"")
