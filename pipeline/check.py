"""What memory says about a task before it is handed to an agent: one line a hit (layer 1), by what kind of thing it is.

A diary entry tells by its section's heading whether a hit is a mistake, a decision or something else; a note by its
title or tags.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final, Literal, TypeAlias

from indexes.analyzer import analyze_query
from indexes.types import Memory
from pipeline.diary.headings import SECTIONS, Section, section_of
from pipeline.diary.sorting import by_section, sort_sections
from pipeline.plaintext import cut
from pipeline.results import Answer, Result, SearchIndexItem

Kind: TypeAlias = Literal["mistakes", "rules", "feedback", "decisions", "patterns", "work", "similar", "notes"]

KINDS: Final[tuple[Kind, ...]] = ("mistakes", "rules", "feedback", "decisions", "patterns", "work", "similar", "notes")
"""In the order in which they are shown: what to avoid, what to obey, what was decided, what was done before."""

TITLES: Final[dict[Kind, str]] = {
    "mistakes": "Past mistakes",
    "rules": "Rules",
    "feedback": "Feedback",
    "decisions": "Decisions",
    "patterns": "Patterns",
    "work": "Earlier work",
    "similar": "Said and done in sessions",
    "notes": "Notes",
}

MAX_TASK: Final = 4_000
"""Characters of a task that are looked at: a search weighs the 64 most telling tokens of them."""
_SUMMARY = 100
_BY_TITLE: Final[tuple[tuple[Kind, re.Pattern[str]], ...]] = (
    (
        "rules",
        re.compile(r"규칙|지침|컨벤션|\b(?:rules?|guidelines?|conventions?|CLAUDE\.md|AGENTS\.md)\b", re.IGNORECASE),
    ),
    ("mistakes", re.compile(r"실수|장애|\b(?:incidents?|post-?mortems?|mistakes?|INC-\d+)\b", re.IGNORECASE)),
    ("decisions", re.compile(r"결정|\b(?:ADR(?:-\d+)?|decisions?)\b", re.IGNORECASE)),
)
# Of sections that hold as many of the task's words, the one that a warning is worth most.
_FIRST: Final[tuple[Section, ...]] = ("mistakes", "feedback", "decisions", "patterns", "work")


class CheckGroup(Result):
    """The findings of one kind, best first."""

    kind: Kind
    items: list[SearchIndexItem]


class CheckReport(Result):
    """What memory says about a task; groups without findings are not there.

    Scores are those of a search, and none is below its floor. `notices` say what limits the answer; without findings,
    `reason` says why and `advice` what to do next.
    """

    task: str
    groups: list[CheckGroup]
    notices: list[str]
    reason: str | None = None
    advice: str | None = None

    @property
    def is_empty(self) -> bool:
        """Whether memory says nothing about the task."""
        return not self.groups


def report(task: str, answer: Answer, memories: Iterable[Memory]) -> CheckReport:
    """The hits of a search for `task` in groups. `memories` are those of the hits."""
    known = {memory.id: memory for memory in memories}
    words = [word.text for word in analyze_query(task).words]
    groups: dict[Kind, list[SearchIndexItem]] = {kind: [] for kind in KINDS}
    for item in answer.result.index:
        memory = known.get(item.id)
        kind, line = classify(memory, words) if memory is not None else ("notes", "")
        groups[kind].append(item.model_copy(update={"summary": line or item.summary, "snippet": None}))
    return CheckReport(
        task=cut(" ".join(task.split()), 2 * _SUMMARY),
        groups=[CheckGroup(kind=kind, items=items) for kind, items in groups.items() if items],
        notices=answer.notices,
        reason=answer.reason,
        advice=answer.advice,
    )


def classify(memory: Memory, words: Sequence[str]) -> tuple[Kind, str]:
    """What kind of thing a memory tells about a task with these `words`, and the point in it that does ("": all of it).

    Of several sections in one memory it is the one with the point that holds most of the words.
    """
    if memory.type != "insight":
        return "similar", ""
    sections = by_section(sort_sections(memory.content).bodies)
    headed = {section: sections[section] for section in _headed(memory.content) if sections[section]}
    if headed:
        best = max(
            (
                (_held(point, words), -_FIRST.index(section), -place, section, point)
                for section, points in headed.items()
                for place, point in enumerate(points)
            ),
        )
        return best[3], cut(best[4], _SUMMARY)
    steps = re.split(r" > |, ", memory.title)
    named = next((found for step in reversed(steps) if (found := section_of(step))), None)
    if named is not None:
        return named, ""
    about = " ".join((memory.title, *memory.tags))
    return next((kind for kind, pattern in _BY_TITLE if pattern.search(about)), "notes"), ""


def _headed(content: str) -> list[Section]:
    """The sections whose headings stand in a text."""
    found = {section_of(match[1]) for match in re.finditer(r"^#{1,6}[ \t]+(.+)$", content, re.MULTILINE)}
    return [section for section in SECTIONS if section in found]


def _held(point: str, words: Sequence[str]) -> int:
    text = point.casefold()
    return sum(word in text for word in words)
