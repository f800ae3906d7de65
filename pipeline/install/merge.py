"""Settings of Claude Code with gieok's entries put in or taken out; everything else as it was, to the character."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeAlias

from indexes.errors import HostError
from pipeline.install import jsontext
from pipeline.install.host import HOOKS, NAME, hook_entry, hook_of, hooks_section, is_plain, is_server, server

BOM = "\ufeff"
HOOKS_KEY, SERVERS_KEY, PLUGINS_KEY = "hooks", "mcpServers", "enabledPlugins"
Settings: TypeAlias = dict[str, Any]
Place: TypeAlias = list[jsontext.Key]


def read(data: bytes | None, path: Path) -> tuple[str, Settings]:
    """The text of a settings file, without a byte order mark, and its value; of no file, `{}`. Raises HostError."""
    try:
        text = (data or b"").decode("utf-8").removeprefix(BOM)
    except UnicodeDecodeError as error:
        raise HostError(f"{path} is not UTF-8 (byte {error.start}). Save it as UTF-8 and try again.") from error
    if not text.strip():
        text = "{}\n"
    try:
        value = jsontext.parse(text)
    except ValueError as error:
        raise HostError(
            f"{path} is not valid JSON ({error}). Comments and trailing commas are no JSON, and Claude Code refuses"
            " them, too: mend the file, or paste into it what this prints: gieok install claude-code --print"
        ) from error
    if not isinstance(value, dict):
        raise HostError(f"{path} holds {_kind(value)} where {_kind({})} is needed. Mend it or move it away.")
    return text, value


def with_hooks(data: bytes | None, path: Path, words: Sequence[str]) -> bytes:
    """A settings file with our hooks. One of ours keeps what its user changed; only a gieok that moved is followed."""
    text, value = read(data, path)
    _refuse_plugin(value, path)
    hooks = _section(value, HOOKS_KEY, dict, path)
    if HOOKS_KEY not in value:
        return _encoded(jsontext.insert(text, [], HOOKS_KEY, hooks_section(words)), data)
    for hook in HOOKS:
        groups = _section(hooks, hook.event, list, path)
        wanted = hook_entry(words, hook)
        ours = [(place, entry) for place, entry in entries(groups) if hook_of(entry) == hook.subcommand]
        for place, entry in ours:
            if is_plain(entry, "hook", hook.subcommand) and entry["command"] != wanted["command"]:
                text = jsontext.put(text, [HOOKS_KEY, hook.event, *place], "command", wanted["command"])
        if not ours and hook.event in hooks:
            text = jsontext.insert(text, [HOOKS_KEY, hook.event], None, {"hooks": [wanted]})
        elif not ours:
            text = jsontext.insert(text, [HOOKS_KEY], hook.event, [{"hooks": [wanted]}])
    return _encoded(text, data)


def without_hooks(data: bytes, path: Path, earlier: Settings) -> bytes:
    """A settings file without our hooks, and without what they leave empty, unless it was so in `earlier`."""
    text, value = read(data, path)
    hooks, had = mapping(value, HOOKS_KEY), mapping(earlier, HOOKS_KEY)
    gone: list[Place] = []
    for event, groups in hooks.items():
        if isinstance(groups, list):
            places = _ours(groups)
            all_of_it = places and places == [[number] for number in range(len(groups))]
            gone += [[event]] if all_of_it and had.get(event) != [] else [[event, *place] for place in places]
    if gone and gone == [[event] for event in hooks] and earlier.get(HOOKS_KEY) != {}:
        gone = [[]]
    for place in reversed(gone):
        text = jsontext.remove(text, [HOOKS_KEY, *place])
    return _encoded(text, data) if gone else data


def with_server(data: bytes | None, path: Path, words: Sequence[str]) -> bytes:
    """A file of MCP servers with ours. Ours keeps what its user changed; only a gieok that moved is followed."""
    text, value = read(data, path)
    servers = _section(value, SERVERS_KEY, dict, path)
    wanted = server(words)
    if SERVERS_KEY not in value:
        return _encoded(jsontext.insert(text, [], SERVERS_KEY, {NAME: wanted}), data)
    now = servers.get(NAME, wanted)
    if not is_server(now):
        raise HostError(f"{path} has an MCP server {NAME!r} that runs something else. Rename it there and try again.")
    if NAME not in servers:
        text = jsontext.insert(text, [SERVERS_KEY], NAME, wanted)
    elif is_plain(now, "mcp"):
        for key in ("command", "args"):
            if now.get(key) != wanted[key]:
                text = jsontext.put(text, [SERVERS_KEY, NAME], key, wanted[key])
    return _encoded(text, data)


def without_server(data: bytes, path: Path, earlier: Settings) -> bytes:
    """A file of MCP servers without ours, and without a section that this leaves empty, unless `earlier` had it so."""
    text, value = read(data, path)
    servers = mapping(value, SERVERS_KEY)
    ours: list[Place] = [[name] for name, entry in servers.items() if is_server(entry)]
    if ours and len(ours) == len(servers) and earlier.get(SERVERS_KEY) != {}:
        ours = [[]]
    for place in ours:
        text = jsontext.remove(text, [SERVERS_KEY, *place])
    return _encoded(text, data) if ours else data


def entries(groups: Any) -> list[tuple[Place, Any]]:
    """Each hook of an event, and its place below it. What has another form is somebody else's."""
    return [
        ([number, "hooks", inner], entry)
        for number, group in enumerate(groups if isinstance(groups, list) else [])
        for inner, entry in enumerate(_hooks_in(group))
    ]


def _hooks_in(group: Any) -> list[Any]:
    inner = group.get("hooks") if isinstance(group, dict) else None
    return inner if isinstance(inner, list) else []


def _ours(groups: list[Any]) -> list[Place]:
    """The places of our hooks below an event; the place of their group where it holds no other."""
    places: list[Place] = []
    for number, group in enumerate(groups):
        inner = _hooks_in(group)
        ours = [place for place, entry in enumerate(inner) if hook_of(entry) is not None]
        whole = ours and len(ours) == len(inner)
        places += [[number]] if whole else [[number, "hooks", place] for place in ours]
    return places


def _section(parent: Settings, key: str, kind: type[Any], path: Path) -> Any:
    value = parent.get(key, kind())
    if not isinstance(value, kind):
        raise HostError(f"{key!r} in {path} is {_kind(value)} where {_kind(kind())} is needed. Mend it and try again.")
    return value


def mapping(settings: Settings, key: str) -> Settings:
    """The object under a key; an empty one where there is something else, which can't hold anything of ours."""
    value = settings.get(key)
    return value if isinstance(value, dict) else {}


def _kind(value: Any) -> str:
    names = {dict: "an object", list: "a list", str: "a text", bool: "a truth value", float: "a number"}
    return names.get(type(value), "null")


def _refuse_plugin(value: Settings, path: Path) -> None:
    for name, enabled in mapping(value, PLUGINS_KEY).items():
        if name.partition("@")[0] == NAME and enabled:
            raise HostError(
                f"The plugin {name} is enabled in {path}: each hook would run twice. Keep the plugin, or take it out:"
                f" claude plugin uninstall {name}"
            )


def _encoded(text: str, data: bytes | None) -> bytes:
    return ((BOM if (data or b"").startswith(BOM.encode()) else "") + text).encode("utf-8")
