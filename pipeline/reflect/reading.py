"""Diary entries as lines: each item of the five sections, cut into sentences, with the place it stands at."""

from __future__ import annotations

import datetime as dt
import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Final, Literal, TypeAlias

from indexes.errors import GieokError, SourceError
from pipeline.install.files import read_bytes
from pipeline.plaintext import fold, inline
from pipeline.reflect.wording import plain_line
from pipeline.sources.cleaning import Cleaner
from pipeline.sources.decode import decode
from pipeline.sources.frontmatter import split_front_matter
from pipeline.sources.redact import masked

Section: TypeAlias = Literal["work", "feedback", "decisions", "mistakes", "patterns"]

FILE_NAME = re.compile(r"(\d{4}-\d{2}-\d{2})-session-(\d+)\.md")
MAX_BYTES: Final = 1_000_000
"""A longer file is no diary entry: the longest of those this was tried on has 6 kB."""
MAX_LINES: Final = 500
"""Lines of one entry that are looked at."""

# In this order: "Mistakes in the work" is about mistakes.
_SECTIONS: Final[dict[Section, re.Pattern[str]]] = {
    "decisions": re.compile(r"결정|decision", re.IGNORECASE),
    "mistakes": re.compile(r"실수|mistake", re.IGNORECASE),
    "feedback": re.compile(r"피드백|수정 ?지시|feedback|correction", re.IGNORECASE),
    "patterns": re.compile(r"반복|패턴|pattern", re.IGNORECASE),
    "work": re.compile(r"작업|한 일|work|done", re.IGNORECASE),
}
_HEADING = re.compile(r" {0,3}(#{1,6})[ \t]+(.*?)[ \t#]*$")
_BULLET = re.compile(r"[ \t]*(?:[-*+•]|\d{1,3}[.)])[ \t]+(?:\[[ xX]\][ \t]+)?(.*)")
_FENCE = re.compile(r"[ \t>]*(?:[-*+][ \t]+)?(`{3,}|~{3,})")
_SENTENCE_END = re.compile(r"(?<=[^\d\s.][.!?。])[\"'”’)]?\s+(?=\S)")
_LABEL = re.compile(
    r"^(?:원인|이유|교훈|결정|대책|메모|cause|reason|why|lesson|decision|note|fix)\s*[:：]\s*", re.IGNORECASE
)
_SPEAKER = re.compile(r"^[^\s:：\"“]{1,20}(?: ?\([^()]{1,20}\))?\s*[:：]\s*(?=[\"“'‘])")
_QUOTES = "\"'“”‘’「」"
_NOTHING = re.compile(
    r"(?:특이 ?사항|해당 ?사항|아직|딱히)?\s*(?:없음|없다|없었다|없습니다|해당 없음|모름)"
    r"|n/?a|none|nothing(?: new| yet)?|tbd|todo|-+",
    re.IGNORECASE,
)
_LETTERS = re.compile(r"[^\W_]")
_HANGUL = re.compile(r"[가-힣]")


@dataclass(frozen=True, slots=True)
class Line:
    """A sentence of an entry. `text` is plain and on one line; `number` counts the file's lines from 1."""

    text: str
    section: Section
    number: int


@dataclass(frozen=True, slots=True)
class Diary:
    """An entry. `occasion` is the same for entries of one session: together they count once."""

    path: Path
    date: dt.date
    digest: str
    team: str
    occasion: str
    lines: tuple[Line, ...]


def diary_names(folder: Path) -> list[Path]:
    """The entries of a folder, oldest first. Raises SourceError."""
    try:
        found = [path for path in folder.iterdir() if FILE_NAME.fullmatch(path.name)]
    except FileNotFoundError:
        raise SourceError(
            f"There is no diary folder {folder}. Write an entry with gieok diary, or name --folder"
        ) from None
    except OSError as error:
        raise SourceError(
            f"The diary folder {folder} can't be read ({error.strerror}). Name another: --folder"
        ) from error
    return sorted(found, key=lambda path: _order(path.name))


