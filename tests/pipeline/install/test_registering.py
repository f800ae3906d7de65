from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pipeline.install import commands
from pipeline.install.host import HOOKS, executable, hook_entry

Run = Callable[..., Any]
Held = Callable[[Path], dict[str, bytes]]
Backups = Callable[[Path], list[Path]]
HooksOf = Callable[[Path], dict[str, list[str]]]


def test_hooks_server_and_commands_are_registered(gieok: Run, home: Path, held: Held, hooks_of: HooksOf) -> None:
    result = gieok("install", "claude-code")
    assert result.exit_code == 0, result.output
    assert sorted(held(home)) == [
        ".claude.json",
        ".claude/commands/diary.md",
        ".claude/commands/memory.md",
        ".claude/commands/reflect.md",
        ".claude/settings.json",
    ]
    assert hooks_of(home) == {hook.event: [f"{executable()} hook {hook.subcommand} || true"] for hook in HOOKS}
    server = json.loads((home / ".claude.json").read_bytes())["mcpServers"]["gieok"]
    assert server == {"type": "stdio", "command": executable(), "args": ["mcp"]}
    assert Path(executable()).is_absolute()
    assert os.access(executable(), os.X_OK)


def test_each_hook_has_a_limit_of_a_few_seconds(gieok: Run, home: Path) -> None:
    gieok("install", "claude-code")
    groups = json.loads((home / ".claude/settings.json").read_bytes())["hooks"].values()
    assert all(0 < hook["timeout"] <= 10 for [group] in groups for hook in group["hooks"])


@pytest.mark.parametrize("gone", ["/gone/bin/gieok", "/bin/false", "/bin/ls"])
def test_a_hook_never_ends_with_a_code_that_blocks_a_prompt(gone: str, tmp_path: Path) -> None:
    for hook in HOOKS:
        command = hook_entry([gone], hook)["command"]
        assert subprocess.run(["/bin/sh", "-c", command], capture_output=True, check=False).returncode == 0


def test_the_folder_of_claude_config_dir_is_used(
    gieok: Run, home: Path, monkeypatch: pytest.MonkeyPatch, held: Held
) -> None:
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(home / "elsewhere"))
    assert gieok("install", "claude-code").exit_code == 0
    assert {name.split("/")[0] for name in held(home)} == {"elsewhere"}
    assert {"elsewhere/.claude.json", "elsewhere/settings.json", "elsewhere/commands/diary.md"} <= set(held(home))


def test_a_project_gets_files_that_another_machine_can_use(gieok: Run, home: Path, held: Held) -> None:
    assert gieok("install", "claude-code", "--scope", "project").exit_code == 0
    files = held(Path.cwd())
    assert {".mcp.json", ".claude/settings.json", ".claude/commands/memory.md"} <= set(files)
    assert b"gieok hook stop" in files[".claude/settings.json"]
    assert not any(str(home.parent).encode() in text or executable().encode() in text for text in files.values())
    assert held(home) == {}


def test_the_store_and_settings_that_were_named_are_registered_too(
    gieok: Run, home: Path, tmp_path: Path, held: Held, hooks_of: HooksOf
) -> None:
    store = tmp_path / "my store"
    assert gieok("--home", str(store), "install", "claude-code").exit_code == 0
    [stop] = hooks_of(home)["Stop"]
    assert shlex.split(stop) == [executable(), "--home", str(store), "hook", "stop", "||", "true"]
    server = json.loads((home / ".claude.json").read_bytes())["mcpServers"]["gieok"]
    assert server["args"] == ["--home", str(store), "mcp"]
    assert shlex.quote(str(store)) in (home / ".claude/commands/diary.md").read_text()
    assert gieok("uninstall", "claude-code").exit_code == 0
    assert held(home) == {}


def test_the_name_on_path_is_taken_if_it_is_the_same_installation(
    gieok: Run, home: Path, monkeypatch: pytest.MonkeyPatch, hooks_of: HooksOf
) -> None:
    for name, target in (("same", executable()), ("other", "/bin/true")):
        (home / name).mkdir()
        (home / name / "gieok").symlink_to(target)
    monkeypatch.setenv("PATH", f"{home / 'other'}{os.pathsep}/bin")
    assert executable() == str(Path(sys.executable).parent / "gieok")
    monkeypatch.setenv("PATH", f"{home / 'same'}{os.pathsep}/bin")
    assert executable() == str(home / "same" / "gieok")
    assert gieok("install", "claude-code").exit_code == 0
    assert hooks_of(home)["Stop"] == [f"{home / 'same' / 'gieok'} hook stop || true"]


