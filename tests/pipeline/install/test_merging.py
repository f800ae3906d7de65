from __future__ import annotations

import json
import stat
import tempfile
from collections.abc import Callable
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from indexes.errors import HostError
from pipeline.install.claude_code import Place, install, uninstall
from pipeline.install.host import HOOKS, executable

Run = Callable[..., Any]
Held = Callable[[Path], dict[str, bytes]]
Backups = Callable[[Path], list[Path]]
HooksOf = Callable[[Path], dict[str, list[str]]]

EVENTS = [hook.event for hook in HOOKS]


def test_what_is_there_stays_to_the_character(gieok: Run, home: Path, held: Held, foreign: str) -> None:
    (home / ".claude/settings.json").write_text(foreign)
    (home / ".claude.json").write_text('{"projects": {"/x": {"n": 1.0}}, "mcpServers": {"a": {"command": "b"}}}')
    before = held(home)
    assert gieok("install", "claude-code").exit_code == 0
    after = held(home)
    edits = SequenceMatcher(None, foreign, after[".claude/settings.json"].decode(), autojunk=False).get_opcodes()
    assert {kind for kind, *_ in edits} == {"equal", "insert"}
    assert json.loads(after[".claude.json"])["mcpServers"]["a"] == {"command": "b"}
    assert gieok("uninstall", "claude-code").exit_code == 0
    assert held(home) == before


def test_a_second_install_changes_nothing(gieok: Run, home: Path, held: Held, backups: Backups, foreign: str) -> None:
    (home / ".claude/settings.json").write_text(foreign)
    gieok("install", "claude-code")
    before, kept = held(home), backups(home)
    again = gieok("install", "claude-code")
    assert (again.exit_code, held(home), backups(home)) == (0, before, kept)
    assert "already" in again.stdout


def test_a_byte_order_mark_and_line_ends_stay(gieok: Run, home: Path, foreign: str) -> None:
    data = b"\xef\xbb\xbf" + foreign.replace("\n", "\r\n").encode()
    (home / ".claude/settings.json").write_bytes(data)
    assert gieok("install", "claude-code").exit_code == 0
    now = (home / ".claude/settings.json").read_bytes()
    assert now.startswith(b"\xef\xbb\xbf{")
    assert now.count(b"\n") == now.count(b"\r\n")
    gieok("uninstall", "claude-code")
    assert (home / ".claude/settings.json").read_bytes() == data


@pytest.mark.parametrize("nothing", [b"", b"\n", b"  \r\n"])
def test_an_empty_file_is_an_empty_object(gieok: Run, home: Path, nothing: bytes, hooks_of: HooksOf) -> None:
    (home / ".claude/settings.json").write_bytes(nothing)
    assert gieok("install", "claude-code").exit_code == 0
    assert set(hooks_of(home)) == set(EVENTS)


def test_hooks_that_the_user_changed_stay_and_are_not_doubled(gieok: Run, home: Path) -> None:
    gieok("install", "claude-code")
    settings_file = home / ".claude/settings.json"
    value = json.loads(settings_file.read_bytes())
    value["hooks"]["Stop"][0]["hooks"][0]["timeout"] = 60
    value["hooks"]["SessionEnd"][0]["hooks"][0]["command"] = "nice timeout 3 gieok hook session-end; true"
    value["hooks"]["PreCompact"][0]["matcher"] = "auto"
    settings_file.write_text(json.dumps(value))
    before = settings_file.read_bytes()
    assert gieok("install", "claude-code").exit_code == 0
    assert settings_file.read_bytes() == before
    gieok("uninstall", "claude-code")
    assert b"gieok" not in (settings_file.read_bytes() if settings_file.exists() else b"")


def test_a_gieok_that_moved_is_followed(gieok: Run, home: Path, held: Held) -> None:
    gieok("install", "claude-code")
    wanted = held(home)
    for file in (home / ".claude/settings.json", home / ".claude.json"):
        text = (
            file.read_text()
            .replace(executable(), "/old/venv/bin/gieok")
            .replace(" || true", "")
            .replace('"timeout": 5', '"timeout": 7')
        )
        file.write_text(text)
    assert gieok("install", "claude-code").exit_code == 0
    assert held(home) == wanted | {
        ".claude/settings.json": wanted[".claude/settings.json"].replace(b'"timeout": 5', b'"timeout": 7')
    }


