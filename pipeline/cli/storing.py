"""`gieok index`, `gieok status` and `gieok rebuild`: what goes into the store, and how it is."""

from __future__ import annotations

import os
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from pipeline.cli.lazy import module_app
from pipeline.cli.options import AsJson, Config, Home, NoColor, common, print_json
from pipeline.cli.run import FAILED, FOUND, NOTHING, complain, ends_well

app = module_app()


class Part(StrEnum):
    """What can be rebuilt."""

    words = "words"
    vectors = "vectors"
    all = "all"


@app.command()
@ends_well
def index(
    ctx: typer.Context,
    paths: Annotated[list[Path] | None, typer.Argument(metavar="PATH", help="Files and folders.")] = None,
    no_vectors: Annotated[bool, typer.Option("--no-vectors", help="Words only; vectors can follow later.")] = False,
    no_redact: Annotated[
        bool, typer.Option("--no-redact", help="Store secrets as they stand. [privacy.redact]")
    ] = False,
    home: Home = None,
    config: Config = None,
    no_color: NoColor = False,
) -> int:
    """Store what files and folders hold now; without PATH, finish what is pending.

    Only what changed is read again. Ctrl-C is safe: the next run goes on.

    Example: gieok index notes/ ~/.claude/projects
    """
    from pipeline.cli.bars import bars
    from pipeline.formatter import report_view
    from pipeline.sources.walker import expanded

    chosen = common(ctx, home, config, no_color)
    missing = [path for path in paths or () if not os.path.exists(expanded(path))]  # noqa: PTH110 - never raises
    with chosen.open() as memory, bars(color=not chosen.no_color) as on_progress:
        report = memory.index(
            paths or (), vectors=not no_vectors, redact=False if no_redact else None, on_progress=on_progress
        )
    chosen.show(report_view(report))
    done = report.indexed + report.updated + report.skipped + report.removed
    if missing or (report.failed and not done):
        return FAILED
    if paths and not done:
        complain("Found nothing to index there: no notes (.md, .txt) and no transcripts (.jsonl).")
        return NOTHING
    return FOUND


@app.command()
@ends_well
def status(
    ctx: typer.Context,
    as_json: AsJson = False,
    home: Home = None,
    config: Config = None,
    no_color: NoColor = False,
) -> int:
    """Show what the store holds, and whether its indexes are well.

    Example: gieok status --json
    """
    chosen = common(ctx, home, config, no_color)
    with chosen.open(create=False) as memory:
        state = memory.status()
    if as_json:
        print_json(state.to_json())
    else:
        from pipeline.formatter import status_view

        chosen.show(status_view(state))
    return FOUND


@app.command()
@ends_well
def rebuild(
    ctx: typer.Context,
    part: Annotated[Part, typer.Argument(help="Which index.")] = Part.all,
    home: Home = None,
    config: Config = None,
    no_color: NoColor = False,
) -> int:
    """Make the word index, the vectors or both again from the store.

    Example: gieok rebuild vectors
    """
    from pipeline.cli.bars import bars
    from pipeline.formatter import status_view

    chosen = common(ctx, home, config, no_color)
    with chosen.open(create=False) as memory, bars(color=not chosen.no_color) as on_progress:
        memory.rebuild(words=part != Part.vectors, vectors=part != Part.words, on_progress=on_progress)
        state = memory.status()
    chosen.show(status_view(state))
    return FOUND