def test_what_runs_from_a_cache_is_not_registered(gieok: Run, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    thrown_away = home / ".cache/uv/archive-v0/x/bin/gieok"
    thrown_away.parent.mkdir(parents=True)
    thrown_away.write_text("#!/bin/sh\n")
    monkeypatch.setattr(sys, "argv", [str(thrown_away)])
    result = gieok("install", "claude-code")
    assert result.exit_code == 2
    assert "Install it" in result.stderr
    assert not (home / ".claude.json").exists()


# --- commands -------------------------------------------------------------------------------------


def test_a_command_of_the_same_name_is_left_alone(gieok: Run, home: Path) -> None:
    own = home / ".claude/commands/diary.md"
    own.parent.mkdir()
    own.write_text("My own diary command")
    result = gieok("install", "claude-code")
    assert result.exit_code == 0
    assert own.read_text() == "My own diary command"
    assert f"{own} is not from gieok" in result.stderr
    gieok("uninstall", "claude-code")
    assert own.read_text() == "My own diary command"


def test_a_command_that_the_user_changed_is_left_alone(gieok: Run, home: Path, held: Held) -> None:
    gieok("install", "claude-code")
    command = home / ".claude/commands/reflect.md"
    command.write_text(command.read_text() + "\nAlways in verse.\n")
    changed = command.read_text()
    result = gieok("install", "claude-code")
    assert command.read_text() == changed
    assert "was changed by you" in result.stderr
    gieok("uninstall", "claude-code")
    assert sorted(held(home)) == [".claude/commands/reflect.md"]


def test_a_command_of_an_older_version_is_renewed(gieok: Run, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:

    old = commands.signed("---\ndescription: old\n---\n\nDo it as we did.\n")
    command = home / ".claude/commands/diary.md"
    command.parent.mkdir()
    command.write_text(old)
    gieok("install", "claude-code")
    assert "Do it as we did" not in command.read_text()


def test_hooks_that_are_switched_off_are_mentioned(gieok: Run, home: Path) -> None:
    (home / ".claude/settings.json").write_text('{"disableAllHooks": true}')
    result = gieok("install", "claude-code")
    assert result.exit_code == 0
    assert "no hook will run" in result.stderr


# --- dry run --------------------------------------------------------------------------------------


def test_a_dry_run_shows_a_diff_and_writes_nothing(
    gieok: Run, home: Path, held: Held, backups: Backups, foreign: str
) -> None:
    (home / ".claude/settings.json").write_text(foreign)
    before = held(home)
    result = gieok("install", "claude-code", "--dry-run")
    assert (result.exit_code, held(home), backups(home)) == (0, before, [])
    assert not (home / ".claude/commands").exists()
    added = [line for line in result.stdout.splitlines() if line.startswith("+")]
    assert any("gieok hook user-prompt-submit" in line for line in added)
    for name in ("settings.json", ".claude.json", "commands/diary.md"):
        assert f"+++ {home / '.claude' / name}" in result.stdout or f"+++ {home / name}" in result.stdout
    gieok("install", "claude-code")
    now = held(home)
    result = gieok("uninstall", "claude-code", "--dry-run")
    assert (result.exit_code, held(home)) == (0, now)
    assert any(line.startswith("-") and "gieok hook stop" in line for line in result.stdout.splitlines())


def test_a_diff_shows_no_keys_of_the_neighbours(gieok: Run, home: Path) -> None:
    key = "sk-ant-api03-" + "Zq8vT1xK" * 11
    other = {"mcpServers": {"other": {"command": "x", "env": {"OTHER_API_KEY": key}}}}
    (home / ".claude.json").write_text(json.dumps(other, indent=2))
    for arguments in (["--dry-run"], ["--dry-run", "--json"]):
        shown = gieok("install", "claude-code", *arguments).stdout
        assert "OTHER_API_KEY" in shown
        assert key not in shown
    assert gieok("install", "claude-code").exit_code == 0
    assert json.loads((home / ".claude.json").read_bytes())["mcpServers"]["other"] == other["mcpServers"]["other"]


def test_as_json(gieok: Run, home: Path, foreign: str) -> None:
    (home / ".claude/settings.json").write_text(foreign)
    report = json.loads(gieok("install", "claude-code", "--json").stdout)
    assert (report["host"], report["scope"], report["dryRun"], report["notices"]) == ("claude-code", "user", False, [])
    changes = {Path(change["path"]).name: change for change in report["changes"]}
    assert changes["settings.json"]["what"] == "changed"
    assert Path(changes["settings.json"]["backup"]).read_text() == foreign
    assert changes["diary.md"]["what"] == "created"
    assert json.loads(gieok("install", "claude-code", "--json").stdout)["changes"] == []


# --- other hosts ----------------------------------------------------------------------------------


@pytest.mark.parametrize("arguments", [["install"], ["uninstall"], ["install", "cursor"], ["uninstall", "vim"]])
def test_other_hosts_lead_to_what_can_be_printed(gieok: Run, home: Path, arguments: list[str], held: Held) -> None:
    result = gieok(*arguments)
    assert (result.exit_code, result.stderr.count("\n")) == (2, 1)
    assert "gieok install --print" in result.stderr
    assert held(home) == {}


def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from typer.testing import CliRunner

    from pipeline.cli import app, installing

    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "claude"))
    monkeypatch.setattr(installing, "find_spec", lambda name: None)
    done = CliRunner().invoke(app, ["install", "claude-code"])
    assert done.exit_code == 0
    assert 'pip install "gieok[mcp]"' in done.stderr
