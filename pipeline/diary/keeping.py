"""Writes an entry and lets the store hold it at once."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from pathlib import Path

from indexes.errors import GieokError, UsageError
from pipeline.diary.write import About, DiaryReport, Written, from_text, from_transcript
from pipeline.results import IndexReport
from pipeline.settings import Settings


def written(text: str | None, transcript: Path | None, about: About, *, home: Path, settings: Settings) -> Written:
    """The entry that a text or a transcript makes, in its file. Raises UsageError, SourceError and DiaryError."""
    if (text is None) == (transcript is None):
        raise UsageError("Give either the text of the entry or a transcript")
    if about.date is not None and not dt.date(1000, 1, 1) <= about.date:
        raise UsageError(f"The date {about.date} can't be the name of an entry. Write YYYY-MM-DD")
    if transcript is not None:
        return from_transcript(transcript.expanduser(), about, home=home, settings=settings)
    return from_text(text or "", about, home=home, settings=settings)


def kept(entry: Written, index: Callable[[Path], IndexReport], ids_at: Callable[[Path], list[str]]) -> DiaryReport:
    """The report of an entry that is in its file, after indexing it. Raises nothing: the file is what counts."""
    notices, ids = list(entry.notices), []
    try:
        report = index(entry.path)
        ids = ids_at(entry.path)
        notices += [f"{failure.path}: {failure.reason}" for failure in report.failed]
    except GieokError as error:
        notices.append(f"It is in its file but can't be searched yet; run: gieok index {entry.path.parent}. {error}")
    return reported(entry, ids, notices)


def reported(entry: Written, ids: list[str], notices: list[str]) -> DiaryReport:
    """What became of an entry."""
    return DiaryReport(
        path=str(entry.path),
        session=entry.entry.session,
        updated=entry.updated,
        sections={name: len(points) for name, points in entry.entry.sections.items()},
        ids=ids,
        notices=notices,
    )
