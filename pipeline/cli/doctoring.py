"""`gieok doctor`: how an installation and its store are doing."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from pipeline.cli.lazy import module_app
from pipeline.cli.options import AsJson, Config, Home, NoColor, common, print_json
from pipeline.cli.run import FAILED, FOUND, complain, ends_well

app = module_app()


@app.command()
@ends_well
def doctor(
    ctx: typer.Context,
    mend: Annotated[bool, typer.Option("--repair", help="Mend the store, its indexes and its permissions.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="With --repair: don't ask before the store is exchanged.")] = False,
    deep: Annotated[bool, typer.Option("--deep", help="Read every page and row of the store.")] = False,
    as_json: AsJson = False,
    home: Home = None,
    config: Config = None,
    no_color: NoColor = False,
) -> int:
    """Look at installation, store and indexes, and say how to mend what is not well.

    Exit code 0: no problem, warnings at most. 2: a problem.

    Example: gieok doctor --repair
    """
    from pipeline.doctor import diagnose
    from pipeline.doctor.view import doctor_view

    chosen = common(ctx, home, config, no_color)
    found = diagnose(chosen.home, chosen.config, deep=deep)
    if mend:
        from pipeline.cli.bars import bars
        from pipeline.doctor.repair import repair
        from pipeline.plaintext import clean
        from pipeline.settings import Settings

        def ask(question: str) -> bool:
            if yes or not sys.stdin.isatty():
                return yes
            return typer.confirm(question, err=True)

        out = sys.stderr if as_json else sys.stdout
        with bars(color=not chosen.no_color) as on_progress:
            for line in repair(found, Settings.load(chosen.config), ask=ask, on_progress=on_progress):
                print(clean(line), file=out, flush=True)
        found = diagnose(chosen.home, chosen.config, deep=deep)
    if as_json:
        print_json(found.to_json())
    else:
        chosen.show(doctor_view(found))
    if found.worst == "problem":
        complain(f"Problems: {', '.join(sorted({f.check for f in found.findings if f.level == 'problem'}))}")
        return FAILED
    return FOUND
