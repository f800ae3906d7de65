"""Register gieok in Claude Code, or take it out: hooks, MCP server and commands, each in the file where it belongs."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal, TypeAlias

from indexes.errors import HostError
from pipeline.install import commands, files, merge
from pipeline.install.files import Edit

Scope: TypeAlias = Literal["user", "project"]


@dataclass(frozen=True, slots=True)
class Place:
    """The files of Claude Code that a scope concerns."""

    settings: Path
    servers: Path
    commands: Path
    private: bool

    @classmethod
    def of(cls, scope: Scope, *, project: Path | None = None, environ: Mapping[str, str] = os.environ) -> Place:
        """For all projects of the user (`CLAUDE_CONFIG_DIR`, else the home folder), or for the one in a folder.

        `project` is by default the folder that this process runs in. Raises HostError.
        """
        if scope == "project":
            root = project if project is not None else _current_folder()
            folder = root / ".claude"
            return cls(folder / "settings.json", root / ".mcp.json", folder / "commands", private=False)
        named = environ.get("CLAUDE_CONFIG_DIR")
        try:
            folder = Path(named).expanduser().absolute() if named else Path.home() / ".claude"
        except RuntimeError as error:
            raise HostError(f"The home folder is unknown ({error}). Set CLAUDE_CONFIG_DIR.") from error
        servers = folder / ".claude.json" if named else Path.home() / ".claude.json"
        return cls(folder / "settings.json", servers, folder / "commands", private=True)


def _current_folder() -> Path:
    try:
        return Path.cwd()
    except OSError as error:
        raise HostError(
            f"The current folder can't be used ({error.strerror}). Go to the project and try again."
        ) from error


@dataclass(frozen=True, slots=True)
class Step:
    """A file, what is to become of it, and what is to be said of what it holds."""

    path: Path
    edit: Edit
    keep_backup: bool
    remark: Callable[[bytes | None], str | None] = lambda _: None


@dataclass(frozen=True, slots=True)
class Change:
    """What a file held and what it holds now (None: there is none), and where the former was kept."""

    path: Path
    before: bytes | None
    after: bytes | None
    backup: Path | None = None


@dataclass(frozen=True, slots=True)
class Work:
    """All steps in a place. Every one is tried out before the first file is touched."""

    place: Place
    steps: tuple[Step, ...]

    def preview(self) -> list[Change]:
        """What `carry_out` would change. Raises HostError."""
        tried = [(step.path, before := files.read_bytes(step.path), step.edit(before)) for step in self.steps]
        changes = [Change(path, before, after) for path, before, after in tried if before != after]
        for change in changes:
            files.check_writable(change.path)
        return changes

    def carry_out(self) -> list[Change]:
        """Change the files, each whole or not at all; what was changed. Raises HostError.

        If one fails all the same, those before it are changed; running the same again does the rest.
        """
        self.preview()
        done = []
        for step in self.steps:
            change = files.update(step.path, step.edit, private=self.place.private, keep_backup=step.keep_backup)
            if change[0] != change[1]:
                done.append(Change(step.path, *change))
        for folder in (self.place.commands, self.place.settings.parent):
            if any(change.after is None and folder in change.path.parents for change in done):
                _remove_if_empty(folder)
        return done

    def notices(self) -> list[str]:
        """What the user should know of the files as they are now."""
        said = [(step.path, step.remark(files.read_bytes(step.path))) for step in self.steps]
        return [f"{path} {remark}." for path, remark in said if remark is not None]


def _remove_if_empty(folder: Path) -> None:
    if folder.is_dir() and not folder.is_symlink() and not any(folder.iterdir()):
        folder.rmdir()


def install(place: Place, words: Sequence[str]) -> Work:
    """What registers gieok, called by `words`. Doing it twice is doing it once."""
    with_server = partial(merge.with_server, path=place.servers, words=words)
    with_hooks = partial(merge.with_hooks, path=place.settings, words=words)
    steps = [
        Step(place.commands / f"{name}.md", partial(_with_command, text=_signed(name, words)), False, _not_untouched)
        for name in commands.NAMES
    ]
    steps.append(Step(place.servers, with_server, True))
    steps.append(Step(place.settings, with_hooks, True, partial(_switched_off, path=place.settings)))
    return Work(place, tuple(steps))


def uninstall(place: Place) -> Work:
    """What takes gieok out again, also that of an older version; what its user wrote stays."""
    without_hooks = partial(_without, path=place.settings, take_out=merge.without_hooks)
    without_server = partial(_without, path=place.servers, take_out=merge.without_server)
    steps = [Step(place.settings, without_hooks, True), Step(place.servers, without_server, True)]
    steps += [Step(place.commands / f"{name}.md", _without_command, False, _edited) for name in commands.NAMES]
    return Work(place, tuple(steps))


def _signed(name: str, words: Sequence[str]) -> str:
    return commands.signed(commands.text(name, words, commands.INSTALLED_TOOLS))


def _with_command(data: bytes | None, text: str) -> bytes:
    return text.encode() if data is None or commands.is_untouched(_decoded(data)) else data


def _without_command(data: bytes | None) -> bytes | None:
    return None if data is None or commands.is_untouched(_decoded(data)) else data


def _edited(data: bytes | None) -> str | None:
    text = _decoded(data or b"")
    return (
        "was changed by you and stays as it is" if commands.is_ours(text) and not commands.is_untouched(text) else None
    )


def _not_untouched(data: bytes | None) -> str | None:
    foreign = data is not None and not commands.is_ours(_decoded(data))
    return "is not from gieok and stays as it is" if foreign else _edited(data)


def _switched_off(data: bytes | None, path: Path) -> str | None:
    off = merge.read(data, path)[1].get("disableAllHooks") is True
    return "has disableAllHooks: no hook will run" if off else None


def _decoded(data: bytes) -> str:
    return data.decode("utf-8", "replace")


TakeOut: TypeAlias = Callable[[bytes, Path, merge.Settings], bytes]


def _without(data: bytes | None, path: Path, take_out: TakeOut) -> bytes | None:
    """A settings file without our entries; none if it was we who made it and nothing else is in it.

    What it held before gieok came is in the backup that was made then. It tells an empty section that was the user's
    from one that we made.
    """
    if data is None:
        return None
    earlier = _before_us(path, take_out)
    left = take_out(data, path, earlier if earlier is not None else {})
    is_empty = left != data and not merge.read(left, path)[1]
    return None if is_empty and earlier is None else left


def _before_us(path: Path, take_out: TakeOut) -> merge.Settings | None:
    """The newest backup that holds nothing of ours; None if there is none."""
    for saved in reversed(files.backups(path)):
        try:
            data = files.read_bytes(saved)
            if data is not None and take_out(data, saved, {}) == data:
                return merge.read(data, saved)[1]
        except HostError:
            continue  # a backup that somebody edited
    return None
