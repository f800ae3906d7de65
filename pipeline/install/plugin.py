"""The plugin folder for Claude Code, made from what `gieok install` registers: `python -m pipeline.install.plugin`.

It calls `gieok` by name, since nobody knows where that lies on the machine that the plugin comes to.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from pipeline.install import commands
from pipeline.install.host import NAME, hooks_section, server
from pipeline.version import VERSION

FOLDER = "plugins/claude-code"
"""Where the plugin lies in the repository, which is the marketplace that serves it."""
WORDS = (NAME,)

_ABOUT: dict[str, Any] = {
    "name": NAME,
    "description": "Memory of your work with coding agents: search in Korean and English, diary, reflection",
    "version": VERSION,
    "author": {"name": "The gieok authors"},
    "license": "MIT",
    "keywords": ["memory", "search", "korean", "diary", "mcp"],
}


def contents() -> dict[str, str]:
    """Every file of the plugin and its marketplace, by its path in the repository."""
    marketplace = {
        "name": NAME,
        "owner": _ABOUT["author"],
        "description": "gieok, memory search for people who work with coding agents",
        "plugins": [{"name": NAME, "source": f"./{FOLDER}", "description": _ABOUT["description"]}],
    }
    about_hooks = "Search memory at each prompt, brief at the start, keep the session at its end"
    return {
        ".claude-plugin/marketplace.json": _json(marketplace),
        f"{FOLDER}/.claude-plugin/plugin.json": _json(_ABOUT),
        f"{FOLDER}/hooks/hooks.json": _json({"description": about_hooks, "hooks": hooks_section(WORDS)}),
        f"{FOLDER}/.mcp.json": _json({"mcpServers": {NAME: server(WORDS)}}),
        **{
            f"{FOLDER}/commands/{name}.md": commands.text(name, WORDS, commands.PLUGIN_TOOLS) for name in commands.NAMES
        },
    }


def write(root: Path) -> list[Path]:
    """Write the plugin's files below `root`; those that changed."""
    changed = []
    for name, text in contents().items():
        path = root / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
            changed.append(path)
    return changed


def _json(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    for file in write(Path.cwd()):
        sys.stdout.write(f"{file}\n")
