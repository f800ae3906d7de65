"""A Markdown body as memories: one for each section, small neighbours together, long sections in parts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from indexes.tokens import estimate_tokens
from pipeline.plaintext import cut
from pipeline.sources.blocks import Block, split_blocks
from pipeline.sources.cutting import MAX_TOKENS, cut_blocks

SMALL = 200
"""A section below this many tokens joins its neighbours: alone it would be little more than its heading."""

SLIGHT = 40
"""A heading and a line at most: it joins even a neighbour that is near the bound of a memory."""

JOINED = 500
"""Sections are joined up to here: what is joined still fits into one window of the default model (512 tokens)."""

MAX_TITLE = 100
"""Characters of a title: those of the summary that it may stand for."""

_STEP = " > "
_AND = ", "


@dataclass(frozen=True, slots=True)
class Piece:
    """A memory's worth of a body.

    `place` is the path of headings with ordinals; `parent` the place of the piece that holds the enclosing heading.
    `names` is the path of titles to show; `titled` whether it begins with a heading of level 1.
    """

    place: str
    content: str
    names: tuple[str, ...]
    parent: str | None
    part: int
    titled: bool

    def title(self, lead: str = "") -> str:
        """The path as a person would know it, `lead` first if it says more than the first heading."""
        names = [lead, *self.names] if lead and lead not in self.names[:1] else list(self.names)
        if not names:
            return ""
        suffix = f" ({self.part})" if self.part > 1 else ""
        room = MAX_TITLE - len(suffix)
        steps = [*names[:-1], names[-1].split(_AND, 1)[0] + _AND + "…" if _AND in names[-1] else names[-1]]
        for shown in (names, steps, [steps[0], "…", steps[-1]]):
            if len(_STEP.join(shown)) <= room:
                return _STEP.join(shown) + suffix
        return cut(steps[-1], room) + suffix


@dataclass(slots=True)
class _Section:
    """A heading and the text up to the next one; the text above the first heading has level 0 and no path."""

    path: tuple[str, ...]
    level: int
    ordinal: int
    enclosing: _Section | None
    blocks: list[Block] = field(default_factory=list)
    children: list[_Section] = field(default_factory=list)

    @property
    def place(self) -> str:
        return f"{_joined(self.path)}#{self.ordinal}"

    @property
    def is_titled(self) -> bool:
        above = self
        while above.enclosing is not None and above.enclosing.level:
            above = above.enclosing
        return above.level == 1

    @property
    def is_bare(self) -> bool:
        return all(block.kind == "heading" for block in self.blocks)


@dataclass(frozen=True, slots=True)
class _Group:
    """Neighbouring sections that make one memory (or, if it is a single long one, several)."""

    sections: tuple[_Section, ...]
    tokens: int
    whole: bool

    def plus(self, other: _Group) -> _Group:
        return _Group(self.sections + other.sections, self.tokens + other.tokens, self.whole and other.whole)


def split_sections(body: str) -> list[Piece]:
    """The memories that `body` makes, in order. Each line that is not blank stands in one of them, once."""
    root = _tree(body)
    pieces: list[Piece] = []
    homes: dict[int, str] = {}
    for group in _groups(root):
        first = group.sections[0]
        parent = _home(first, homes)
        blocks = [block for section in group.sections for block in section.blocks]
        parts = cut_blocks(blocks)
        home = f"{first.place}~1"
        homes.update((id(section), home) for section in group.sections if section.level)
        for number, content in enumerate(parts, start=1):
            above = parent if number == 1 else home if first.level else None
            place = f"{first.place}~{number}"
            pieces.append(Piece(place, content, _names(group), above, number, first.is_titled))
    return pieces


def _tree(body: str) -> _Section:
    root = _Section((), 0, 1, None)
    seen: Counter[str] = Counter()
    current = root
    for block in split_blocks(body):
        if block.kind == "heading":
            above: _Section = current
            while above.level >= block.level and above.enclosing is not None:
                above = above.enclosing
            path = (*above.path, block.title)
            seen[_joined(path)] += 1
            current = _Section(path, block.level, seen[_joined(path)], above)
            above.children.append(current)
        current.blocks.append(block)
    return root


def _groups(section: _Section) -> list[_Group]:
    """The groups of a section and all below it. At most six levels deep, as headings are."""
    row = [_Group((section,), _size(section), whole=True)] if section.blocks else []
    for child in section.children:
        below = _groups(child)
        if len(below) > 1:
            below = [_Group(group.sections, group.tokens, whole=False) for group in below]
        if row and (_leads(section, row[-1], below[0]) or _join(row[-1], below[0])):
            row[-1] = row[-1].plus(below.pop(0))
        row.extend(below)
    return row


def _leads(section: _Section, own: _Group, below: _Group) -> bool:
    """Whether `own` is no more than the heading and a line of `section`: then it goes with what it heads."""
    if own.sections != (section,):
        return False
    return section.is_bare or (own.tokens < SLIGHT and own.tokens + below.tokens <= MAX_TOKENS)


def _join(left: _Group, right: _Group) -> bool:
    """Whether two neighbours under one heading go together."""
    smaller = min(left.tokens, right.tokens)
    limit = MAX_TOKENS if smaller < SLIGHT else JOINED
    return left.whole and right.whole and smaller < SMALL and left.tokens + right.tokens <= limit


def _size(section: _Section) -> int:
    return sum(estimate_tokens(block.text) for block in section.blocks)


def _home(section: _Section, homes: dict[int, str]) -> str | None:
    """The place of the piece that holds the nearest heading above `section`."""
    above = section.enclosing
    while above is not None and id(above) not in homes:
        above = above.enclosing
    return None if above is None else homes[id(above)]


def _names(group: _Group) -> tuple[str, ...]:
    """The path that all sections with text share, and the next step of each."""
    told = [section for section in group.sections if not section.is_bare and section.path] or group.sections
    paths = [section.path for section in told]
    common = _common(paths)
    steps = dict.fromkeys(path[len(common)] for path in paths if len(path) > len(common))
    shown = common if len(common) in map(len, paths) and common else (*common, _AND.join(filter(None, steps)))
    return tuple(filter(None, shown))


def _common(paths: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    return tuple(level[0] for level in _levels(paths) if len(set(level)) == 1)


def _levels(paths: Sequence[tuple[str, ...]]) -> Iterator[tuple[str, ...]]:
    for level in zip(*paths, strict=False):
        if len(set(level)) > 1:
            return
        yield level


def _joined(path: Sequence[str]) -> str:
    return _STEP.join(path)
