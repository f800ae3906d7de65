"""The plugin folder in the repository is what `gieok install` registers, in the form that Claude Code documents."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from pipeline.cli import app
from pipeline.install import commands, plugin
from pipeline.install.claude_code import Place, install
from pipeline.install.host import HOOKS, NAME

ROOT = Path(__file__).parents[3]
PLUGIN = ROOT / plugin.FOLDER


def read(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def test_the_folder_agrees_with_what_it_is_made_from() -> None:
    held = {name: (ROOT / name).read_text(encoding="utf-8") for name in plugin.contents() if (ROOT / name).exists()}
    assert held == plugin.contents(), "run: python -m pipeline.install.plugin"
    made = {ROOT / name for name in plugin.contents()}
    assert {file for file in PLUGIN.rglob("*") if file.is_file() and file.name != "README.md"} <= made


def test_writing_it_again_changes_nothing(tmp_path: Path) -> None:
    assert len(plugin.write(tmp_path)) == len(plugin.contents())
    assert plugin.write(tmp_path) == []


def test_the_marketplace_leads_to_the_plugin() -> None:
    marketplace = read(ROOT / ".claude-plugin/marketplace.json")
    assert re.fullmatch(r"[a-z][a-z0-9-]*", marketplace["name"])
    assert marketplace["owner"]["name"]
    [entry] = marketplace["plugins"]
    assert entry["source"].startswith("./")
    manifest = read(ROOT / entry["source"] / ".claude-plugin/plugin.json")
    assert entry["name"] == manifest["name"] == NAME
    # Components lie at the root of the plugin; only the manifest is in its own folder.
    assert [file.name for file in (PLUGIN / ".claude-plugin").iterdir()] == ["plugin.json"]


def test_hooks_and_server_are_those_of_an_installation(tmp_path: Path) -> None:
    place = Place.of("project", project=tmp_path)
    install(place, plugin.WORDS).carry_out()
    assert read(PLUGIN / "hooks/hooks.json")["hooks"] == read(place.settings)["hooks"]
    assert read(PLUGIN / ".mcp.json") == read(place.servers)
    assert set(read(place.settings)["hooks"]) == {hook.event for hook in HOOKS}


def test_commands_are_those_of_an_installation_but_for_the_names_of_the_tools(tmp_path: Path) -> None:
    place = Place.of("project", project=tmp_path)
    install(place, plugin.WORDS).carry_out()
    for name in commands.NAMES:
        installed = re.sub(r"^gieok: .*\n", "", (place.commands / f"{name}.md").read_text(), flags=re.MULTILINE)
        shipped = (PLUGIN / f"commands/{name}.md").read_text(encoding="utf-8")
        assert shipped == installed.replace(commands.INSTALLED_TOOLS, commands.PLUGIN_TOOLS)


@pytest.mark.parametrize("name", commands.NAMES)
def test_a_command_has_sound_front_matter_and_is_short(name: str) -> None:
    text = commands.text(name, ["/opt/my tools/gieok", "--home", "/x y"], commands.INSTALLED_TOOLS)
    _, head, body = text.split("---\n", 2)
    front = yaml.safe_load(head)
    assert set(front) == {"description", "argument-hint", "allowed-tools", "disable-model-invocation"}
    assert front["disable-model-invocation"] is True
    assert all(
        re.fullmatch(r"Bash\('/opt/my tools/gieok' .+\)|mcp__gieok__\w+", tool) for tool in front["allowed-tools"]
    )
    assert "$ARGUMENTS" in body
    assert "language" in body
    assert len(body) < 2000
    assert "{" not in body
    assert commands.is_untouched(commands.signed(text))
    assert yaml.safe_load(commands.signed(text).split("---\n", 2)[1])["description"] == front["description"]


def test_reflect_asks_before_it_writes() -> None:
    text = commands.text("reflect", ["gieok"], commands.INSTALLED_TOOLS)
    front = yaml.safe_load(text.split("---\n", 2)[1])
    assert not any("--apply" in tool or "*" in tool for tool in front["allowed-tools"])
    assert text.index("Wait for the answer") < text.index("--apply")


@pytest.mark.parametrize("name", commands.NAMES)
def test_what_a_command_runs_exists_with_the_options_that_it_names(name: str) -> None:
    calls = re.findall(
        r"[`(]gieok ([a-z]+)([^`)\n]*)|^ *gieok ([a-z]+)", commands.text(name, ["gieok"], ""), re.MULTILINE
    )
    assert calls
    for inline, rest, fenced in calls:
        help_ = CliRunner().invoke(app, [inline or fenced, "--help"], prog_name="gieok")
        assert help_.exit_code == 0, inline or fenced
        assert all(option in help_.stdout for option in re.findall(r"--[a-z-]+", rest)), rest


@pytest.mark.parametrize("change", ["\n", " ", "x"])
def test_any_change_of_a_command_is_seen(change: str) -> None:
    text = commands.signed(commands.text("memory", ["gieok"], commands.INSTALLED_TOOLS))
    assert commands.is_untouched(text)
    for place in (4, len(text) // 2, len(text)):
        assert not commands.is_untouched(text[:place] + change + text[place:])
