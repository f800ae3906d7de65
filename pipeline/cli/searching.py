"""`gieok search`, and `gieok explain`, which says why it answers as it does."""

from __future__ import annotations

from typing import Annotated

import typer

from pipeline.cli.finding import Ask, Format, Layer, Mode
from pipeline.cli.lazy import QueryCommand, module_app
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
from pipeline.cli.options import AsJson, Config, Home, NoColor, common, print_json
from pipeline.cli.run import FOUND, NOTHING, decoded, ends_well

app = module_app()


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
    with chosen.open(create=False, to_search=True) as memory:
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
    with chosen.open(create=False, to_search=True) as memory:
        told = memory.explain(decoded(" ".join(query)), decoded(expect) if expect else None, options)
        if as_json:
            print_json(told.to_json())
        else:
            from pipeline.formatter import explain_view

            chosen.show(explain_view(told, memory.short_id))
    return FOUND if told.hits or told.details else NOTHING
