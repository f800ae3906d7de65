"""From a transcript or a text to an entry in the diary's folder, without a store and without a model."""

from __future__ import annotations

import datetime as dt
import os
import re
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from filelock import FileLock, Timeout

from indexes.errors import DiaryError, UsageError
from pipeline.diary.entry import Entry, is_untouched, parse_entry, render
from pipeline.diary.folder import create, diary_files, diary_folder, read_text, sync
from pipeline.diary.headings import SECTIONS, Language, Section
from pipeline.diary.transcript import Digest, Transcript, read_transcript
from pipeline.plaintext import clean, cut, fold
from pipeline.results import Result
from pipeline.settings import Settings
from pipeline.sources.cleaning import Cleaner
from pipeline.sources.redact import masked

MAX_CHARACTERS: Final = 100_000
"""Of an entry's text: more is a document, which is better indexed where it lies."""
MAX_NAME: Final = 200
"""Characters of a team, task, project, session or tag."""
MAX_TAGS: Final = 50
LOOK_BACK: Final = 200
"""Entries that are looked through for those of the same session."""
WAIT: Final = 5.0
"""Seconds that an automatic entry waits for another process that writes one."""

_SESSION_ID = re.compile(r"[\w.-]{1,200}")


class DiaryReport(Result):
    """An entry that was written: its file, its number of the day, and the memories that it makes.

    `updated` is whether an automatic entry of the same session was brought up to date in place of a new one.
    `sections` counts the points in each. `ids` is empty if it is only in its file yet; `notices` say why.
    """

    path: str
    session: int
    updated: bool
    sections: dict[str, int]
    ids: list[str]
    notices: list[str]


@dataclass(frozen=True, slots=True)
class Written:
    """An entry as it stands in its file now."""

    path: Path
    entry: Entry
    updated: bool
    notices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class About:
    """What is known of an entry beside its text. None of `session_id`, `project` and `date`: as the source has it."""

    session_id: str | None = None
    project: str | None = None
    team_id: str = ""
    task_id: str = ""
    tags: Sequence[str] = ()
    date: dt.date | None = None
    auto_generated: bool = False

    @classmethod
    def of_host(cls, environ: Mapping[str, str] = os.environ) -> About:
        """The session and the project of the coding agent that started this process; nothing of any other."""
        session = environ.get("CLAUDE_CODE_SESSION_ID", "")
        if not _SESSION_ID.fullmatch(session):
            return cls()
        folder = Path(environ.get("CLAUDE_PROJECT_DIR") or Path.cwd())
        return cls(session_id=session, project=cut(folder.name, MAX_NAME) if folder.name else None)


def write_from_transcript(
    transcript: Path,
    *,
    home: Path,
    settings: Settings,
    session_id: str | None = None,
    project: str | None = None,
    team_id: str = "",
    task_id: str = "",
    tags: Sequence[str] = (),
    auto_generated: bool = True,
) -> Path:
    """Write the entry that a transcript makes, or bring the session's automatic one of that day up to date; its file.

    Opens no store and no model. Raises SourceError (no transcript, nothing in it), UsageError and DiaryError.
    """
    about = About(
        session_id=session_id,
        project=project,
        team_id=team_id,
        task_id=task_id,
        tags=tags,
        auto_generated=auto_generated,
    )
    return from_transcript(transcript, about, home=home, settings=settings).path


def from_transcript(transcript: Path, about: About, *, home: Path, settings: Settings) -> Written:
    """See `write_from_transcript`."""
    read = read_transcript(transcript, max_bytes=settings.diary.max_transcript_bytes)
    session = about.session_id or read.session_id
    folder = diary_folder(settings, home)
    language = settings.diary.language
    zone = settings.time.tzinfo()
    notices = (f"only the last {read.read:,} bytes of the transcript were read",) if read.skipped else ()
    named = replace(about, session_id=session, project=about.project or read.project)

    def entry_of(part: Transcript) -> Entry:
        until = part.until
        day = about.date or (until or dt.datetime.now(dt.UTC)).astimezone(zone).date()
        digest = Digest(part, language)
        made = Entry(date=day, title=digest.title(), until=until, bodies=digest.bodies())
        return _finished(made, named)

    if not read.drafts:
        raise DiaryError(f"{transcript} holds no turn to write about. Run it again later, or name another transcript")
    if not about.auto_generated:
        return _new(entry_of(read), folder, language, notices)
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        # What stands in the folder decides what is written: two hooks of one session must not both decide.
        with FileLock(folder / ".diary.lock", timeout=WAIT, mode=0o600):
            return _automatic(read, entry_of, session, folder, language, notices)
    except Timeout:
        raise DiaryError(f"Another process has been writing to {folder} for {WAIT:g} seconds. Try again") from None
    except (OSError, NotImplementedError) as error:
        raise _cannot(folder, error, render(entry_of(read), language)) from error


def from_text(text: str, about: About, *, home: Path, settings: Settings) -> Written:
    """Write an entry from text: with headings it is sorted into the sections, without it is work.

    Front matter in the text gives what `about` leaves open. Raises UsageError and DiaryError.
    """
    if len(text) > MAX_CHARACTERS:
        raise UsageError(
            f"The entry has {len(text):,} characters; {MAX_CHARACTERS:,} are the most. Shorten it, or save it as a file"
            " and index that: gieok index FILE"
        )
    cleaner = Cleaner()
    told = parse_entry(cleaner.text(text))
    if not told.bodies and not told.title:
        raise UsageError("The entry is empty. Write on stdin what was done, or name a transcript: --transcript FILE")
    today = dt.datetime.now(settings.time.tzinfo()).date()
    day = about.date or (told.date if told.date > dt.date.min else today)
    named = replace(
        about,
        session_id=about.session_id or told.session_id,
        project=about.project or told.project,
        team_id=about.team_id or told.team_id,
        task_id=about.task_id or told.task_id,
        tags=about.tags or told.tags,
        auto_generated=about.auto_generated or told.auto_generated,
    )
    entry = _finished(replace(told, date=day, session=0, until=None), named)
    return _new(entry, diary_folder(settings, home), settings.diary.language, tuple(cleaner.notices()))