def test_uninstall_takes_out_what_an_older_version_put_in(gieok: Run, home: Path) -> None:
    old = {
        "hooks": {
            "PostToolUse": [
                {"matcher": "*", "hooks": [{"type": "command", "command": "/opt/gieok hook post-tool-use"}]}
            ],
            "Stop": [
                {
                    "hooks": [
                        {"type": "command", "command": "gieok hook stop"},
                        {"type": "command", "command": "gieok-like hook stop"},
                        {"type": "http", "url": "http://localhost/gieok hook stop"},
                        {"type": "command", "command": "echo 'unbalanced"},
                    ]
                }
            ],
        }
    }
    (home / ".claude/settings.json").write_text(json.dumps(old))
    servers = {"memory": {"command": "uvx", "args": ["gieok", "mcp"]}, "other": {"command": "gieok-other"}}
    (home / ".claude.json").write_text(json.dumps({"mcpServers": servers}))
    assert gieok("uninstall", "claude-code").exit_code == 0
    assert json.loads((home / ".claude/settings.json").read_bytes()) == {
        "hooks": {"Stop": [{"hooks": old["hooks"]["Stop"][0]["hooks"][1:]}]}  # type: ignore[index]
    }
    assert json.loads((home / ".claude.json").read_bytes()) == {"mcpServers": {"other": {"command": "gieok-other"}}}


def test_uninstall_without_install_finds_nothing(
    gieok: Run, home: Path, held: Held, backups: Backups, foreign: str
) -> None:
    (home / ".claude/settings.json").write_text(foreign)
    before = held(home)
    result = gieok("uninstall", "claude-code")
    assert (result.exit_code, held(home), backups(home)) == (1, before, [])
    assert "Nothing of gieok is registered" in result.stderr


def test_uninstall_names_the_other_place(gieok: Run, home: Path, held: Held) -> None:
    gieok("install", "claude-code", "--scope", "project")
    result = gieok("uninstall", "claude-code")
    assert result.exit_code == 1
    assert "--scope project" in result.stderr
    assert gieok("uninstall", "claude-code", "--scope", "project").exit_code == 0
    assert held(Path.cwd()) == {}
    assert list(Path.cwd().iterdir()) == []


def test_a_server_of_the_same_name_that_is_something_else_is_refused(gieok: Run, home: Path, held: Held) -> None:
    (home / ".claude.json").write_text('{"mcpServers": {"gieok": {"type": "http", "url": "http://x"}}}')
    before = held(home)
    result = gieok("install", "claude-code")
    assert result.exit_code == 2
    assert "gieok" in result.stderr
    assert "Rename it" in result.stderr
    assert held(home) == before


def test_a_server_that_the_user_starts_in_another_way_stays(gieok: Run, home: Path) -> None:
    own = {"mcpServers": {"gieok": {"command": "uvx", "args": ["gieok", "mcp"], "env": {"GIEOK_HOME": "/x"}}}}
    (home / ".claude.json").write_text(json.dumps(own))
    assert gieok("install", "claude-code").exit_code == 0
    assert json.loads((home / ".claude.json").read_bytes()) == own


def test_the_plugin_and_the_hooks_are_not_both_registered(gieok: Run, home: Path, held: Held) -> None:
    (home / ".claude/settings.json").write_text('{"enabledPlugins": {"gieok@gieok": true}}')
    before = held(home)
    result = gieok("install", "claude-code")
    assert (result.exit_code, held(home)) == (2, before)
    assert "would run twice" in result.stderr
    (home / ".claude/settings.json").write_text('{"enabledPlugins": {"gieok@gieok": false}}')
    assert gieok("install", "claude-code").exit_code == 0


# --- modes and backups ----------------------------------------------------------------------------


