"""The briefing: what the last sessions did, what is open, which decisions hold and which rules wait for an answer.

It reads the files of the diary and nothing else: no store, no model. What is said is quoted from them.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Final, Literal, TypeAlias

from pydantic import Field

from indexes.analyzer import analyze_query
from indexes.errors import UsageError
from pipeline.budget import SAFETY, cost
from pipeline.diary.entry import Entry
from pipeline.diary.folder import diary_folder, read_entries
from pipeline.markdown import QUOTED
from pipeline.plaintext import clean, cut, fold
from pipeline.reflect.pending import open_proposals
from pipeline.results import Result
from pipeline.settings import Settings
from pipeline.sources.own import OWN_CLOSE, OWN_OPEN, unmark_own

Form: TypeAlias = Literal["text", "markdown"]

SNIPPET: Final = 200
"""Characters that sum an entry up: those of a snippet, layer 2 of a search."""
LINE: Final = 140
"""Characters of a point."""
MOST: Final = 5
"""Points of one kind."""
CLOSES: Final = 0.6
"""Share of an open point's words that a later line must hold to be about it."""
POINTS: Final = 100
"""Points of one entry that are looked at."""
_OPEN_IN = frozenset({"work", "decisions"})
"""Sections in which words such as "나중에" mean something to do: among mistakes they tell what went wrong."""
_NEEDED: Final = 2
"""Words that both must share."""

_OPEN = re.compile(
    r"^\[ \]|\b(?:TODO|FIXME|TBD)\b|할\s?일|남은\s?(?:일|작업|것|문제)|다음\s?(?:에|번|세션|주|단계|회의)|미정|"
    r"미결|보류|나중에"
    r"|(?:확인|결정|검토|논의|측정|정리)(?:이|가)?\s?필요|해야\s?(?:한다|함|할|하는)|(?:안|못)\s?정했|"
    r"정하지\s?(?:못|않)|아직\s.*(?:않|못|안\s)|예정"
    r"|\b(?:follow[- ]?up|next (?:step|time|session|week)|remain(?:s|ing)|undecided|to be decided|"
    r"open question|still (?:needs?|to|has|have)|not yet"
    r"|needs? (?:to be|an?)\b|left to do|for later|pending)\b",
    re.IGNORECASE,
)
_OPEN_HEADING = re.compile(
    r"^#{3,6}\s.*(?:할\s?일|남은|다음|미정|미결|보류|todo|next|open|remaining|follow)", re.IGNORECASE
)
_CLOSED = re.compile(
    r"^\[[xX]\]|완료|해결|끝냈|끝났|마쳤|마무리|닫았|고쳤|[가-힣]*(?:했다|했음|했습니다|됐다|정했|정함|확정|채택)"
    r"|\b(?:done|finished|completed|resolved|fixed|closed|decided|merged|shipped|implemented|added|removed|"
    r"settled)\b",
    re.IGNORECASE,
)
_CHECKBOX = re.compile(r"^[ \t]*[-*+] (\[[ xX]\]) ")
_SPECIAL = re.compile(r"[\\`*\[\]<|]")
_MARKERS = re.compile(r"^\[[ xX]\]\s*|^(?:TODO|FIXME|TBD)\s*[:：]?\s*", re.IGNORECASE)


class BriefEntry(Result):
    """A diary entry, summed up. `id` is that of its first memory, if it is indexed."""

    name: str
    date: dt.date
    session: int
    title: str
    snippet: str
    auto_generated: bool
    task_id: str | None = None
    id: str | None = None


class BriefPoint(Result):
    """A line of an entry, and the day it was written."""

    text: str
    date: dt.date