def read_diary(path: Path) -> Diary:
    """One entry. Raises SourceError, which says why it is none."""
    name = FILE_NAME.fullmatch(path.name)
    try:
        date = dt.date.fromisoformat(name[1]) if name else None
    except ValueError:
        date = None
    if date is None:
        raise SourceError("its name holds no date: YYYY-MM-DD-session-NN.md")
    if path.is_symlink():
        raise SourceError("is a link; entries are files of the diary folder")
    try:
        data = read_bytes(path)
    except GieokError as error:
        raise SourceError(f"can't be read ({error})") from error
    if data is None:
        raise SourceError("is gone")
    if len(data) > MAX_BYTES:
        raise SourceError(f"is larger than {MAX_BYTES:,} bytes; that is no diary entry")
    raw = decode(data).text
    front = split_front_matter(raw)
    if front.notices:
        raise SourceError(front.notices[0])
    if not front.data:
        raise SourceError("has no front matter; write entries with gieok diary")
    known = {key.casefold().replace("-", "_"): value for key, value in front.data.items()}
    offset = raw.count("\n", 0, len(raw) - len(front.body))
    text = masked(Cleaner().text(front.body))
    lines = _without_fillers(list(islice(_lines(text), MAX_LINES)))
    places = _places(text, front.body)
    team, session = (str(known.get(key) or "").strip() for key in ("team_id", "session_id"))
    return Diary(
        path=path,
        date=date,
        digest=hashlib.sha256(data).hexdigest()[:16],
        team=plain_line(team, limit=60),
        occasion=session or path.name,
        lines=tuple(Line(line.text, line.section, places[line.number] + offset) for line in lines),
    )


def sentences(text: str) -> Iterator[str]:
    """The sentences of an item, each as one plain line, without speaker and label; what says nothing is left out."""
    text = inline(text)
    for part in _SENTENCE_END.split(_SPEAKER.sub("", fold(text))):
        line = plain_line(_LABEL.sub("", part.strip(_QUOTES + " ")).strip(_QUOTES + " "))
        bare = line.strip(" .!?…()[]")
        if bare and not _NOTHING.fullmatch(bare) and _says_something(bare):
            yield line


def _without_fillers(lines: list[Line]) -> list[Line]:
    """Without what stands in several sections of one entry: whatever wrote it had nothing to say there."""
    sections: dict[str, set[Section]] = {}
    for line in lines:
        sections.setdefault(line.text, set()).add(line.section)
    return [line for line in lines if len(sections[line.text]) == 1]


def _says_something(text: str) -> bool:
    """Whether there are at least two words with some letters: a single word is a label, not a habit."""
    return len(text.split()) >= 2 and (len(_HANGUL.findall(text)) >= 4 or len(_LETTERS.findall(text)) >= 8)


def _order(name: str) -> tuple[str, int]:
    found = FILE_NAME.fullmatch(name)
    return (found[1], int(found[2][:9])) if found else (name, 0)


def _section(heading: str) -> Section | None:
    return next((section for section, pattern in _SECTIONS.items() if pattern.search(heading)), None)


def _lines(body: str) -> Iterator[Line]:
    """Sentences with the index of the body's line that their item begins at."""
    section: Section | None = None
    item: list[str] = []
    start = 0
    fence = ""

    def done() -> Iterator[Line]:
        if section is not None:
            yield from (Line(sentence, section, start) for sentence in sentences(" ".join(item)))
        item.clear()

    for number, line in enumerate(body.split("\n")):
        if fence:
            if line.strip().startswith(fence):
                fence = ""
            continue
        if opening := _FENCE.match(line):
            yield from done()
            fence = opening[1]
        elif heading := _HEADING.match(line):
            yield from done()
            if len(heading[1]) <= 2:
                section = _section(heading[2])
        elif bullet := _BULLET.match(line):
            yield from done()
            start, item = number, [bullet[1]]
        elif not line.strip():
            yield from done()
        else:
            if not item:
                start = number
            item.append(line.strip())
    yield from done()


def _places(cleaned: str, raw: str) -> list[int]:
    """For each line of the cleaned text the number of the line it was, from 1: what was cut out moves the others."""
    before = raw.split("\n")
    places: list[int] = []
    at = 0
    for line in cleaned.split("\n"):
        try:
            at = before.index(line, at) + 1 if line.strip() else at
        except ValueError:  # a line that was itself cut or masked
            at = min(at + 1, len(before))
        places.append(max(at, 1))
    return places
