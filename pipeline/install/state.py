"""What of gieok is registered in Claude Code now, for whoever looks after an installation."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from indexes.errors import HostError
from pipeline.install import commands, files, merge
from pipeline.install.claude_code import Place, Scope
from pipeline.install.host import HOOKS, hook_of, is_server, words_of
from pipeline.results import Result


class Registered(Result):
    """What a scope holds of gieok. `calls` are the command lines that are registered, `problems` what is wrong.

    `missing` names parts that an installation has and this one lacks; it is empty where nothing is registered at all.
    """

    scope: Scope
    settings: str
    hooks: list[str]
    server: bool
    commands: list[str]
    calls: list[str]
    missing: list[str]
    problems: list[str]

    @property
    def any(self) -> bool:
        """Whether anything of gieok is registered."""
        return bool(self.hooks or self.server or self.commands)


def registered(
    scope: Scope = "user", *, project: Path | None = None, environ: Mapping[str, str] = os.environ
) -> Registered:
    """Look, and change nothing. A file that can't be read is a problem of the answer, not an error."""
    place = Place.of(scope, project=project, environ=environ)
    problems: list[str] = []
    hooks = [
        (hook_of(entry), words_of(entry))
        for groups in merge.mapping(_value(place.settings, problems), merge.HOOKS_KEY).values()
        for _, entry in merge.entries(groups)
        if hook_of(entry) is not None
    ]
    servers = [
        words_of(entry)
        for entry in merge.mapping(_value(place.servers, problems), merge.SERVERS_KEY).values()
        if is_server(entry)
    ]
    known = [name for name in commands.NAMES if _is_ours(place.commands / f"{name}.md", problems)]
    calls = [*(words for _, words in hooks), *servers]
    problems += [
        f"{program} is registered and is not there. Register this one: gieok install claude-code"
        for program in sorted({words[0] for words in calls if Path(words[0]).is_absolute()})
        if not os.access(program, os.X_OK)
    ]
    names = {name for name, _ in hooks}
    wanted = {f"hook {hook.subcommand}": hook.subcommand in names for hook in HOOKS}
    wanted |= {"server": bool(servers)} | {f"/{name}": name in known for name in commands.NAMES}
    return Registered(
        scope=scope,
        settings=str(place.settings),
        hooks=[name for name, _ in hooks if name],
        server=bool(servers),
        commands=known,
        calls=[" ".join(words) for words in calls],
        missing=[part for part, there in wanted.items() if not there] if any(wanted.values()) else [],
        problems=problems,
    )


def _value(path: Path, problems: list[str]) -> merge.Settings:
    try:
        return merge.read(files.read_bytes(path), path)[1]
    except HostError as error:
        problems.append(str(error))
        return {}


def _is_ours(path: Path, problems: list[str]) -> bool:
    try:
        return commands.is_ours((files.read_bytes(path) or b"").decode("utf-8", "replace"))
    except HostError as error:
        problems.append(str(error))
        return False
