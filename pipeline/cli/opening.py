"""`gieok timeline` and `gieok show` open what a search found."""

from __future__ import annotations

from typing import Annotated

import typer

from pipeline.cli.lazy import module_app
from pipeline.cli.options import AsJson, Config, Home, Ids, NoColor, common, print_json, wrapped
from pipeline.cli.run import FOUND, decoded, ends_well

app = module_app()


@app.command()
@ends_well
def timeline(
    ctx: typer.Context,
    ids: Ids,
    window: Annotated[
        int | None, typer.Option(min=0, max=100, metavar="N", help="Neighbours on each side. [layer2.window]")
    ] = None,
    as_json: AsJson = False,
    home: Home = None,
    config: Config = None,
    no_color: NoColor = False,
) -> int:
    """Show what came before and after memories in their sessions.

    Example: gieok timeline mem_k3f9 --window 5
    """
    chosen = common(ctx, home, config, no_color)
    with chosen.open(create=False) as memory:
        items = memory.get_timeline(list(map(decoded, ids)), window)
        if as_json:
            print_json(wrapped("timeline", items))
        else:
            from pipeline.formatter import timeline_view

            chosen.show(timeline_view(items, memory.short_id))
    return FOUND


@app.command("get", hidden=True)
@app.command()
@ends_well
def show(
    ctx: typer.Context,
    ids: Ids,
    query: Annotated[
        str | None, typer.Option(metavar="TEXT", help="Only the part that matches this. [layer3.section_tokens]")
    ] = None,
    max_tokens: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Tokens of each memory at the most.")
    ] = None,
    as_json: AsJson = False,
    home: Home = None,
    config: Config = None,
    no_color: NoColor = False,
) -> int:
    """Show memories whole, or what matches a query. `gieok get` is the same.

    Example: gieok show mem_k3f9 --query "배포 금지 이유"
    """
    chosen = common(ctx, home, config, no_color)
    with chosen.open(create=False) as memory:
        details = memory.get_details(
            list(map(decoded, ids)), decoded(query) if query is not None else None, max_tokens=max_tokens
        )
        if as_json:
            print_json(wrapped("details", details))
        else:
            from pipeline.formatter import details_view

            chosen.show(details_view(details, memory.short_id))
    return FOUND
