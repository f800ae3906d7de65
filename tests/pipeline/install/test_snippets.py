from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from indexes.errors import UsageError
from pipeline.cli import app
from pipeline.install.host import executable
from pipeline.install.snippets import NAMES, Snippet, snippets


def parsed(snippet: Snippet) -> Any:
    return tomllib.loads(snippet.text) if snippet.format == "toml" else json.loads(snippet.text)


def started(value: Any) -> list[str]:
    """The command line in a snippet, wherever it stands."""
    if isinstance(value, dict) and "command" in value:
        command, arguments = value["command"], value.get("args", [])
        return [*command] if isinstance(command, list) else [command, *arguments]
    return started(next(iter(value.values())))


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]), min_size=1), min_size=1, max_size=4))
def test_every_snippet_says_how_to_start_the_server(words: list[str]) -> None:
    for snippet in snippets(words):
        if snippet.title != "Claude Code, hooks":
            assert started(parsed(snippet)) == [*words, "mcp"], snippet.host


@pytest.mark.parametrize(
    ("host", "path"),
    [
        ("cursor", ["mcpServers", "gieok", "command"]),
        ("claude-desktop", ["mcpServers", "gieok", "command"]),
        ("windsurf", ["mcpServers", "gieok", "command"]),
        ("gemini", ["mcpServers", "gieok", "command"]),
        ("copilot", ["mcpServers", "gieok", "tools"]),
        ("vscode", ["servers", "gieok", "type"]),
        ("zed", ["context_servers", "gieok", "args"]),
        ("codex", ["mcp_servers", "gieok", "command"]),
        ("opencode", ["mcp", "servers", "gieok", "command"]),
    ],
)
def test_each_host_has_its_own_place(host: str, path: list[str]) -> None:
    [snippet] = snippets(["gieok"], host)
    value = parsed(snippet)
    for name in path:
        value = value[name]
    assert value
    assert snippet.files


def test_an_unknown_host_is_told_which_are_known() -> None:
    with pytest.raises(UsageError, match="cursor"):
        snippets(["gieok"], "emacs")


def print_(*arguments: str) -> Any:
    return CliRunner().invoke(app, ["install", "--print", *arguments], prog_name="gieok")


def test_all_are_printed_with_the_file_that_they_belong_to() -> None:
    result = print_()
    assert result.exit_code == 0
    for text in ("~/.cursor/mcp.json", "~/.codex/config.toml", ".vscode/mcp.json", "[mcp_servers.gieok]", executable()):
        assert text in result.stdout


def test_one_can_be_pasted_as_it_is_printed() -> None:
    lines = print_("cursor").stdout.splitlines()
    assert json.loads("\n".join(line for line in lines if not line.startswith("#")))["mcpServers"]["gieok"]
    assert tomllib.loads(print_("codex").stdout)["mcp_servers"]["gieok"]["args"] == ["mcp"]


def test_as_json() -> None:
    found = json.loads(print_("--json").stdout)["snippets"]
    assert list(dict.fromkeys(item["host"] for item in found)) == list(NAMES)
    assert set(found[0]) == {"host", "title", "files", "format", "text", "note"}


def test_options_that_make_no_sense_together() -> None:
    result = print_("--dry-run")
    assert result.exit_code == 2
    assert "--dry-run" in result.stderr


def test_the_page_on_installing_names_every_host() -> None:
    page = (Path(__file__).parents[3] / "docs/install.md").read_text(encoding="utf-8")
    assert all(re.search(rf"\b{name}\b", page) for name in NAMES)
