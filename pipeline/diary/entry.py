"""A diary entry: front matter and five sections, read and written."""

from __future__ import annotations

import datetime as dt
import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from indexes.types import JSON
from pipeline.diary.headings import HEADINGS, NOTHING, SECTIONS, Language, Section, section_of
from pipeline.diary.sorting import by_section, sort_sections
from pipeline.plaintext import fold
from pipeline.sources.about import parse_tags
from pipeline.sources.dates import parse_moment
from pipeline.sources.frontmatter import split_front_matter

__all__ = ["HEADINGS", "NAME", "SECTIONS", "Entry", "Section", "is_untouched", "parse_entry", "render", "section_of"]

NAME: Final = re.compile(r"(?P<date>\d{4}-\d{2}-\d{2})-session-(?P<number>\d{1,9})\.md")
_SIMPLE = re.compile(r"[^\W\d_][\w-]*")
_RESERVED = frozenset(["null", "true", "false", "yes", "no", "on", "off", "y", "n"])
_SEAL = re.compile(r'^seal: "([0-9a-f]{16})"\n', re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """An entry. `bodies` is Markdown by section, without its headings; a section that is empty is not there.

    `session` is the number of the day (0 before it has one), `session_id` that of the agent's session. `until` is
    the last moment of the transcript that it was made from.
    """

    date: dt.date
    session: int = 0
    title: str = ""
    team_id: str = ""
    task_id: str = ""
    tags: tuple[str, ...] = ()
    auto_generated: bool = False
    session_id: str = ""
    project: str = ""
    until: dt.datetime | None = None
    bodies: Mapping[Section, str] = field(default_factory=dict)

    @property
    def sections(self) -> dict[Section, tuple[str, ...]]:
        """The points of each section: plain text, one line each, without bullets; `()` if it has none."""
        return by_section(self.bodies)


def parse_entry(text: str, name: str = "") -> Entry:
    """The entry that a file with this `name` and `text` holds; whatever is wrong with it, as much as can be read."""
    front = split_front_matter(text)
    known = {key.strip().casefold().replace("-", "_"): value for key, value in front.data.items()}
    named = NAME.fullmatch(name.rsplit("/", 1)[-1])
    sorted_ = sort_sections(front.body)
    return Entry(
        date=_date(known.get("date")) or _date(named["date"] if named else None) or dt.date.min,
        session=_number(known.get("session")) or (int(named["number"]) if named else 0),
        title=sorted_.title or _string(known.get("title")),
        team_id=_string(known.get("team_id")),
        task_id=_string(known.get("task_id")),
        tags=parse_tags(known.get("tags")),
        auto_generated=str(known.get("auto_generated")).casefold() == "true",
        session_id=_string(known.get("session_id")),
        project=_string(known.get("project")),
        until=parse_moment(known.get("until")),
        bodies=sorted_.bodies,
    )


def render(entry: Entry, language: Language) -> str:
    """The file of an entry. One that is made automatically is sealed, so that a person's later change shows."""
    front = [
        f'date: "{entry.date.isoformat()}"',
        f"session: {entry.session}",
        f"team_id: {_quoted(entry.team_id)}",
        f"task_id: {_quoted(entry.task_id)}",
        f"tags: [{', '.join(map(_scalar, entry.tags))}]",
        f"auto_generated: {'true' if entry.auto_generated else 'false'}",
    ]
    if entry.session_id:
        front.append(f"session_id: {_quoted(entry.session_id)}")
    if entry.project:
        front.append(f"project: {_quoted(entry.project)}")
    if entry.until is not None:
        front.append(f'until: "{entry.until.astimezone(dt.UTC).isoformat(timespec="milliseconds")}"')
    parts = [f"# {entry.title}"] if entry.title else []
    empty = f"- {NOTHING[language]}"
    parts += [f"## {HEADINGS[language][section]}\n{entry.bodies.get(section) or empty}" for section in SECTIONS]
    body = "\n\n".join(parts) + "\n"
    head = "\n".join(front) + "\n"
    if entry.auto_generated:
        head += f'seal: "{_digest(f"---{chr(10)}{head}---{chr(10)}{chr(10)}{body}")}"\n'
    return f"---\n{head}---\n\n{body}"


def is_untouched(text: str) -> bool:
    """Whether a file is as it was written automatically: nobody has changed a letter of it."""
    seal = _SEAL.search(text)
    return seal is not None and _digest(text[: seal.start()] + text[seal.end() :]) == seal[1]


def bullets(points: Sequence[str]) -> str:
    """A list of points, each on one line, in which nothing is a heading, a fence or another list."""
    return "\n".join(f"- {fold(point)}" for point in points)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:16]


def _quoted(text: str) -> str:
    return json.dumps(fold(text), ensure_ascii=False)  # a JSON string is a YAML string


def _scalar(tag: str) -> str:
    return tag if _SIMPLE.fullmatch(tag) and tag.casefold() not in _RESERVED else _quoted(tag)


def _string(value: JSON) -> str:
    return fold(str(value)) if isinstance(value, str | int | float) and not isinstance(value, bool) else ""


def _number(value: JSON) -> int:
    text = str(value).strip()
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else 0


def _date(value: JSON) -> dt.date | None:
    if isinstance(value, str):
        try:
            return dt.date.fromisoformat(value.strip()[:10])
        except ValueError:
            pass
    moment = parse_moment(value)
    return moment.astimezone().date() if moment else None
