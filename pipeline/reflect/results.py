"""What a reflection gives back."""

from __future__ import annotations

import datetime as dt

from pydantic import Field

from pipeline.reflect.categories import Category
from pipeline.reflect.reading import Section
from pipeline.results import Failure, Result


class Evidence(Result):
    """A line of the diary. `line` counts from 1; `new` is whether its entry was not processed before."""

    file: str
    date: dt.date
    line: int
    section: Section
    text: str
    team: str | None = None
    new: bool


class TeamCount(Result):
    """Entries of one team in which a pattern stands."""

    team: str
    entries: int


class Pattern(Result):
    """What stands in several entries. `rule` is the line that is nearest to all of them, word for word.

    `entries` counts entries, those of one session once. `gives_orders` marks a line that speaks to the agent about
    its instructions: it is applied only if its id is named.
    """

    id: str
    rule: str
    category: Category
    entries: int
    teams: list[TeamCount] = Field(default_factory=list)
    across_teams: bool
    gives_orders: bool = False
    evidence: list[Evidence]


class Reflection(Result):
    """Proposals are in `min_count` entries or more, `watch` in fewer but two; best founded first.

    `standing` and `declined` are rules that would be proposed, did they not stand in the file already or had they not
    been turned down. `new_files` are the entries that count as processed when this reflection is done with.
    """

    folder: str
    target: str
    team: str | None = None
    min_count: int
    entries: int
    new_files: list[str]
    new_digests: list[str] = Field(exclude=True)
    proposals: list[Pattern]
    watch: list[Pattern]
    standing: list[str]
    declined: list[str]
    skipped: list[Failure]
    notices: list[str]


class Applied(Result):
    """What was written: nothing if `rules` is empty. `processed` counts the entries that are done now."""

    target: str
    rules: list[str]
    backup: str | None = None
    processed: int
    left_open: list[str]
