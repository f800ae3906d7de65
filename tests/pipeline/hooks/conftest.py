"""Hooks as the host runs them: real processes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from pipeline import Gieok, Settings

WORDS_ONLY = {"GIEOK_EMBEDDER_MODEL": "none"}
"""For tests that are not about vectors: loading the model is most of a hook's time."""


@dataclass(frozen=True)
class Run:
    code: int
    out: bytes
    err: bytes
    seconds: float

    @property
    def context(self) -> str:
        """What is injected; "" if nothing is."""
        if not self.out.strip():
            return ""
        answer = json.loads(self.out)
        assert set(answer) == {"hookSpecificOutput"}
        assert set(answer["hookSpecificOutput"]) == {"hookEventName", "additionalContext"}
        return str(answer["hookSpecificOutput"]["additionalContext"])

    @property
    def silent(self) -> bool:
        """Whether the host sees a success that says nothing."""
        return (self.code, self.out, self.err) == (0, b"", b"")


Hook = Callable[..., Run]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def hook(home: Path) -> Hook:
    """Run a hook: `hook("stop", {"session_id": …})`; bytes are given as they are."""

    def run(
        event: str | None,
        given: object = b"",
        *,
        env: Mapping[str, str] = WORDS_ONLY,
        options: tuple[str, ...] = (),
        at: Path = home,
        **process: object,
    ) -> Run:
        data = given if isinstance(given, bytes) else json.dumps(given).encode()
        command = [sys.executable, "-m", "pipeline", "--home", str(at), *options, "hook", *([event] if event else [])]
        if "stdin" not in process:
            process["input"] = data
        began = time.monotonic()
        done = subprocess.run(
            command,
            stdout=process.pop("stdout", subprocess.PIPE),
            stderr=subprocess.PIPE,
            env={**os.environ, **env},
            timeout=30,
            check=False,
            **process,  # type: ignore[call-overload]
        )
        return Run(done.returncode, done.stdout or b"", done.stderr, time.monotonic() - began)

    return run


@pytest.fixture
def stored(home: Path, notes: Callable[..., Path]) -> Path:
    """A home with a few notes, found by words."""
    folder = notes(
        {
            "deploy.md": "# 배포 규칙\n\n배포는 금요일에 금지한다. 월요일 오전에 배포한다.\n",
            "retry.md": "# Retries\n\nThe payment worker retries five times, then PAY-4821 pages the owner.\n",
            "schema.md": "# 스키마\n\nDuckDB 스키마는 이벤트 소싱으로 다시 설계했다.\n",
        }
    )
    with Gieok.open(home, Settings.model_validate({"embedder": {"model": "none"}})) as memory:
        memory.index([folder])
    return home


@pytest.fixture
def transcript(tmp_path: Path) -> Callable[..., Path]:
    """Write or extend a session's transcript: `transcript("s1", ("user", "…"), ("assistant", "…"))`."""

    def write(session: str, *turns: tuple[str, str], folder: str = "projects") -> Path:
        path = tmp_path / folder / f"{session}.jsonl"
        path.parent.mkdir(exist_ok=True)
        before = path.read_text("utf-8").splitlines() if path.exists() else []
        for number, (kind, text) in enumerate(turns, start=len(before)):
            line = {
                "type": kind,
                "uuid": f"{session}-{number}",
                "sessionId": session,
                "cwd": "/work/shop",
                "timestamp": f"2026-01-20T01:{number:02d}:00Z",
                "message": {"role": kind, "content": text},
            }
            before.append(json.dumps(line, ensure_ascii=False))
        path.write_text("\n".join(before) + "\n", "utf-8")
        return path

    return write


@pytest.fixture
def log(home: Path) -> Callable[[], str]:
    return lambda: (home / "hooks.log").read_text("utf-8") if (home / "hooks.log").exists() else ""
