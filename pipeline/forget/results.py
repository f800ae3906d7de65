"""What a forgetting did, or would do."""

from __future__ import annotations

from datetime import datetime

from pydantic import Field

from pipeline.results import Result, Timestamp


class Forgettable(Result):
    """A memory that is to go. `also` says why it goes although it was not named."""

    id: str
    timestamp: Timestamp | datetime
    summary: str
    also: str | None = None


class Residue(Result):
    """A place that still holds a part of what was forgotten: the file below the home, and where in it."""

    path: str
    offset: int | None = None
    what: str


class ForgetReport(Result):
    """The memories that went, and the files that went with them.

    `files` are notes and diaries of the home that hold them, `backups` older copies of the store; both are deleted.
    `elsewhere` are files outside of the home that still hold the text: they are the user's, and stay. `residue` is what
    a verification found, None where none was asked for. `dry_run`: nothing has happened yet.
    """

    memories: list[Forgettable]
    files: list[str] = Field(default_factory=list)
    backups: list[str] = Field(default_factory=list)
    elsewhere: list[str] = Field(default_factory=list)
    residue: list[Residue] | None = None
    notices: list[str] = Field(default_factory=list)
    dry_run: bool = False
