"""The six kinds of patterns, told from the section a line stands in and the words that give it away."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Final, Literal, TypeAlias, get_args

from pipeline.reflect.reading import Line, Section

Category: TypeAlias = Literal["preferences", "mistakes", "decisions", "workflow", "tools", "corrections"]
CATEGORIES: Final[tuple[Category, ...]] = get_args(Category)

_BY_SECTION: Final[dict[Section, Category]] = {
    "work": "workflow",
    "feedback": "corrections",
    "decisions": "decisions",
    "mistakes": "mistakes",
    "patterns": "workflow",
}
_PREFERENCE = re.compile(
    r"선호|좋아[하한]|싫어|원[하한]다|원했|달라고|해 ?달라|바[라란]다"
    r"|\b(?:prefers?|preferred|likes?|wants?|wanted|dislikes?|asked for)\b",
    re.IGNORECASE,
)
_TOOL = re.compile(
    r"명령|도구|스크립트|터미널|플러그인|옵션"
    # Korean particles follow a name without a space, so \b would not end it.
    r"|(?<![A-Za-z0-9_])(?:git|gh|docker|kubectl|make|npm|pnpm|yarn|uv|pip|poetry|pytest|ruff|mypy|eslint|prettier|psql"
    r"|sqlite|duckdb|curl|jq|rg|grep|terraform|cargo|gradle|command|tool|script|cli|plugin)(?![A-Za-z0-9_])",
    re.IGNORECASE,
)
_MISTAKE = re.compile(
    r"실수|깜빡|빠뜨|빼먹|잘못|놓쳤|\b(?:forgot|mistake\w*|wrongly|by mistake|overlooked|missed)\b", re.IGNORECASE
)


def category_of(lines: Sequence[Line]) -> Category:
    """The category of a pattern: what most of its lines are; of equals the one that comes first in `CATEGORIES`."""
    votes = Counter(_of(line) for line in lines)
    return max(CATEGORIES, key=lambda category: votes[category])


def _of(line: Line) -> Category:
    if line.section in ("feedback", "patterns") and _PREFERENCE.search(line.text):
        return "preferences"
    if line.section in ("work", "patterns"):
        if _MISTAKE.search(line.text):
            return "mistakes"
        if _TOOL.search(line.text):
            return "tools"
    return _BY_SECTION[line.section]
