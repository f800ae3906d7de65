"""Somebody who uses Claude Code, and ways to look at their files."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from pipeline.cli import app


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Their home folder; the current folder is a project of theirs."""
    folder = tmp_path / "somebody"
    (folder / ".claude").mkdir(parents=True)
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.delenv("CLAUDE_CONFIG_DIR", raising=False)
    project = tmp_path / "project"
    project.mkdir()
    monkeypatch.chdir(project)
    return folder


@pytest.fixture
def gieok(home: Path) -> Callable[..., Any]:
    """Run a command as they would."""
    return lambda *arguments: CliRunner().invoke(app, list(arguments), prog_name="gieok")


@pytest.fixture(scope="session")
def held() -> Callable[[Path], dict[str, bytes]]:
    """Every file below a folder but backups, by its name."""
    return lambda folder: {
        str(file.relative_to(folder)): file.read_bytes()
        for file in sorted(folder.rglob("*"))
        if file.is_file() and file.suffix != ".bak"
    }


@pytest.fixture(scope="session")
def backups() -> Callable[[Path], list[Path]]:
    """The backups below a folder."""
    return lambda folder: sorted(folder.rglob("*.bak"))


@pytest.fixture(scope="session")
def hooks_of() -> Callable[[Path], dict[str, list[str]]]:
    """The commands of all hooks in the settings below a home folder, by event."""

    def read(home: Path) -> dict[str, list[str]]:
        found = json.loads((home / ".claude/settings.json").read_bytes())["hooks"]
        return {
            event: [hook["command"] for group in groups for hook in group["hooks"]] for event, groups in found.items()
        }

    return read


@pytest.fixture(scope="session")
def foreign() -> str:
    """Settings that somebody wrote by hand."""
    return FOREIGN


FOREIGN = """{
    "model": "opus",
    "ratio": 1.50,
    "한글": "기억 \\ud55c",
    "hooks": {
        "Stop": [ {"hooks": [{"type": "command", "command": "say done"}]} ],
        "PreToolUse": [
            {
                "matcher": "Bash",
                "hooks": [
                    { "type": "command", "command": "./check.sh", "timeout": 3 }
                ]
            }
        ]
    },
    "permissions": {"allow": ["Bash(git:*)"]}
}
"""
