from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., Any]
Held = Callable[[Path], dict[str, bytes]]
Backups = Callable[[Path], list[Path]]


BROKEN = {
    "comments": b'{\n  // mine\n  "model": "opus"\n}\n',
    "block comment": b'{"model": /* mine */ "opus"}',
    "trailing comma": b'{"model": "opus",}',
    "cut off": b'{"model": "op',
    "a list": b"[1, 2]",
    "a text": b'"hooks"',
    "null": b"null",
    "hooks is a list": b'{"hooks": []}',
    "an event is an object": b'{"hooks": {"Stop": {}}}',
    "an event is null": b'{"hooks": {"SessionEnd": null}}',
    "not UTF-8": b'{"model": "\xff\xfe"}',
    "UTF-16": '{"model": "opus"}'.encode("utf-16"),
    "nested too deeply": b'{"a": ' + b"[" * 200_000,
    "NaN": b'{"a": NaN}',
}


@pytest.mark.parametrize("data", BROKEN.values(), ids=BROKEN.keys())
def test_settings_that_can_not_be_merged_are_named_and_nothing_is_written(
    gieok: Run, home: Path, data: bytes, held: Held, backups: Backups
) -> None:
    (home / ".claude/settings.json").write_bytes(data)
    for arguments in (["install", "claude-code"], ["install", "claude-code", "--dry-run"]):
        result = gieok(*arguments)
        assert result.exit_code == 2
        assert result.stderr.count("\n") == 1
        assert str(home / ".claude/settings.json") in result.stderr
        assert held(home) == {".claude/settings.json": data}
        assert backups(home) == []


def test_comments_lead_to_what_can_be_pasted(gieok: Run, home: Path) -> None:
    (home / ".claude/settings.json").write_bytes(BROKEN["comments"])
    [advice] = re.findall(r"gieok (install .*--print)", gieok("install", "claude-code").stderr)
    printed = gieok(*advice.split())
    assert printed.exit_code == 0
    assert "gieok hook session-start" in printed.stdout
    assert '"mcpServers"' in printed.stdout


def test_a_server_file_that_is_broken_stops_all(gieok: Run, home: Path, held: Held) -> None:
    (home / ".claude.json").write_bytes(b'{"mcpServers": [')
    assert gieok("install", "claude-code").exit_code == 2
    assert held(home) == {".claude.json": b'{"mcpServers": ['}


def test_a_read_only_file_is_respected(gieok: Run, home: Path, held: Held, foreign: str) -> None:
    file = home / ".claude/settings.json"
    file.write_text(foreign)
    file.chmod(0o444)
    before = held(home)
    result = gieok("install", "claude-code")
    assert (result.exit_code, held(home)) == (2, before)
    assert "read-only" in result.stderr


def test_a_link_stays_and_the_file_behind_it_changes(gieok: Run, home: Path, foreign: str) -> None:
    dotfiles = home / "dotfiles"
    dotfiles.mkdir()
    (dotfiles / "claude.json").write_text(foreign)
    link = home / ".claude/settings.json"
    link.symlink_to(dotfiles / "claude.json")
    assert gieok("install", "claude-code").exit_code == 0
    assert link.is_symlink()
    assert "gieok hook stop" in (dotfiles / "claude.json").read_text()
    assert gieok("uninstall", "claude-code").exit_code == 0
    assert link.is_symlink()
    assert (dotfiles / "claude.json").read_text() == foreign


def test_links_in_a_circle_pipes_and_folders_are_named(gieok: Run, home: Path, held: Held) -> None:
    file = home / ".claude/settings.json"
    makers: list[Callable[[], None]] = [
        lambda: file.symlink_to(file),
        lambda: os.mkfifo(file),
        lambda: file.mkdir(),
    ]
    for make in makers:
        make()
        result = gieok("install", "claude-code")
        assert (result.exit_code, result.stderr.count("\n")) == (2, 1)
        assert "settings.json" in result.stderr
        assert held(home) == {}
        file.rmdir() if file.is_dir() else file.unlink()


def test_a_file_in_the_place_of_the_folder_is_named(gieok: Run, home: Path, held: Held) -> None:
    (home / ".claude").rmdir()
    (home / ".claude").write_text("mine")
    result = gieok("install", "claude-code")
    assert (result.exit_code, held(home)) == (2, {".claude": b"mine"})


def test_a_huge_file_is_refused_and_a_large_one_is_not(gieok: Run, home: Path) -> None:
    file = home / ".claude.json"
    history = [{"display": "말 " * 50, "pasted": {}} for _ in range(30_000)]
    file.write_text(json.dumps({"projects": {"/x": {"history": history}}}, indent=2, ensure_ascii=False))
    before = file.read_bytes()
    assert len(before) > 5_000_000
    assert gieok("install", "claude-code").exit_code == 0
    assert gieok("uninstall", "claude-code").exit_code == 0
    assert file.read_bytes() == before
    with file.open("r+b") as handle:
        handle.truncate(65_000_000)
    result = gieok("install", "claude-code")
    assert result.exit_code == 2
    assert "64 MB" in result.stderr
