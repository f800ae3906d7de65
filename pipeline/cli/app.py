"""The commands. Each opens the store, asks the facade one thing and prints the answer."""

from __future__ import annotations

import os
import re
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from pipeline.cli.finding import Ask, Format, Layer, Mode
from pipeline.cli.narrowing import (
    MinScore,
    NoTime,
    Project,
    Session,
    Since,
    Tags,
    Task,
    Team,
    TopK,
    Types,
    Until,
    narrowed,
)
from pipeline.cli.options import AsJson, Common, Config, Home, Ids, NoColor, common, print_json, wrapped
from pipeline.cli.run import FAILED, FOUND, NOTHING, complain, decoded, ends_well

app = typer.Typer(
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
        raise typer.Exit(FOUND)


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


class Part(StrEnum):
    """What can be rebuilt."""

    words = "words"
    vectors = "vectors"
    all = "all"


_OPTION = re.compile(r"--?[A-Za-z]")


class QueryCommand(TyperCommand):
    """Takes words that begin with a dash (`-배포`) for words, and a mistyped option for a mistake."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """See click."""
        before_dashes = set(args[: args.index("--")] if "--" in args else args)
        rest: list[str] = super().parse_args(ctx, args)
        for word in ctx.params.get("query") or ():
            if word in before_dashes and _OPTION.match(word):
                ctx.fail(f"No such option: {word}  (to search for it, write -- before the query)")
        return rest


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


@app.command(cls=QueryCommand, context_settings={"ignore_unknown_options": True})
@ends_well
def search(
    ctx: typer.Context,
    query: Annotated[list[str], typer.Argument(metavar="QUERY", help="Words or a question; quotes not needed.")],
    layer: Annotated[
        Layer | None,
        typer.Option(
            metavar="auto|1|2|3",
            help="auto: index, and more where it is worth it. 1: index, 2: with snippets, 3: with details. [auto]",
        ),
    ] = None,
    top_k: TopK = None,
    min_score: MinScore = None,
    types: Types = None,
    session: Session = None,
    project: Project = None,
    team: Team = None,
    task: Task = None,
    tags: Tags = None,
    since: Since = None,
    until: Until = None,
    no_time: NoTime = False,
    no_expand: Annotated[bool, typer.Option("--no-expand", help="Index only: no timeline, no details.")] = False,
    max_tokens: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Tokens at the most. [budget.max_total_tokens]")
    ] = None,
    mode: Annotated[
        Mode | None, typer.Option(metavar="progressive|legacy", help="legacy: the whole text of the first hits.")
    ] = None,
    form: Annotated[
        Format | None, typer.Option("--format", metavar="text|markdown", help="For people, or for agents. [text]")
    ] = None,
    as_json: AsJson = False,
    home: Home = None,
    config: Config = None,
    no_color: NoColor = False,
) -> int:
    """Find memories, best first, and open those that are surely meant.

    A query may name ids (mem_k3f9 보여줘), ask for detail (자세히 알려줘) and name a time (지난주, 3 days ago).

    Example: gieok search 지난주에 정한 스키마 설계 자세히 알려줘
    """
    chosen = common(ctx, home, config, no_color)
    ask = Ask(
        question=decoded(" ".join(query)),
        narrowed=narrowed(types, session, project, team, task, tags, since, until),
        layer=layer,
        mode=mode,
        top_k=top_k,
        min_score=min_score,
        max_tokens=max_tokens,
        no_expand=no_expand,
        no_time=no_time,
        as_json=as_json,
        form=form,
    )
    with chosen.open(create=False) as memory:
        return ask.run(memory, chosen)


@app.command(cls=QueryCommand, context_settings={"ignore_unknown_options": True})
@ends_well
def explain(
    ctx: typer.Context,
    query: Annotated[list[str], typer.Argument(metavar="QUERY", help="The query that was searched for.")],
    expect: Annotated[
        str | None, typer.Option(metavar="ID", help="A memory that should have been found: where did it fall out?")
    ] = None,
    top_k: TopK = None,
    min_score: MinScore = None,
    types: Types = None,
    session: Session = None,
    project: Project = None,
    team: Team = None,
    task: Task = None,
    tags: Tags = None,
    since: Since = None,
    until: Until = None,
    no_time: NoTime = False,
    as_json: AsJson = False,
    home: Home = None,
    config: Config = None,
    no_color: NoColor = False,
) -> int:
    """Say why a search answers as it does: ranks, evidence, score and rule of each hit.

    Example: gieok explain 배포 금지 --expect mem_k3f9
    """
    from pipeline.options import SmartSearchOptions

    chosen = common(ctx, home, config, no_color)
    options = SmartSearchOptions(
        top_k=top_k,
        min_score=min_score,
        filter=narrowed(types, session, project, team, task, tags, since, until),
        detect_time=False if no_time else None,
    )
    with chosen.open(create=False) as memory:
        told = memory.explain(decoded(" ".join(query)), decoded(expect) if expect else None, options)
        if as_json:
            print_json(told.to_json())
        else:
            from pipeline.formatter import explain_view

            chosen.show(explain_view(told, memory.short_id))
    return FOUND if told.hits or told.details else NOTHING


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
