"""Commands that are imported when they are asked for: help, completion and one command never pay for the others."""

from __future__ import annotations

import importlib
import re
from collections import UserDict
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_group

# In the order of the help. The text is the first line of the command's own help (a test compares them).
COMMANDS = {
    "index": ("storing", "Store what files and folders hold now; without PATH, finish what is pending."),
    "search": ("searching", "Find memories, best first, and open those that are surely meant."),
    "explain": ("searching", "Say why a search answers as it does: ranks, evidence, score and rule of each hit."),
    "timeline": ("opening", "Show what came before and after memories in their sessions."),
    "show": ("opening", "Show memories whole, or what matches a query."),
    "status": ("storing", "Show what the store holds, and whether its indexes are well."),
    "rebuild": ("storing", "Make the word index, the vectors or both again from the store."),
    "forget": ("forgetting", "Remove memories for good, from every file of the store, and keep them from coming back."),
    "diary": ("diaries", "Write a diary entry from text on stdin or from a transcript, and index it at once."),
    "brief": ("diaries", "Sum up the last diary entries: what was done, what is open, what was decided."),
    "check": ("diaries", "Ask memory about a task before it is handed over: mistakes, rules, decisions."),
    "doctor": ("doctoring", "Look at installation, store and indexes, and say how to mend what is not well."),
    "hook": ("hooking", "Answer an event of a coding agent: its JSON on stdin, context for the agent on stdout."),
    "import": ("importing", "Take over the memories of another tool."),
    "install": (
        "installing",
        "Register gieok in Claude Code: MCP server, hooks and the commands /diary, /reflect, /memory.",
    ),
    "uninstall": ("installing", "Take gieok out of Claude Code again."),
    "mcp": ("serving", "Serve the memory to agents: an MCP server on stdin and stdout."),
    "remember": ("serving", "Keep a note, so that a search finds it at once."),
    "reflect": ("reflecting", "Find what repeats across diary entries, and propose it as rules."),
}
ALIASES = {"get": "opening"}
"""Commands that work and are not listed."""


class _Commands(UserDict[str, Any]):
    """Every name at once, its command when it is read."""

    def __init__(self) -> None:
        super().__init__(dict.fromkeys((*COMMANDS, *ALIASES)))

    def __getitem__(self, name: str) -> Any:
        if self.data[name] is None:
            module = ALIASES.get(name) or COMMANDS[name][0]
            self.data.update(get_group(importlib.import_module(f"pipeline.cli.{module}").app).commands)
        return self.data[name]


class LazyGroup(TyperGroup):
    """The commands of `COMMANDS`, each built from its module when it is named."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        self.commands = _Commands()

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """See click; from the table, so that no command is imported."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, summary) for name, (_, summary) in COMMANDS.items()])


def module_app() -> typer.Typer:
    """Where a module of commands registers them."""
    return typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)


_OPTION = re.compile(r"--?[A-Za-z]")


class QueryCommand(TyperCommand):
    """Takes words that begin with a dash (`-배포`) for words, and a mistyped option for a mistake."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """See click."""
        before_dashes = set(args[: args.index("--")] if "--" in args else args)
        rest: list[str] = super().parse_args(ctx, args)
        for word in ctx.params.get("query") or ():
            if word in before_dashes and _OPTION.match(word):
                ctx.fail(f"No such option: {word}  (to search for it, write -- before the query)")
        return rest
