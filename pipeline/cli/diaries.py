"""`gieok diary` writes an entry, `gieok brief` sums up the last ones, `gieok check` asks them about a task."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from indexes.errors import DiaryError, GieokError, NoStoreError, UsageError
from pipeline.cli.finding import Format
from pipeline.cli.lazy import QueryCommand, module_app
from pipeline.cli.narrowing import Project
from pipeline.cli.options import AsJson, Common, Config, Home, NoColor, common, print_json
from pipeline.cli.run import FAILED, FOUND, NOTHING, complain, decoded, ends_well

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Callable, Iterator

    from pipeline.brief import Form
    from pipeline.check import CheckReport
    from pipeline.diary.write import About, DiaryReport
    from pipeline.settings import Settings

app = module_app()


@app.command()
@ends_well
def diary(
    ctx: typer.Context,
    transcript: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Make the entry from a transcript (JSON Lines), by rules.")
    ] = None,
    session_id: Annotated[
        str | None, typer.Option("--session-id", metavar="ID", help="The agent's session. [CLAUDE_CODE_SESSION_ID]")
    ] = None,
    team: Annotated[str | None, typer.Option(metavar="ID", help="Team.")] = None,
    task: Annotated[str | None, typer.Option(metavar="ID", help="Task.")] = None,
    tags: Annotated[list[str] | None, typer.Option("--tag", metavar="TAG", help="Tag; may be repeated.")] = None,
    project: Project = None,
    date: Annotated[str | None, typer.Option(metavar="YYYY-MM-DD", help="Day of the entry. [today]")] = None,
    auto: Annotated[
        bool, typer.Option("--auto", help="Mark it as made automatically; with --transcript, update the session's.")
    ] = False,
    as_json: AsJson = False,
    home: Home = None,
    config: Config = None,
    no_color: NoColor = False,
) -> int:
    """Write a diary entry from text on stdin or from a transcript, and index it at once.

    Example: gieok diary --task PAY-4821 < today.md
    """
    from pipeline.diary.write import About, rescue

    chosen = common(ctx, home, config, no_color)
    host = About() if transcript is not None else About.of_host()
    about = About(
        session_id=decoded(session_id) if session_id is not None else host.session_id,
        project=decoded(project) if project is not None else host.project,
        team_id=decoded(team or ""),
        task_id=decoded(task or ""),
        tags=tuple(map(decoded, tags or ())),
        date=_day(date),
        auto_generated=auto,
    )
    text = None if transcript is not None else _from_stdin()
    try:
        report = _kept(chosen, text, transcript, about)
    except DiaryError as error:
        complain(f"Error: {error}")
        if error.text and (saved := rescue(error.text)) is not None:
            complain(f"The entry was kept in {saved}")
        elif error.text:
            typer.echo(error.text)
        return FAILED
    if as_json:
        print_json(report.to_json())
    else:
        typer.echo(report.path)
    for notice in report.notices:
        complain(f"Note: {notice}")
    return FOUND


@app.command()
@ends_well
def brief(
    ctx: typer.Context,
    project: Project = None,
    max_tokens: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Tokens at the most. [brief.max_tokens]")
    ] = None,
    form: Annotated[
        Format | None, typer.Option("--format", metavar="text|markdown", help="For people, or for agents. [text]")
    ] = None,
    as_json: AsJson = False,
    home: Home = None,
    config: Config = None,
    no_color: NoColor = False,
) -> int:
    """Sum up the last diary entries: what was done, what is open, what was decided.

    Example: gieok brief --max-tokens 300
    """
    if as_json and form is not None:
        raise UsageError("--format does not go with --json. Leave one of them out.")
    chosen = common(ctx, home, config, no_color)
    wanted: Form = "markdown" if form is Format.markdown else "text"
    named = decoded(project) if project is not None else None
    try:
        with chosen.open(create=False) as memory:
            found = memory.brief(named, max_tokens, form=wanted)
    except NoStoreError:  # diaries can lie elsewhere, and need no store to be read
        from pipeline.brief import briefing
        from pipeline.home import default_home

        found = briefing(_settings(chosen), chosen.home or default_home(), named, max_tokens, form=wanted)
    if as_json:
        print_json(found.to_json())
    elif not found.is_empty:
        typer.echo(found.text(wanted, marked=form is Format.markdown), nl=False)
    else:
        complain(
            f"Nothing of the diary fits into the budget ({found.left_out} left out). Raise --max-tokens."
            if found.left_out
            else "The diary is empty. Write an entry: gieok diary"
        )
    return NOTHING if found.is_empty else FOUND


@app.command(cls=QueryCommand, context_settings={"ignore_unknown_options": True})
@ends_well
def check(
    ctx: typer.Context,
    query: Annotated[list[str], typer.Argument(metavar="TASK", help="What shall be done; - reads it from stdin.")],
    project: Project = None,
    top_k: Annotated[
        int | None, typer.Option("--top-k", "-k", min=1, metavar="N", help="Findings at the most. [check.top_k]")
    ] = None,
    as_json: AsJson = False,
    home: Home = None,
    config: Config = None,
    no_color: NoColor = False,
) -> int:
    """Ask memory about a task before it is handed over: mistakes, rules, decisions. Ends with 1 if it knows nothing.

    Example: gieok check 금요일에 결제 서버를 배포한다
    """
    chosen = common(ctx, home, config, no_color)
    task = _from_stdin() if query == ["-"] else decoded(" ".join(query))
    with chosen.open(create=False) as memory:
        found = memory.check(task, project=decoded(project) if project is not None else None, top_k=top_k)
        if as_json:
            print_json(found.to_json())
        else:
            from pipeline.plaintext import clean

            typer.echo(clean("\n".join(_told(found, memory.short_id))))
    for notice in found.notices:
        complain(f"Note: {notice}")
    return NOTHING if found.is_empty else FOUND


def _told(found: CheckReport, short: Callable[[str], str]) -> Iterator[str]:
    from pipeline.check import TITLES
    from pipeline.plaintext import fold

    if found.is_empty:
        yield fold(" ".join(filter(None, (found.reason or "Memory says nothing about it.", found.advice))))
    for number, group in enumerate(found.groups):
        if number:
            yield ""
        yield TITLES[group.kind]
        for item in group.items:
            day = f"{item.timestamp.astimezone():%Y-%m-%d}"
            yield f"- [{short(item.id)}] {fold(item.summary)} ({item.score:.2f})  {day}"


def _kept(chosen: Common, text: str | None, transcript: Path | None, about: About) -> DiaryReport:
    """The entry, indexed; only in its file if the store can't be opened: then it can be indexed later."""
    from pipeline.diary.keeping import reported, written

    try:
        memory = chosen.open()
    except UsageError:
        raise
    except GieokError as error:
        from pipeline.home import default_home

        entry = written(text, transcript, about, home=chosen.home or default_home(), settings=_settings(chosen))
        return reported(entry, [], [*entry.notices, f"It is in its file but can't be searched yet. {error}"])
    with memory:
        return memory.keep_entry(text, transcript, about)


def _settings(chosen: Common) -> Settings:
    from pipeline.settings import Settings

    return Settings.load(chosen.config)


def _day(given: str | None) -> dt.date | None:
    import datetime as dt

    if given is None:
        return None
    try:
        return dt.date.fromisoformat(given.strip())
    except ValueError:
        raise UsageError(f"The date {given!r} is not understood. Write YYYY-MM-DD") from None


def _from_stdin() -> str:
    from pipeline.diary.write import MAX_CHARACTERS
    from pipeline.sources.decode import decode

    if sys.stdin is None or sys.stdin.isatty():
        raise UsageError("Nothing was piped in. Pipe the text in (gieok diary < today.md), or give --transcript FILE")
    return decode(sys.stdin.buffer.read(4 * MAX_CHARACTERS + 1)).text
