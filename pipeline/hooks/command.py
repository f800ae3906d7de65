"""The command line of a hook, read without any library: importing one costs more than this."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

EVENTS = {
    "session-start": "SessionStart",
    "user-prompt-submit": "UserPromptSubmit",
    "pre-compact": "PreCompact",
    "stop": "Stop",
    "session-end": "SessionEnd",
}
"""Subcommand → the host's name of the event."""
_WITH_VALUE = ("--home", "--config")


@dataclass(frozen=True, slots=True)
class HookCall:
    """`gieok … hook EVENT`. An event that we don't know is "", and nothing is done."""

    event: str
    home: str | None = None
    config: str | None = None
    wants_help: bool = False


def hook_call(arguments: Sequence[str]) -> HookCall | None:
    """The call, if these arguments are one of a hook.

    Options that a hook doesn't know are passed over: a newer or older registration must not stop anybody's prompt.
    """
    rest = list(arguments)
    given: dict[str, str] = {}
    words: list[str] = []
    helping = False
    while rest:
        word = rest.pop(0)
        name, equals, value = word.partition("=")
        if name in _WITH_VALUE and (equals or rest):
            given[name] = value if equals else rest.pop(0)
        elif word.startswith("-"):
            helping = helping or word in ("-h", "--help")
        else:
            words.append(word)
            if words[0] != "hook":
                return None
    if not words:
        return None
    event = words[1] if len(words) > 1 and words[1] in EVENTS else ""
    return HookCall(event, given.get("--home"), given.get("--config"), helping or (not event and _at_a_terminal()))


def _at_a_terminal() -> bool:
    try:
        return os.isatty(0) and os.isatty(1)
    except OSError:
        return False
