"""`gieok reflect`: what repeats in the diary becomes a rule, if the user wants it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from indexes.errors import UsageError
from pipeline.cli.lazy import module_app
from pipeline.cli.options import AsJson, Config, Home, NoColor, common, print_json
from pipeline.cli.run import FAILED, FOUND, NOTHING, complain, decoded, ends_well

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pipeline.reflect.results import Applied, Reflection

app = module_app()


@app.command()
@ends_well
def reflect(
    ctx: typer.Context,
    ids: Annotated[
        list[str] | None, typer.Argument(metavar="[ID]...", help="Proposals, for --apply and --dismiss.")
    ] = None,
    apply: Annotated[
        bool, typer.Option("--apply", help="Write proposals to the rules file; shows the diff, asks.")
    ] = False,
    dismiss: Annotated[bool, typer.Option("--dismiss", help="Never propose these ids again.")] = False,
    done: Annotated[bool, typer.Option("--mark", help="Let the new entries be done without an answer.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="With --apply: don't ask.")] = False,
    to: Annotated[Path | None, typer.Option("--to", metavar="FILE", help="Rules file. [reflect.to]")] = None,
    team: Annotated[str | None, typer.Option(metavar="ID", help="Entries of this team only.")] = None,
    min_count: Annotated[
        int | None, typer.Option(min=2, metavar="N", help="Entries that make a proposal. [reflect.min_count]")
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="Processed entries and declined rules, too.")] = False,
    folder: Annotated[Path | None, typer.Option(metavar="DIR", help="Folder of the diary.")] = None,
    as_prompt: Annotated[bool, typer.Option("--prompt", help="Print a prompt for a language model.")] = False,
    as_json: AsJson = False,
    home: Home = None,
    config: Config = None,
    no_color: NoColor = False,
) -> int:
    """Find what repeats across diary entries, and propose it as rules. Changes nothing by itself.

    Example: gieok reflect --apply --to CLAUDE.md
    """
    _check(ids, apply + dismiss + done, dismiss=dismiss, apply=apply, yes=yes)

    from pipeline.home import named_folder
    from pipeline.reflect.engine import Ask
    from pipeline.reflect.engine import reflect as reflected
    from pipeline.reflect.folders import embedder_of, folder_of, target_of
    from pipeline.settings import Settings

    chosen = common(ctx, home, config, no_color)
    settings = Settings.load(chosen.config)
    ask = Ask(
        folder=folder_of(settings, named_folder(chosen.home), folder),
        target=target_of(settings, to),
        min_count=settings.reflect.min_count if min_count is None else min_count,
        team=decoded(team) if team is not None else None,
        every=every,
    )
    reflection = reflected(ask, embedder_of(settings))
    for failure in reflection.skipped:
        complain(f"Skipped {failure.path}: {failure.reason}")
    for notice in reflection.notices:
        complain(notice)
    if apply:
        return _apply(reflection, ids or (), yes=yes, as_json=as_json)
    if dismiss or done:
        from pipeline.reflect.applying import choose, mark_done
        from pipeline.reflect.applying import dismiss as turn_down

        _report(turn_down(reflection, choose(reflection, ids or ())) if dismiss else mark_done(reflection), as_json)
        return FOUND
    _list(reflection, as_prompt=as_prompt, as_json=as_json)
    return FOUND if reflection.proposals else NOTHING


def _check(ids: list[str] | None, answers: int, *, dismiss: bool, apply: bool, yes: bool) -> None:
    if answers > 1:
        raise UsageError("--apply, --dismiss and --mark are three answers. Give one of them.")
    if ids and not (apply or dismiss):
        raise UsageError("Ids go with --apply or --dismiss. Write: gieok reflect --apply ID")
    if dismiss and not ids:
        raise UsageError("Name what to turn down. Write: gieok reflect --dismiss ID")
    if yes and not apply:
        raise UsageError("--yes goes with --apply.")


def _list(reflection: Reflection, *, as_prompt: bool, as_json: bool) -> None:
    from pipeline.plaintext import clean, fold
    from pipeline.reflect.prompt import listing, prompt

    if as_json:
        print_json(reflection.to_json())
    elif as_prompt:
        typer.echo(clean(prompt(reflection)))
    else:
        for line in listing(reflection):
            indent = len(line) - len(line.lstrip(" "))
            typer.echo(" " * indent + fold(clean(line)))


def _apply(reflection: Reflection, ids: Sequence[str], *, yes: bool, as_json: bool) -> int:
    from pipeline.plaintext import clean, fold
    from pipeline.reflect.applying import apply, change, choose

    picked = choose(reflection, ids)
    if not picked:
        complain("There is no rule to write.")
        return NOTHING
    planned = change(reflection, picked)
    if not as_json:
        typer.echo(planned.diff)
    if not yes:
        if as_json or not sys.stdin.isatty():
            complain("Error: nobody can be asked here, so nothing was written. Read the diff, then add --yes")
            return FAILED
        if not typer.confirm(f"Write {len(picked)} rule(s) to {fold(clean(reflection.target))}?", err=True):
            complain("Nothing was written.")
            return NOTHING
    _report(apply(planned), as_json)
    return FOUND


def _report(result: Applied, as_json: bool) -> None:
    from pipeline.plaintext import clean, fold

    if as_json:
        print_json(result.to_json())
        return
    if result.backup:
        typer.echo(f"Backup: {fold(clean(result.backup))}")
    rules = "1 rule" if len(result.rules) == 1 else f"{len(result.rules)} rules"
    typer.echo(f"{rules} written, {result.processed} entries done, {len(result.left_open)} proposals left")
