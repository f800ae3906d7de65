"""Options that narrow a search, the same for every command that searches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from pipeline.cli.run import decoded

if TYPE_CHECKING:
    from pipeline.filters import SearchFilter

TopK: TypeAlias = Annotated[int | None, typer.Option("--top-k", "-k", min=1, metavar="N", help="Hits at the most.")]
MinScore: TypeAlias = Annotated[
    float | None, typer.Option(min=0, max=1, metavar="SCORE", help="Hide hits that score lower (0 to 1).")
]
Types: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--type", metavar="TYPE", help="prompt, response, tool or insight; may be repeated."),
]
Session: TypeAlias = Annotated[str | None, typer.Option(metavar="ID", help="Session, or a unique beginning of it.")]
Project: TypeAlias = Annotated[str | None, typer.Option(metavar="NAME", help="Project.")]
Team: TypeAlias = Annotated[str | None, typer.Option(metavar="ID", help="Team.")]
Task: TypeAlias = Annotated[str | None, typer.Option(metavar="ID", help="Task.")]
Tags: TypeAlias = Annotated[
    list[str] | None, typer.Option("--tag", metavar="TAG", help="Tag; of several, one is enough.")
]
Since: TypeAlias = Annotated[str | None, typer.Option(metavar="DATE", help="From this day on, e.g. 2026-01-30.")]
Until: TypeAlias = Annotated[str | None, typer.Option(metavar="DATE", help="Up to and with this day.")]
NoTime: TypeAlias = Annotated[bool, typer.Option("--no-time", help="Take words of time (어제, last week) for words.")]


def narrowed(
    types: Sequence[str] | None,
    session: str | None,
    project: str | None,
    team: str | None,
    task: str | None,
    tags: Sequence[str] | None,
    since: str | None,
    until: str | None,
) -> SearchFilter:
    """The filter that these options make."""
    from pipeline.filters import SearchFilter

    def text(argument: str | None) -> str | None:
        return None if argument is None else decoded(argument)

    return SearchFilter(
        types=tuple(map(decoded, types or ())),
        session=text(session),
        project=text(project),
        team=text(team),
        task=text(task),
        tags=tuple(map(decoded, tags or ())),
        since=text(since),
        until=text(until),
    )
