"""Notes that people and agents leave on purpose: a Markdown file each in the home, indexed like any other.

The file comes first and is on disk before anything else happens: whatever goes wrong after that, the note is not lost.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import yaml

from indexes.errors import StoreError, UsageError
from pipeline.plaintext import clean, cut, fold, inline
from pipeline.results import Result
from pipeline.sources.own import cut_own
from pipeline.sources.private import cut_private
from pipeline.sources.redact import mask, masked

FOLDER = "notes"
"""Below the home."""
OWN_FOLDERS = (FOLDER, "diary")

MAX_CHARACTERS = 100_000
"""Of a note's text, some 25,000 tokens: more is a document, which is better indexed where it lies."""
MAX_NAME = 200
"""Characters of a title, a project, a session or a tag."""
MAX_TAGS = 50
MAX_SLUG = 40
"""Characters of the title that name the file: at most 160 bytes in UTF-8, where 255 are allowed."""
_MAX_NUMBER = 9_999

_NOT_WORD = re.compile(r"[\W_]+")
_DIARY_SLUG = "session"  # YYYY-MM-DD-session-NN.md is a diary
_SESSION_ID = re.compile(r"[\w.-]{1,200}")


class Remembered(Result):
    """A note that was kept: the file that holds it, and the memories that it makes, in its order.

    `id` is the first of `ids`. Both are empty if the note is only in its file yet; `notices` say why, and what was left
    out of it.
    """

    id: str | None
    ids: list[str]
    path: str
    notices: list[str]


@dataclass(frozen=True, slots=True)
class Note:
    """A note as it is written: without private parts, and with a name for its file that is no path."""

    name: str
    content: str
    notices: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a note was written, as far as that is known."""

    session: str | None = None
    project: str | None = None

    @classmethod
    def of_host(cls, environ: Mapping[str, str] = os.environ) -> Origin:
        """The session and project of the coding agent that started this process."""
        session = environ.get("CLAUDE_CODE_SESSION_ID", "")
        project = fold(clean(Path(environ.get("CLAUDE_PROJECT_DIR", "")).name))
        return cls(session if _SESSION_ID.fullmatch(session) else None, cut(project, MAX_NAME) if project else None)


def compose(
    text: str,
    *,
    title: str | None = None,
    tags: Sequence[str] = (),
    project: str | None = None,
    origin: Origin | None = None,
    now: datetime,
) -> Note:
    """The note that `text` makes. `now` is aware and gives its date. Raises UsageError."""
    if len(text) > MAX_CHARACTERS:
        raise UsageError(
            f"The note has {len(text):,} characters; {MAX_CHARACTERS:,} are the most. Shorten it, or save it as a file"
            " and index that: gieok index FILE"
        )
    if not text.strip():
        raise UsageError("The note is empty. Write what shall be remembered.")
    origin = origin or Origin()
    body, private = _bare(text)
    body, secrets = mask(body)
    if not body.strip():
        raise UsageError("The note has nothing but <private> parts or answers of gieok. Nothing was written.")
    named = _name("title", title)
    if isinstance(tags, str):
        raise UsageError(f"tags is the text {tags[:40]!r}. Give a list of tags.")
    if len(tags) > MAX_TAGS:
        raise UsageError(f"The note has {len(tags)} tags; {MAX_TAGS} are the most. Leave some out.")
    front = {
        "date": now.isoformat(timespec="seconds"),
        "title": named,
        "project": _name("project", project) or origin.project,
        "session_id": origin.session,
        "tags": [tag for tag in dict.fromkeys(_name("tag", tag) for tag in tags) if tag],
    }
    head = yaml.safe_dump(
        {key: value for key, value in front.items() if value},
        allow_unicode=True,
        sort_keys=False,
        width=10 * MAX_NAME,
        default_flow_style=None,
    )
    counts = ((private, "<private> part", "left out"), (secrets.total(), "secret", "masked"))
    notices = tuple(f"{count} {what}{'s' if count > 1 else ''} {fate}" for count, what, fate in counts if count)
    # A text that begins with a rule (---) must not be read as the end of anything: a blank line parts them.
    content = f"---\n{head}---\n\n{body.strip(chr(10)).rstrip()}\n"
    return Note(f"{now:%Y-%m-%d}-{_slug(named or body)}", content, notices)


def write(note: Note, folder: Path) -> Path:
    """Write the note into a new file in `folder`, durably, readable by its owner only. Raises StoreError."""
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        path, descriptor = _create(folder, note.name)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(note.content.encode("utf-8"))
                file.flush()
                os.fsync(file.fileno())
            _sync_folder(folder)
        except OSError:
            path.unlink(missing_ok=True)  # a part of a note would pass for the whole
            raise
    except OSError as error:
        raise StoreError(
            f"The note can't be written to {folder} ({error.strerror or type(error).__name__}). Make room there, or"
            " choose another home with --home."
        ) from error
    return path


def own_notes(home: Path, paths: Sequence[Path]) -> list[Path]:
    """The notes and diaries in the home that an indexing of `paths` must take along.

    All of them if nothing is named (what a crash kept from being indexed), or if a named folder holds the home: a
    walk passes over hidden folders, and what it does not see would count as gone.
    """
    roots = [Path(os.path.realpath(path)) for path in paths if "\0" not in str(path)]
    folders = [Path(os.path.realpath(home / name)) for name in OWN_FOLDERS]
    due = [folder for folder in folders if not paths or any(root in (folder, *folder.parents) for root in roots)]
    return sorted(file for folder in due for file in folder.glob("*.md") if not file.name.startswith("."))


def _bare(text: str) -> tuple[str, int]:
    """`text` in NFC without its private parts and our own answers, and how many private parts there were."""
    text, private = cut_private(clean(text))
    return cut_own(text)[0], private


def _name(what: str, given: str | None) -> str | None:
    """A title, tag or project on one line; None if nothing is left of it."""
    if given is None:
        return None
    name = fold(masked(_bare(given)[0]))
    if len(name) > MAX_NAME:
        raise UsageError(f"The {what} has {len(name)} characters; {MAX_NAME} are the most. Shorten it.")
    return name or None


def _slug(text: str) -> str:
    """A few words of `text` as part of a file's name: letters, digits and hyphens, nothing that leads elsewhere."""
    words = _NOT_WORD.sub(" ", inline(text[: 20 * MAX_SLUG]).lower()).split()
    slug = cut(" ".join(words), MAX_SLUG).rstrip("…").replace(" ", "-") if words else ""
    slug = slug.strip("-")
    return slug if slug and slug != _DIARY_SLUG else "note"


def _create(folder: Path, name: str) -> tuple[Path, int]:
    for number in range(1, _MAX_NUMBER + 1):
        path = folder / f"{name}-{number:02d}.md"
        try:
            return path, os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
        except FileExistsError:
            continue
    raise StoreError(f"{folder} has {_MAX_NUMBER:,} notes of the name {name}. Give this one another title.")


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
