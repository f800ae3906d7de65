"""The commands. Each opens the store, asks the facade one thing and prints the answer."""

from __future__ import annotations

import re
from collections.abc import Iterable
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand

from pipeline.cli.options import AsJson, Common, Config, Home, Ids, NoColor, common
from pipeline.cli.run import FAILED, FOUND, NOTHING, complain, decoded, ends_well

if TYPE_CHECKING:
    from pipeline.results import Result

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

    chosen = common(ctx, home, config, no_color)
    missing = [path for path in paths or () if not path.expanduser().exists()]
    with chosen.open() as memory, bars(color=not chosen.no_color) as on_progress:
        report = memory.index(paths or (), vectors=not no_vectors, on_progress=on_progress)
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
        int, typer.Option(min=1, max=3, metavar="1|2|3", help="1: index, 2: with snippets, 3: with details.")
    ] = 1,
    top_k: Annotated[int | None, typer.Option("--top-k", "-k", min=1, metavar="N", help="Hits at the most.")] = None,
    min_score: Annotated[
        float | None, typer.Option(min=0, max=1, metavar="SCORE", help="Hide hits that score lower (0 to 1).")
    ] = None,
    types: Annotated[
        list[str] | None,
        typer.Option("--type", metavar="TYPE", help="prompt, response, tool or insight; may be repeated."),
    ] = None,
    session: Annotated[str | None, typer.Option(metavar="ID", help="Session, or a unique beginning of it.")] = None,
    project: Annotated[str | None, typer.Option(metavar="NAME", help="Project.")] = None,
    team: Annotated[str | None, typer.Option(metavar="ID", help="Team.")] = None,
    task: Annotated[str | None, typer.Option(metavar="ID", help="Task.")] = None,
    tags: Annotated[
        list[str] | None, typer.Option("--tag", metavar="TAG", help="Tag; of several, one is enough.")
    ] = None,
    since: Annotated[str | None, typer.Option(metavar="DATE", help="From this day on, e.g. 2026-01-30.")] = None,
    until: Annotated[str | None, typer.Option(metavar="DATE", help="Up to and with this day.")] = None,
    as_json: AsJson = False,
    home: Home = None,
    config: Config = None,
    no_color: NoColor = False,
) -> int:
    """Find memories, best first.

    Example: gieok search 스키마 설계 --layer 2 --since 2026-01-01
    """
    from pipeline.filters import SearchFilter

    chosen = common(ctx, home, config, no_color)
    narrowed = SearchFilter(
        types=tuple(map(decoded, types or ())),
        session=_optional(session),
        project=_optional(project),
        team=_optional(team),
        task=_optional(task),
        tags=tuple(map(decoded, tags or ())),
        since=_optional(since),
        until=_optional(until),
    )
    question = decoded(" ".join(query))
    with chosen.open() as memory:
        answer = memory.search(question, layer=layer, top_k=top_k, filter=narrowed, min_score=min_score)
        if as_json:
            _print_json(answer.result.to_json())
            aside = [*answer.notices, *(part for part in (answer.reason, answer.advice) if answer.reason and part)]
            for line in aside:
                complain(line)
        else:
            from pipeline.formatter import search_view

            chosen.show(search_view(question, answer, memory.short_id, layer=layer))
    return FOUND if answer.result.index else NOTHING


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
    with chosen.open() as memory:
        items = memory.get_timeline(list(map(decoded, ids)), window)
        if as_json:
            _print_json(_wrapped("timeline", items))
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
    as_json: AsJson = False,
    home: Home = None,
    config: Config = None,
    no_color: NoColor = False,
) -> int:
    """Show memories whole. `gieok get` is the same.

    Example: gieok show mem_k3f9
    """
    chosen = common(ctx, home, config, no_color)
    with chosen.open() as memory:
        details = memory.get_details(list(map(decoded, ids)))
        if as_json:
            _print_json(_wrapped("details", details))
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
    with chosen.open() as memory:
        state = memory.status()
    if as_json:
        _print_json(state.to_json())
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
    with chosen.open() as memory, bars(color=not chosen.no_color) as on_progress:
        memory.rebuild(words=part != Part.vectors, vectors=part != Part.words, on_progress=on_progress)
        state = memory.status()
    chosen.show(status_view(state))
    return FOUND


def _optional(argument: str | None) -> str | None:
    return None if argument is None else decoded(argument)


def _wrapped(name: str, items: Iterable[Result]) -> str:
    return f'{{"{name}":[' + ",".join(item.to_json() for item in items) + "]}"


# Inside JSON these stand only in strings, where the escaped form means the same and a terminal doesn't obey it.
_UNSAFE = {code: f"\\u{code:04x}" for code in (*range(0x7F, 0xA0), *range(0x2028, 0x202F), *range(0x2066, 0x206A))}


def _print_json(text: str) -> None:
    typer.echo(text.translate(_UNSAFE))
