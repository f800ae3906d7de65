"""Options that several commands share, and the store that they open."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pipeline.formatter import Line
    from pipeline.gieok import Gieok
    from pipeline.results import Result

Home: TypeAlias = Annotated[
    Path | None,
    typer.Option("--home", metavar="DIR", help="Folder of the store. [GIEOK_HOME, else the platform's data folder]"),
]
Config: TypeAlias = Annotated[Path | None, typer.Option("--config", metavar="FILE", help="Settings file (TOML).")]
NoColor: TypeAlias = Annotated[bool, typer.Option("--no-color", help="No colours, as with NO_COLOR=1.")]
AsJson: TypeAlias = Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")]
Ids: TypeAlias = Annotated[list[str], typer.Argument(metavar="ID", help="Ids; a unique beginning is enough.")]


@dataclass(frozen=True, slots=True)
class Common:
    """What was given before the command, or after it, which wins."""

    home: Path | None = None
    config: Path | None = None
    no_color: bool = False

    def or_after(self, home: Path | None, config: Path | None, no_color: bool) -> Common:
        """These options, with what stands after the command in front."""
        return Common(home or self.home, config or self.config, no_color or self.no_color)

    def open(self, *, create: bool = True, to_search: bool = False) -> Gieok:
        """The store; commands that only read make none (`create=False`). Raises NoStoreError.

        With `to_search` the model is loaded meanwhile.
        """
        from pipeline.settings import Settings

        settings = Settings.load(self.config)
        if to_search:
            from indexes.ahead import begin

            begin(settings.embedder.model, settings.embedder.threads or None)
        from pipeline.gieok import Gieok

        return Gieok.open(self.home, settings, create=create)

    def show(self, lines: Iterable[Line]) -> None:
        """Print a view on stdout."""
        import sys

        from pipeline.formatter import write

        write(lines, sys.stdout, color=False if self.no_color else None)


def wrapped(name: str, items: Iterable[Result]) -> str:
    """A JSON object that holds the items under one name."""
    return f'{{"{name}":[' + ",".join(item.to_json() for item in items) + "]}"


# Inside JSON these stand only in strings, where the escaped form means the same and a terminal doesn't obey it.
_UNSAFE = {code: f"\\u{code:04x}" for code in (*range(0x7F, 0xA0), *range(0x2028, 0x202F), *range(0x2066, 0x206A))}


def print_json(text: str) -> None:
    """Print JSON, safe for a terminal."""
    typer.echo(text.translate(_UNSAFE))


def common(ctx: typer.Context, home: Path | None, config: Path | None, no_color: bool) -> Common:
    """The shared options of a command."""
    before = ctx.obj
    return (before if isinstance(before, Common) else Common()).or_after(home, config, no_color)
