"""The program `gieok`: what stands before a command. Each command is in a module of its own kind (`COMMANDS`)."""

from __future__ import annotations

from typing import Annotated

import typer

from pipeline.cli.lazy import LazyGroup
from pipeline.cli.options import Common, Config, Home, NoColor

app = typer.Typer(
    cls=LazyGroup,
    name="gieok",
    help="Search the memory of your work with coding agents: notes, diaries and transcripts, in Korean and English.",
    epilog="Start with: gieok index notes/  then: gieok search 배포 금지",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)


def _version(wanted: bool) -> None:
    if wanted:
        from pipeline.version import VERSION

        typer.echo(f"gieok {VERSION}")
        raise typer.Exit


@app.callback()
def gieok(
    ctx: typer.Context,
    home: Home = None,
    config: Config = None,
    no_color: NoColor = False,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Options for all commands: before the command, or after it."""
    ctx.obj = Common(home, config, no_color)
