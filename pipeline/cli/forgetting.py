"""`gieok forget`: shows what would go, asks, and removes exactly what it showed."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from indexes.errors import UsageError
from pipeline.cli.lazy import module_app
from pipeline.cli.narrowing import Project, Session, TopK
from pipeline.cli.options import AsJson, Config, Home, NoColor, common, print_json
from pipeline.cli.run import FAILED, FOUND, NOTHING, complain, decoded, ends_well

if TYPE_CHECKING:
    from pipeline.filters import SearchFilter
    from pipeline.forget.results import ForgetReport
    from pipeline.formatter import Line, ShortId
    from pipeline.gieok import Gieok

app = module_app()

SHOWN = 100
"""Memories that are listed one by one; the rest are counted (--dry-run --json lists all)."""
RESIDUE_SHOWN = 20


@app.command()
@ends_well
def forget(
    ctx: typer.Context,
    ids: Annotated[list[str] | None, typer.Argument(metavar="[ID]...", help="Memories; a beginning is enough.")] = None,
    session: Session = None,
    project: Project = None,
    before: Annotated[str | None, typer.Option(metavar="DATE", help="Older than this day, e.g. 2026-01-30.")] = None,
    matching: Annotated[
        str | None, typer.Option(metavar="QUERY", help="The hits of a search; --top-k says how many.")
    ] = None,
    top_k: TopK = None,
    min_score: Annotated[
        float | None, typer.Option(min=0, max=1, metavar="SCORE", help="With --matching: lower hits stay. [0.8]")
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Don't ask.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show what would go.")] = False,
    verify: Annotated[
        bool, typer.Option("--verify", help="Afterwards look through every file of the store for what is left.")
    ] = False,
    undo: Annotated[
        bool, typer.Option("--undo", help="Let what was forgotten last be indexed again, where its file still exists.")
    ] = False,
    as_json: AsJson = False,
    home: Home = None,
    config: Config = None,
    no_color: NoColor = False,
) -> int:
    """Remove memories for good, from every file of the store, and keep them from coming back.

    Shows them and asks first. Options narrow together. Notes and diaries in the store's folder go with their memories;
    your own files stay and are named. Exit code 1: nothing fits. 2: --verify found something left.

    Example: gieok forget --matching "급여 명세" -k 5 --verify
    """
    chosen = common(ctx, home, config, no_color)
    where = _where(session, project, before)
    if undo and (ids or where or matching is not None or verify or dry_run):
        raise UsageError("--undo goes alone.")
    if matching is None and (top_k is not None or min_score is not None):
        raise UsageError("--top-k and --min-score go with --matching. To forget one memory, name its ID.")
    if as_json and not (yes or dry_run or undo):
        raise UsageError("--json can't ask. Add --yes, or --dry-run to see what would go.")
    from pipeline.gieok import FORGOTTEN_FROM

    with chosen.open(create=False) as memory:
        if undo:
            return _undone(memory, as_json)
        found = memory.forget(
            list(map(decoded, ids or ())),
            filter=where,
            matching=decoded(matching) if matching is not None else None,
            top_k=top_k,
            min_score=FORGOTTEN_FROM if min_score is None else min_score,
            dry_run=True,
        )
        if not as_json:
            chosen.show(_view(found, memory.short_id))
        if found.memories and not dry_run:
            if not yes and not _agreed(found):
                complain("Nothing was forgotten.")
                return NOTHING
            found = memory.forget([item.id for item in found.memories], verify=verify)
            if not as_json:
                chosen.show(_done(found))
        if as_json:
            print_json(found.to_json())
    if found.residue:
        return FAILED
    return FOUND if found.memories else NOTHING


def _where(session: str | None, project: str | None, before: str | None) -> SearchFilter | None:
    import datetime as dt

    from pipeline.filters import SearchFilter

    if session is None and project is None and before is None:
        return None
    until = None
    if before is not None:
        try:
            until = dt.date.fromisoformat(before.strip()) - dt.timedelta(days=1)
        except (ValueError, OverflowError):
            raise UsageError(f"The date {before!r} is not understood. Write YYYY-MM-DD") from None
    return SearchFilter(
        session=decoded(session) if session is not None else None,
        project=decoded(project) if project is not None else None,
        until=until,
    )


def _undone(memory: Gieok, as_json: bool) -> int:
    import json

    lifted = memory.unforget()
    if as_json:
        print_json(json.dumps({"lifted": lifted}))
    elif lifted:
        which = (
            "1 memory may come back. Index its file"
            if len(lifted) == 1
            else f"{len(lifted):,} memories may come back. Index their files"
        )
        typer.echo(f"{which} again: gieok index PATH")
    else:
        complain("Nothing was forgotten that could be undone.")
    return FOUND if lifted else NOTHING


def _agreed(found: ForgetReport) -> bool:
    if not _terminal():
        raise UsageError("Nobody can be asked here. Add --yes, or --dry-run to see what would go.")
    many = len(found.memories)
    return typer.confirm(f"Forget {'this memory' if many == 1 else f'these {many:,} memories'} for good?", err=True)


def _terminal() -> bool:
    return sys.stdin is not None and sys.stdin.isatty()


def _view(found: ForgetReport, short: ShortId) -> Iterator[Line]:
    """What would go."""
    from rich.text import Text

    from pipeline.formatter import Line
    from pipeline.plaintext import clean, fold

    if not found.memories:
        yield Line("", Text("No memory fits: nothing to forget."))
        return
    for item in found.memories[:SHOWN]:
        why = f"  (also: {item.also})" if item.also else ""
        yield Line(f"[{short(item.id)}] ", Text(fold(clean(f"{item.timestamp:%Y-%m-%d} {item.summary}{why}"))))
    if len(found.memories) > SHOWN:
        yield Line("", Text(f"… and {len(found.memories) - SHOWN:,} more (all: --dry-run --json)"))
    for name in found.files:
        yield Line("File that goes with it: ", Text(fold(clean(name))))
    for name in found.backups:
        yield Line("Backup that goes with it: ", Text(fold(clean(name))))
    for path in found.elsewhere:
        yield Line("Your file, which stays: ", Text(fold(clean(path))))
    for notice in found.notices:
        yield Line("Note: ", Text(fold(clean(notice))))


def _done(found: ForgetReport) -> Iterator[Line]:
    """What has gone, and what a verification says."""
    from rich.text import Text

    from pipeline.formatter import Line
    from pipeline.plaintext import clean, fold

    many = len(found.memories)
    yield Line("Forgotten: ", Text("1 memory" if many == 1 else f"{many:,} memories"))
    for notice in found.notices:
        yield Line("Note: ", Text(fold(clean(notice))))
    if found.residue is None:
        return
    if not found.residue:
        yield Line("Verified: ", Text("no file of the store holds any of it."))
    for place in found.residue[:RESIDUE_SHOWN]:
        at = f" at byte {place.offset:,}" if place.offset is not None else ""
        yield Line("Left: ", Text(fold(clean(f"{place.what} in {place.path}{at}"))))
    if len(found.residue) > RESIDUE_SHOWN:
        yield Line("", Text(f"… and {len(found.residue) - RESIDUE_SHOWN:,} more places (all: --json)"))