def test_the_mode_of_a_file_stays_and_new_ones_are_private(
    gieok: Run, home: Path, held: Held, backups: Backups
) -> None:
    (home / ".claude/settings.json").write_text("{}")
    (home / ".claude/settings.json").chmod(0o640)
    gieok("install", "claude-code")
    modes = {name: stat.S_IMODE((home / name).stat().st_mode) for name in held(home)}
    assert modes.pop(".claude/settings.json") == 0o640
    assert set(modes.values()) == {0o600}
    assert [stat.S_IMODE(file.stat().st_mode) for file in backups(home)] == [0o640]


def test_each_changed_file_is_kept_as_it_was(gieok: Run, home: Path, backups: Backups, foreign: str) -> None:
    (home / ".claude/settings.json").write_text(foreign)
    result = gieok("install", "claude-code")
    [kept] = backups(home)
    assert kept.read_text() == foreign
    assert str(kept) in result.stdout


def test_backups_are_never_overwritten_and_at_most_five(gieok: Run, home: Path, backups: Backups, foreign: str) -> None:
    (home / ".claude/settings.json").write_text(foreign)
    other = home / ".claude/settings.json.mine.bak"
    other.write_text("mine")
    for _ in range(4):
        assert gieok("install", "claude-code").exit_code == 0
        assert gieok("uninstall", "claude-code").exit_code == 0
    ours = [file for file in backups(home) if file != other]
    assert len(ours) == 5
    assert other.read_text() == "mine"
    assert (home / ".claude/settings.json").read_text() == foreign


def test_the_empty_section_that_was_there_is_there_afterwards(gieok: Run, home: Path, held: Held) -> None:
    (home / ".claude/settings.json").write_text('{"hooks": {"Stop": [], "SessionEnd": []}, "model": "opus"}')
    (home / ".claude.json").write_text('{"mcpServers": {}}')
    before = held(home)
    gieok("install", "claude-code")
    gieok("uninstall", "claude-code")
    assert held(home) == before


# --- any settings ---------------------------------------------------------------------------------


SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
JSON = st.recursive(SCALARS, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=8)
HOOK = st.fixed_dictionaries({"type": st.just("command"), "command": st.text()}) | JSON
GROUPS = st.lists(st.fixed_dictionaries({"hooks": st.lists(HOOK, max_size=2)}, optional={"matcher": st.text()}) | JSON)
SECTION = st.dictionaries(st.sampled_from([*EVENTS, "PreToolUse"]), GROUPS | JSON)
OBJECTS = st.fixed_dictionaries(
    {},
    optional={
        "hooks": SECTION | JSON,
        "mcpServers": st.dictionaries(st.text(), JSON) | JSON,
        "model": JSON,
    },
).flatmap(lambda known: st.dictionaries(st.text(), JSON, max_size=3).map(lambda more: {**more, **known}))


@settings(max_examples=200, deadline=None)
@given(hooks=OBJECTS, servers=OBJECTS, indent=st.sampled_from([None, 2, 4, "\t"]), ascii_only=st.booleans())
def test_install_and_uninstall_of_any_settings_leave_no_trace(
    held: Held,
    backups: Backups,
    hooks: dict[str, Any],
    servers: dict[str, Any],
    indent: int | str | None,
    ascii_only: bool,
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        place = Place.of("project", project=Path(folder))
        place.settings.parent.mkdir()
        for file, value in ((place.settings, hooks), (place.servers, servers)):
            text = json.dumps(value, indent=indent, ensure_ascii=ascii_only)
            file.write_bytes(text.encode("utf-8", "surrogatepass"))
        before = held(Path(folder))
        try:
            install(place, ["/opt/x y/gieok"]).carry_out()
        except HostError:
            event("refused")
            assert held(Path(folder)) == before
            assert backups(Path(folder)) == []
            return
        event("merged")
        once = held(Path(folder))
        registered = json.loads(once[".claude/settings.json"])["hooks"]
        assert all("'/opt/x y/gieok' hook" in json.dumps(registered[event]) for event in EVENTS)
        assert install(place, ["/opt/x y/gieok"]).carry_out() == []
        assert held(Path(folder)) == once
        uninstall(place).carry_out()
        assert held(Path(folder)) == before
