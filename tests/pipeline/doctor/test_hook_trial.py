from __future__ import annotations

import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from pipeline.doctor import agents
from pipeline.install.claude_code import Place


def answer(monkeypatch: pytest.MonkeyPatch, *, code: int = 0, stderr: str = "", seconds: float = 0.0) -> list[Any]:
    calls: list[Any] = []
    clock = iter([0.0, seconds])

    def run(command: list[str], **how: Any) -> Any:
        calls.append((command, how))
        return SimpleNamespace(returncode=code, stderr=stderr, stdout="")

    monkeypatch.setattr(agents.subprocess, "run", run)
    monkeypatch.setattr(agents.time, "monotonic", lambda: next(clock))
    return calls


def test_the_hook_is_run_as_the_agent_runs_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = answer(monkeypatch, seconds=0.3)
    (finding,) = agents.check_hook(tmp_path, tmp_path / "c.toml")
    assert (finding.level, "300 ms" in finding.what) == ("ok", True)
    command = calls[0][0]
    assert command[-2:] == ["hook", "user-prompt-submit"]
    assert command[command.index("--home") + 1] == str(tmp_path)
    assert '"prompt"' in calls[0][1]["input"]


@pytest.mark.parametrize(
    ("how", "level"),
    [({"seconds": 2.0}, "warn"), ({"code": 1}, "problem"), ({"stderr": "Error: something"}, "problem")],
)
def test_a_slow_or_failing_hook(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: dict[str, Any], level: str
) -> None:
    answer(monkeypatch, **how)
    (finding,) = agents.check_hook(tmp_path, None)
    assert finding.level == level


def test_a_hook_that_hangs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def hang(*_: Any, **__: Any) -> Any:
        raise subprocess.TimeoutExpired("gieok", 10)

    monkeypatch.setattr(agents.subprocess, "run", hang)
    (finding,) = agents.check_hook(tmp_path, None)
    assert finding.level == "problem"


def test_what_is_registered_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    assert [finding.level for finding in agents.check_registered()] == ["ok"]
    Place.of("user").settings.write_text("{ no json", encoding="utf-8")
    found = list(agents.check_registered())
    assert "problem" in {finding.level for finding in found}


def noted(home: Path, *moments: datetime, name: str = "hooks.log") -> None:
    lines = [f"{moment.isoformat(timespec='seconds')} stop StoreError: 사연 {n}" for n, moment in enumerate(moments)]
    (home / name).write_text("\n".join(lines) + "\n", encoding="utf-8")


def test_what_hooks_noted_lately_is_a_warning(tmp_path: Path) -> None:
    now = datetime.now(UTC)
    (finding,) = agents.check_log(tmp_path)
    assert finding.level == "ok"
    noted(tmp_path, now - timedelta(days=30), name="hooks.log.1")
    assert next(iter(agents.check_log(tmp_path))).level == "ok"
    noted(tmp_path, now - timedelta(days=9), now - timedelta(hours=2), now)
    (finding,) = agents.check_log(tmp_path)
    assert finding.level == "warn"
    assert finding.what.startswith("2 problems in 7 days")
    assert "사연 2" in finding.what


def test_a_trial_that_notes_a_problem_has_failed_whatever_its_exit_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    noted(tmp_path, datetime.now(UTC))

    def run(*_: Any, **__: Any) -> Any:
        with (tmp_path / "hooks.log").open("a", encoding="utf-8") as log:
            log.write("2026-12-01T00:00:00+00:00 user-prompt-submit StoreError: 못 열었다\n")
        return SimpleNamespace(returncode=0, stderr="", stdout="")

    monkeypatch.setattr(agents.subprocess, "run", run)
    (finding,) = agents.check_hook(tmp_path, None)
    assert finding.level == "problem"
    assert "못 열었다" in finding.what
