"""`gieok hook` for people: its help. A hook that a host calls never comes here (`pipeline.start`)."""

from __future__ import annotations

from typing import Annotated

import typer

from pipeline.cli.lazy import module_app
from pipeline.cli.options import Config, Home, NoColor, common

app = module_app()


@app.command(no_args_is_help=False)
def hook(
    ctx: typer.Context,
    event: Annotated[
        str,
        typer.Argument(metavar="EVENT", help="session-start, user-prompt-submit, pre-compact, stop or session-end."),
    ] = "",
    home: Home = None,
    config: Config = None,
    no_color: NoColor = False,
) -> None:
    """Answer an event of a coding agent: its JSON on stdin, context for the agent on stdout.

    `gieok install` registers it. It ends with 0 and without a word on stderr, whatever happens; problems stand in
    hooks.log in the home (docs/hooks.md).

    Example: echo '{"prompt": "배포 언제?"}' | gieok hook user-prompt-submit
    """
    from pipeline.hooks.command import EVENTS, HookCall
    from pipeline.hooks.guard import guarded

    chosen = common(ctx, home, config, no_color)
    if event not in EVENTS:
        typer.echo(ctx.get_help())
        return
    guarded(HookCall(event, str(chosen.home) if chosen.home else None, str(chosen.config) if chosen.config else None))
