"""What hosts of MCP servers need in their settings to start `gieok mcp`: to be pasted by hand."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from indexes.errors import UsageError
from pipeline.install.host import NAME, hooks_section, server
from pipeline.install.merge import HOOKS_KEY, SERVERS_KEY
from pipeline.results import Result

Form: TypeAlias = Literal["json", "toml"]


class Snippet(Result):
    """A text to paste into a file of a host. `files` are where that host reads it, the user's own first."""

    host: str
    title: str
    files: list[str]
    format: Form
    text: str
    note: str | None = None


@dataclass(frozen=True, slots=True)
class _Host:
    title: str
    files: tuple[str, ...]
    build: Callable[[Sequence[str]], Any]
    note: str | None = None
    form: Form = "json"


def _started(words: Sequence[str]) -> dict[str, Any]:
    entry = server(words)
    return {"command": entry["command"], "args": entry["args"]}


def _common(words: Sequence[str]) -> dict[str, Any]:
    return {SERVERS_KEY: {NAME: _started(words)}}


_CLAUDE_CODE = "Done by: gieok install claude-code, with the commands /diary, /reflect and /memory."

_HOSTS: dict[str, tuple[_Host, ...]] = {
    "claude-code": (
        _Host(
            "Claude Code, MCP server",
            ("~/.claude.json", ".mcp.json"),
            lambda words: {SERVERS_KEY: {NAME: server(words)}},
            _CLAUDE_CODE,
        ),
        _Host(
            "Claude Code, hooks",
            ("~/.claude/settings.json", ".claude/settings.json"),
            lambda words: {HOOKS_KEY: hooks_section(words)},
            _CLAUDE_CODE,
        ),
    ),
    "claude-desktop": (
        _Host(
            "Claude Desktop",
            (
                "~/Library/Application Support/Claude/claude_desktop_config.json",
                "~/.config/Claude/claude_desktop_config.json",
            ),
            _common,
        ),
    ),
    "cursor": (_Host("Cursor", ("~/.cursor/mcp.json", ".cursor/mcp.json"), _common),),
    "vscode": (
        _Host(
            "VS Code",
            (".vscode/mcp.json", "mcp.json of the user profile (command: MCP: Open User Configuration)"),
            lambda words: {"servers": {NAME: server(words)}},
        ),
    ),
    "copilot": (
        _Host(
            "GitHub Copilot CLI",
            ("~/.copilot/mcp-config.json",),
            lambda words: {SERVERS_KEY: {NAME: server(words) | {"tools": ["*"]}}},
        ),
    ),
    "codex": (
        _Host(
            "Codex",
            ("~/.codex/config.toml", ".codex/config.toml"),
            lambda words: {f"mcp_servers.{NAME}": _started(words)},
            form="toml",
        ),
    ),
    "gemini": (_Host("Gemini CLI", ("~/.gemini/settings.json", ".gemini/settings.json"), _common),),
    "windsurf": (_Host("Windsurf", ("~/.codeium/windsurf/mcp_config.json",), _common),),
    "zed": (
        _Host(
            "Zed",
            ("~/.config/zed/settings.json", ".zed/settings.json"),
            lambda words: {"context_servers": {NAME: _started(words)}},
        ),
    ),
    "opencode": (
        _Host(
            "opencode",
            ("~/.config/opencode/opencode.json", "opencode.json"),
            lambda words: {"mcp": {"servers": {NAME: {"type": "local", "command": [*words, "mcp"]}}}},
            'Before opencode 2 the server stands directly under "mcp", without "servers".',
        ),
    ),
}

NAMES = tuple(_HOSTS)
"""Hosts that snippets are known for."""


def snippets(words: Sequence[str], host: str | None = None) -> list[Snippet]:
    """For one host, or for all; `words` call gieok. Raises UsageError."""
    if host is not None and host not in _HOSTS:
        raise UsageError(
            f"No host is known as {host!r}. Known: {', '.join(NAMES)}. Most others take what Cursor takes."
        )
    return [
        Snippet(
            host=name,
            title=known.title,
            files=list(known.files),
            format=known.form,
            text=_toml(known.build(words)) if known.form == "toml" else _json(known.build(words)),
            note=known.note,
        )
        for name in ([host] if host is not None else NAMES)
        for known in _HOSTS[name]
    ]


def _json(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False)


def _toml(tables: dict[str, dict[str, Any]]) -> str:
    """Tables of texts and lists of texts, which TOML writes as JSON does but for the character DEL."""
    lines = []
    for name, table in tables.items():
        lines.append(f"[{name}]")
        lines += [f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in table.items()]
    return "\n".join(lines).replace("\x7f", "\\u007F")
