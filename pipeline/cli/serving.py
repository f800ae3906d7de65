"""`gieok mcp` serves agents, `gieok remember` keeps a note."""

from __future__ import annotations

import importlib.util
import sys
from typing import Annotated

import typer

from indexes.errors import MissingExtraError, UsageError
from pipeline.cli.lazy import module_app
from pipeline.cli.options import AsJson, Config, Home, NoColor, common, print_json
from pipeline.cli.run import FOUND, complain, decoded, ends_well

app = module_app()

PORT = 8377
FROM_STDIN = "-"


@app.command()
@ends_well
def mcp(
    ctx: typer.Context,
    port: Annotated[int | None, typer.Argument(metavar="[PORT]", min=0, max=65535, help="With --http.")] = None,
    http: Annotated[
        bool, typer.Option("--http", help=f"Serve HTTP on 127.0.0.1, port {PORT} unless PORT is given.")
    ] = False,
    home: Home = None,
    config: Config = None,
    no_color: NoColor = False,
) -> int:
    """Serve the memory to agents: an MCP server on stdin and stdout.

    Example: gieok mcp
    """
    if port is not None and not http:
        raise UsageError(f"A port goes with --http only. Write: gieok mcp --http {port}")
    if importlib.util.find_spec("mcp") is None:
        raise MissingExtraError("mcp", "mcp")
    chosen = common(ctx, home, config, no_color)
    if http:
        from pipeline.mcp.http import serve_http

        serve_http(chosen.open, PORT if port is None else port)
    else:
        from pipeline.mcp.stdio import serve_stdio

        serve_stdio(chosen.open)
    return FOUND


@app.command()
@ends_well
def remember(
    ctx: typer.Context,
    text: Annotated[list[str], typer.Argument(metavar="TEXT", help="The note; - reads it from stdin.")],
    title: Annotated[str | None, typer.Option(metavar="TEXT", help="Title.")] = None,
    tags: Annotated[list[str] | None, typer.Option("--tag", metavar="TAG", help="Tag; may be repeated.")] = None,
    project: Annotated[str | None, typer.Option(metavar="NAME", help="Project.")] = None,
    as_json: AsJson = False,
    home: Home = None,
    config: Config = None,
    no_color: NoColor = False,
) -> int:
    """Keep a note, so that a search finds it at once.

    Example: gieok remember "금요일에는 배포하지 않는다" --tag rule
    """
    from pipeline.notes import Origin
    from pipeline.plaintext import clean, fold

    chosen = common(ctx, home, config, no_color)
    words = _from_stdin() if text == [FROM_STDIN] else decoded(" ".join(text))
    with chosen.open() as memory:
        kept = memory.remember(
            words,
            title=decoded(title) if title is not None else None,
            tags=list(map(decoded, tags or ())),
            project=decoded(project) if project is not None else None,
            origin=Origin.of_host(),
        )
        if as_json:
            print_json(kept.to_json())
        else:
            typer.echo(fold(clean(" ".join([*map(memory.short_id, kept.ids), kept.path]))))
    for notice in kept.notices:
        complain(notice)
    return FOUND


def _from_stdin() -> str:
    from pipeline.notes import MAX_CHARACTERS
    from pipeline.sources.decode import decode

    if sys.stdin is None:
        raise UsageError("stdin is closed. Write the note after the command, or pipe it in.")
    data = sys.stdin.buffer.read(4 * MAX_CHARACTERS + 1)  # four bytes are the longest character
    return decode(data).text