class Briefing(Result):
    """What a session should know at its start, within a budget of tokens; empty if there is nothing to say.

    `open` are points that no later entry closes, `decisions` those that no later one takes up again, `rules` proposals
    that nobody has answered. `left_out` counts what the budget has no room for. `estimated_tokens` is for the form
    that was asked for.
    """

    entries: list[BriefEntry] = Field(default_factory=list)
    open: list[BriefPoint] = Field(default_factory=list)
    decisions: list[BriefPoint] = Field(default_factory=list)
    rules: list[str] = Field(default_factory=list)
    left_out: int = 0
    estimated_tokens: int = 0

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to say."""
        return not (self.entries or self.open or self.decisions or self.rules)

    def text(self, form: Form = "text", *, marked: bool = False) -> str:
        """The briefing as people or agents read it; "" if it is empty. `marked`: between our own markers."""
        if self.is_empty:
            return ""
        said = "\n".join(_written(self, form)) + "\n"
        return f"{OWN_OPEN}\n{unmark_own(said)}{OWN_CLOSE}\n" if marked else unmark_own(said)


@dataclass(frozen=True, slots=True)
class _Line:
    """A point, its words, and its place: the smaller, the newer."""

    text: str
    date: dt.date
    place: tuple[int, int]
    words: frozenset[str]
    is_open: bool
    is_closing: bool


def briefing(
    settings: Settings,
    home: Path,
    project: str | None = None,
    max_tokens: int | None = None,
    *,
    form: Form = "markdown",
    id_of: Callable[[Path], str | None] = lambda path: None,
) -> Briefing:
    """What the diary says. With `project`, entries of other projects are left out; those of none are not.

    Written as `form`, with our markers, it has at most `max_tokens` (default `brief.max_tokens`). Raises UsageError.
    """
    limit = settings.brief.max_tokens if max_tokens is None else max_tokens
    if limit < 1:
        raise UsageError(f"max_tokens is {limit}; it must be at least 1")
    found = [
        (path, entry)
        for path, entry in read_entries(
            diary_folder(settings, home), max(settings.brief.look_back, settings.brief.entries)
        )
        if project is None or entry.project.casefold() in ("", project.casefold())
    ]
    entries = [_summed_up(path, entry, id_of) for path, entry in found[: settings.brief.entries]]
    lines = [line for age, (_, entry) in enumerate(found) for line in _lines(age, entry)]
    decided = [line for line in _decided(found) if not line.is_open]
    return _fitted(
        [entry for entry in entries if entry.snippet or entry.title],
        _newest(line for line in lines if line.is_open and not _is_closed(line, lines)),
        _newest(line for line in decided if not _is_taken_up(line, decided)),
        [cut(fold(clean(rule)), LINE) for rule in open_proposals(settings, home)][:MOST],
        limit,
        form,
    )


def _summed_up(path: Path, entry: Entry, id_of: Callable[[Path], str | None]) -> BriefEntry:
    """An entry in a line: mistakes and work, as its decisions and open points are listed by themselves."""
    sections = entry.sections
    points = [*sections["work"][:2], *sections["mistakes"][:1], *sections["feedback"][:1], *sections["decisions"][:1]]
    return BriefEntry(
        name=path.stem,
        date=entry.date,
        session=entry.session,
        title=cut(entry.title, LINE) if entry.title else "",
        snippet=cut(" · ".join(points), SNIPPET) if points else "",
        auto_generated=entry.auto_generated,
        task_id=entry.task_id or None,
        id=id_of(path),
    )


def _lines(age: int, entry: Entry) -> Iterator[_Line]:
    """The points of all sections, of which those below a heading such as "다음 할 일" are open."""
    below: set[str] = set()
    boxes: dict[str, str] = {}
    for body in entry.bodies.values():
        is_below = False
        for line in body.split("\n"):
            if line.startswith("#"):
                is_below = _OPEN_HEADING.match(line) is not None
            text = _bare(line)
            if is_below:
                below.add(text)
            if checkbox := _CHECKBOX.match(line):
                boxes[text] = checkbox[1]
    told = ((section, point) for section, points in entry.sections.items() for point in points)
    for number, (section, point) in enumerate(islice(told, POINTS)):
        text = _bare(point)
        box = boxes.get(text, "")
        said = f"{box} {text}" if box else point
        closing = _CLOSED.search(said) is not None
        is_open = box == "[ ]" or (
            box == "" and (text in below or (section in _OPEN_IN and _OPEN.search(said) is not None))
        )
        if text:
            yield _line(text, entry.date, (age, -number), is_open=is_open, is_closing=closing)


def _line(text: str, date: dt.date, place: tuple[int, int], *, is_open: bool, is_closing: bool) -> _Line:
    words = frozenset(word.text for word in analyze_query(text).words)
    return _Line(text, date, place, words, is_open, is_closing)


def _decided(found: Sequence[tuple[Path, Entry]]) -> list[_Line]:
    return [
        _line(_bare(point), entry.date, (age, -number), is_open=_OPEN.search(point) is not None, is_closing=True)
        for age, (_, entry) in enumerate(found)
        for number, point in enumerate(entry.sections["decisions"])
    ]


def _is_closed(line: _Line, lines: Sequence[_Line]) -> bool:
    """Whether a later line says that it is done, or says it again (then the later one stands for both)."""
    return any(
        other.place < line.place and (other.is_open or other.is_closing) and _is_about(other, line) for other in lines
    )


def _is_taken_up(line: _Line, decided: Sequence[_Line]) -> bool:
    return any(other.place[0] < line.place[0] and _is_about(other, line) for other in decided)


def _is_about(other: _Line, line: _Line) -> bool:
    shared = sum(any(word in known or known in word for known in other.words) for word in line.words)
    return shared >= min(_NEEDED, len(line.words)) and shared >= CLOSES * len(line.words) > 0


def _newest(lines: Iterator[_Line]) -> list[BriefPoint]:
    told = {line.text: line for line in sorted(lines, key=lambda line: line.place, reverse=True)}
    newest = sorted(told.values(), key=lambda line: (line.place[0], -line.place[1]))[:MOST]
    return [BriefPoint(text=cut(line.text, LINE), date=line.date) for line in newest]


def _bare(line: str) -> str:
    text = fold(re.sub(r"^[ \t]*(?:[-*+•]|\d{1,3}[.)])[ \t]+", "", line))
    return _MARKERS.sub("", text).strip() or text


def _fitted(
    entries: list[BriefEntry],
    open_: list[BriefPoint],
    decisions: list[BriefPoint],
    rules: list[str],
    limit: int,
    form: Form,
) -> Briefing:
    """As much as the budget holds: the last session, what is open, rules, decisions, then earlier sessions."""
    kinds: dict[str, Sequence[object]] = {"entries": entries, "open": open_, "rules": rules, "decisions": decisions}
    order = [("entries", 0), *(("open", n) for n in range(len(open_))), *(("rules", n) for n in range(len(rules)))]
    order += [("decisions", n) for n in range(len(decisions))] + [("entries", n) for n in range(1, len(entries))]
    chosen: dict[str, list[int]] = {name: [] for name in kinds}
    best, lost = Briefing(), 0
    for name, number in order:
        if number >= len(kinds[name]):
            continue
        chosen[name].append(number)
        parts = {kind: [kinds[kind][n] for n in sorted(numbers)] for kind, numbers in chosen.items()}
        tried = Briefing.model_validate(parts)
        tokens = cost(tried.text(form, marked=True))
        if tokens <= limit * SAFETY:
            best = tried.model_copy(update={"estimated_tokens": tokens})
        else:
            chosen[name].pop()
            lost += 1
    return best.model_copy(update={"left_out": lost})


def _written(brief: Briefing, form: Form) -> Iterator[str]:
    markdown = form == "markdown"

    def heading(text: str) -> str:
        return f"\n### {text}" if markdown else f"\n{text}"

    def quoted(text: str) -> str:
        plain = fold(clean(text))
        return _SPECIAL.sub(r"\\\g<0>", plain) if markdown else plain

    if markdown:
        yield "## Briefing"
        yield QUOTED
    else:
        yield "Briefing"
    if brief.entries:
        yield heading("Recent sessions")
    for entry in brief.entries:
        about = [f"{entry.date} #{entry.session}", *([quoted(entry.task_id)] if entry.task_id else [])]
        about += ["auto"] if entry.auto_generated else []
        said = ": ".join(filter(None, (quoted(entry.title), quoted(entry.snippet))))
        name = f" ({entry.id})" if entry.id else ""
        yield f"- {', '.join(about)}{name}: {said}"
    for title, points in (("Open", brief.open), ("Decisions that hold", brief.decisions)):
        if points:
            yield heading(title)
            yield from (f"- {quoted(point.text)} ({point.date})" for point in points)
    if brief.rules:
        yield heading("Rules proposed, not applied (gieok reflect)")
        yield from (f"- {quoted(rule)}" for rule in brief.rules)