def rescue(text: str) -> Path | None:
    """Keep a text that could not be written where it belongs in a file of its own, readable by its owner only."""
    with suppress(OSError):
        descriptor, name = tempfile.mkstemp(prefix="gieok-diary-", suffix=".md")
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
        return Path(name)
    return None


def _automatic(
    read: Transcript,
    entry_of: Callable[[Transcript], Entry],
    session: str,
    folder: Path,
    language: Language,
    notices: tuple[str, ...],
) -> Written:
    """The session's automatic entry of the day, brought up to date; a new one if there is none or somebody changed it.

    What other automatic entries of the session cover (an earlier day's, one that a person has changed) is left out.
    """
    whole = entry_of(read)
    mine: tuple[Path, Entry] | None = None
    covered: dt.datetime | None = None
    for path in diary_files(folder)[:LOOK_BACK]:
        text = read_text(path)
        if text is None or session not in text or not session:
            continue
        other = parse_entry(text, path.name)
        if other.session_id != session or not other.auto_generated:
            continue
        if mine is None and other.date == whole.date and is_untouched(text):
            mine = path, other
        elif other.until is not None:
            covered = max(covered or other.until, other.until)
    part = read.after(covered)
    if not part.drafts:
        newest = mine or next(((p, parse_entry(read_text(p) or "", p.name)) for p in _of(session, folder)), None)
        if newest is not None:
            return Written(newest[0], newest[1], updated=False, notices=(*notices, "nothing has happened since"))
    entry = entry_of(part) if part.drafts else whole
    if mine is None:
        return _new(entry, folder, language, notices)
    path, before = mine
    entry = replace(entry, session=before.session, tags=entry.tags or before.tags)
    entry = replace(entry, team_id=entry.team_id or before.team_id, task_id=entry.task_id or before.task_id)
    if read.skipped:  # what stands there is of a part that is no longer read
        entry = replace(entry, title=before.title or entry.title, bodies=_joined(before.bodies, entry.bodies))
    text = render(entry, language)
    if read_text(path) != text:
        _replace(path, text)
    return Written(path, entry, updated=True, notices=notices)


def _of(session: str, folder: Path) -> list[Path]:
    return [
        path
        for path in diary_files(folder)[:LOOK_BACK]
        if session in (text := read_text(path) or "") and parse_entry(text).session_id == session
    ]


def _joined(before: Mapping[Section, str], now: Mapping[Section, str]) -> dict[Section, str]:
    """Both, each line once; patterns count anew."""
    bodies: dict[Section, str] = {}
    for section in SECTIONS:
        kept = "" if section == "patterns" else before.get(section, "")
        lines = dict.fromkeys([*kept.split("\n"), *now.get(section, "").split("\n")])
        lines.pop("", None)
        if lines:
            bodies[section] = "\n".join(lines)
    return bodies


def _new(entry: Entry, folder: Path, language: Language, notices: tuple[str, ...]) -> Written:
    def content(number: int) -> str:
        return render(replace(entry, session=number), language)

    try:
        path, number = create(folder, entry.date, content)
    except OSError as error:
        raise _cannot(folder, error, content(1)) from error
    return Written(path, replace(entry, session=number), updated=False, notices=notices)


def _replace(path: Path, text: str) -> None:
    """Put a text in the place of an entry's: on disk before it takes the name. Raises OSError."""
    descriptor, name = tempfile.mkstemp(prefix=".diary-", suffix=".tmp", dir=path.parent)
    temporary = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(text.encode("utf-8"))
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
    sync(path.parent)


def _cannot(folder: Path, error: Exception, text: str) -> DiaryError:
    reason = (error.strerror if isinstance(error, OSError) else None) or f"{error}" or type(error).__name__
    return DiaryError(f"The diary folder {folder} can't be written ({reason}). Mend that, or set diary.folder", text)


def _finished(entry: Entry, about: About) -> Entry:
    """The entry with names and without secrets: everything that goes into its file passes here."""
    if isinstance(about.tags, str):
        raise UsageError(f"tags is the text {about.tags[:40]!r}. Give a list of tags")
    if len(about.tags) > MAX_TAGS:
        raise UsageError(f"The entry has {len(about.tags)} tags; {MAX_TAGS} are the most. Leave some out")
    tags = (_name("tag", tag.strip().lstrip("#")) for tag in about.tags)
    return replace(
        entry,
        title=cut(fold(masked(entry.title)), MAX_NAME) if entry.title else "",
        team_id=_name("team", about.team_id),
        task_id=_name("task", about.task_id),
        tags=tuple(dict.fromkeys(filter(None, tags))),
        auto_generated=about.auto_generated,
        session_id=_name("session id", about.session_id or ""),
        project=_name("project", about.project or ""),
        bodies={section: masked(body) for section, body in entry.bodies.items()},
    )


def _name(what: str, given: str) -> str:
    name = fold(masked(Cleaner().text(clean(given))))
    if len(name) > MAX_NAME:
        raise UsageError(f"The {what} has {len(name)} characters; {MAX_NAME} are the most. Shorten it")
    return name
