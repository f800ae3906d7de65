"""What gieok registers in a host, and how its own entries are known again among others."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from indexes.errors import HostError

NAME = "gieok"
"""The name of the command, of the MCP server and of the plugin."""


class Hook(NamedTuple):
    """An event of Claude Code, the subcommand of `gieok hook` for it, and the seconds after which the host gives up.

    Each hook bounds itself to less; the host's limit is for a machine that stands still. SessionEnd would have 1.5
    seconds in all if none were named.
    """

    event: str
    subcommand: str
    timeout: int


HOOKS = (
    Hook("SessionStart", "session-start", 10),
    Hook("UserPromptSubmit", "user-prompt-submit", 5),
    Hook("PreCompact", "pre-compact", 10),
    Hook("Stop", "stop", 10),
    Hook("SessionEnd", "session-end", 10),
)

_NEVER_FAILING = "|| true"

_CACHES = (".cache", "Caches")
"""Folders from which `uvx` and `pipx run` start what they throw away later."""

_GLOBAL_OPTIONS = {"--home": 2, "--config": 2, "--no-color": 1}
"""Options before a subcommand, and how many words each takes."""


def executable() -> str:
    """The command line's absolute path, as a host without this shell's PATH must call it. Raises HostError.

    The name on PATH is taken if it leads to the running installation: such a link (pipx, ~/.local/bin) outlives an
    upgrade that the file behind it does not.
    """
    beside = Path(sys.executable).parent / NAME
    running = Path(sys.argv[0]) if Path(sys.argv[0]).name == NAME else beside
    if not running.is_file():
        raise HostError(f"The command {NAME} is not installed beside {sys.executable}. Install it: pip install gieok")
    if cache := next((part for part in running.resolve().parts if part in _CACHES), None):
        raise HostError(
            f"gieok runs from {running.resolve()}, which is emptied with {cache}. Install it"
            " (pipx install gieok, uv tool install gieok) and run this again."
        )
    on_path = shutil.which(NAME)
    chosen = on_path if on_path is not None and running.samefile(on_path) else running
    return os.path.abspath(chosen)  # noqa: PTH100 - resolve() would follow the link


def server(words: Sequence[str]) -> dict[str, Any]:
    """The MCP server as Claude Code and most hosts register it; `words` call gieok, with its options."""
    return {"type": "stdio", "command": words[0], "args": [*words[1:], "mcp"]}


def hook_entry(words: Sequence[str], hook: Hook) -> dict[str, Any]:
    """A hook as Claude Code registers it: a shell command that never fails.

    A hook that ends with 2 blocks the user's prompt, and 2 is also how a command line refuses a word that it doesn't
    know; 127 is a gieok that is gone. Neither may stand in anybody's way.
    """
    command = f"{shlex.join([*words, 'hook', hook.subcommand])} {_NEVER_FAILING}"
    return {"type": "command", "command": command, "timeout": hook.timeout}


def hooks_section(words: Sequence[str]) -> dict[str, Any]:
    """The value of `hooks` in settings that hold no others."""
    return {hook.event: [{"hooks": [hook_entry(words, hook)]}] for hook in HOOKS}


def words_of(entry: Any) -> list[str]:
    """The command line of a hook or a server, as words; [] if it has none."""
    command, arguments = (entry.get("command"), entry.get("args")) if isinstance(entry, dict) else (None, None)
    if not isinstance(command, str):
        return []
    if isinstance(arguments, list):
        return [command, *(word for word in arguments if isinstance(word, str))]
    try:
        return shlex.split(command)
    except ValueError:
        return []


def hook_of(entry: Any) -> str | None:
    """The subcommand of `gieok hook` that a hook's entry runs, however wrapped; None if it is somebody else's."""
    words = words_of(entry)
    for place, word in enumerate(words):
        match _after_gieok(word, words[place + 1 :]):
            case ["hook", name, *_]:
                return name.rstrip(";&|)")  # what a shell ends a command with is no part of the name
            case ["hook"]:
                return ""
    return None


def is_server(entry: Any) -> bool:
    """Whether an MCP server's entry runs `gieok mcp`, however wrapped (`uvx gieok mcp`)."""
    words = words_of(entry)
    return any(_after_gieok(word, words[place + 1 :])[:1] == ["mcp"] for place, word in enumerate(words))


def is_plain(entry: Any, *command: str) -> bool:
    """Whether an entry calls gieok as we register it, wherever that lies: nothing before or after it."""
    words = words_of(entry)
    return bool(words) and _after_gieok(words[0], words[1:]) in ([*command], [*command, *_NEVER_FAILING.split()])


def _after_gieok(word: str, rest: list[str]) -> list[str]:
    """The subcommand and what follows, if `word` is gieok; [] if not."""
    if Path(word).name not in (NAME, f"{NAME}.exe"):
        return []
    while rest and (taken := _GLOBAL_OPTIONS.get(rest[0].partition("=")[0])):
        rest = rest[1 if "=" in rest[0] else taken :]
    return rest
