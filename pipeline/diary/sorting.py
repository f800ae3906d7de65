"""Text with headings, sorted into the five sections; text without is work."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from pipeline.diary.headings import NOTHING, SECTIONS, Section, section_of
from pipeline.plaintext import fold, inline
from pipeline.sources.blocks import split_blocks

_INNER_LEVEL = 3
"""Of headings inside a section: the sections' own have level 2."""

_BARE_HEADING = re.compile(
    r"\s*(?:(?:\*\*|__)(?P<bold>[^*_]{1,40})(?:\*\*|__)\s*[:：]?|(?P<plain>[^\s.:：][^.:：]{0,40})[:：]|"
    r"\[(?P<box>[^\]]{1,40})\])\s*"
)
_BULLET = re.compile(r"(?P<indent>[ \t]*)(?:[-*+•]|\d{1,3}[.)])(?:[ \t]+(?P<text>.*)|$)")
_OPENING = re.compile(
    r"^([ \t>]*(?:(?:[-*+]|\d+[.)])[ \t]+)?)(?=`{3,}|~{3,}|<(?:!--|pre\b|script\b|style\b))",
    re.MULTILINE | re.IGNORECASE,
)
_RULE = re.compile(r"\s*(?:-{2,}|={2,})\s*")
_CLOSED_HTML = re.compile(
    r" {0,3}(?:<!--(?:(?!-->).)*-->[^\n]*|<(pre|script|style)\b(?:(?!</\1).)*\n[^\n]*</\1[^\n]*)\Z",
    re.IGNORECASE | re.DOTALL,
)
_EMPTY = re.compile(
    r"(?:특이 ?사항|해당 ?사항)?\s*(?:없음|없다|없었음|없습니다|해당 없음)|자동 기록에는 남지 않음|n/?a|none|"
    r"nothing|-+|…|\.{3}",
    re.IGNORECASE,
)


@dataclass
class Sorted:
    """A title, if the text began with one, and Markdown by section; a section that says nothing is not there."""

    title: str = ""
    bodies: dict[Section, str] = field(default_factory=dict)


def sort_sections(text: str) -> Sorted:
    """Sort Markdown into sections. What stands under an unknown heading is work, unless that is inside a section.

    No line is lost: unknown headings stay, made small enough to be inside.
    """
    result = Sorted()
    pieces: dict[Section, list[str]] = {section: [] for section in SECTIONS}
    current: Section = "work"
    level = 0
    for block in split_blocks(text):
        if block.kind == "heading":
            found = section_of(block.title)
            if found is not None:
                current, level = found, block.level
                continue
            if block.level == 1 and not result.title and not any(pieces.values()):
                result.title = block.title
                continue
            if not level or block.level <= level:
                current, level = "work", level and block.level
            pieces[current].append(f"\n\n{'#' * max(_INNER_LEVEL, block.level)} {block.title}".rstrip())
        elif block.kind == "fence":
            pieces[current].append(("\n\n" if block.gap else "\n") + block.text)
        else:
            gap = "\n\n" if block.gap else "\n"
            for line in filter(None, _harmless(block.text).split("\n")):
                bare = _BARE_HEADING.fullmatch(line)
                found = section_of(bare["bold"] or bare["plain"] or bare["box"]) if bare else None
                if found is not None:
                    current, level = found, 2
                else:
                    pieces[current].append(gap + line)
                gap = "\n"
    for section, parts in pieces.items():
        body = "".join(parts).strip("\n").rstrip()
        if body and not _says_nothing(body):
            result.bodies[section] = body
    return result


def items(body: str) -> tuple[str, ...]:
    """The points of a section, each as plain text on one line: list items, and paragraphs. Code is no point."""
    return tuple(item for item in _items(body) if item and not _EMPTY.fullmatch(item.rstrip(".")))


def by_section(bodies: Mapping[Section, str]) -> dict[Section, tuple[str, ...]]:
    """The points of all five sections."""
    return {section: items(bodies.get(section, "")) for section in SECTIONS}


def _items(body: str) -> Iterator[str]:
    for block in split_blocks(body):
        if block.kind != "text":
            continue
        item: list[str] = []
        for line in block.lines:
            bullet = _BULLET.fullmatch(line)
            if bullet:
                yield _plain(item)
                item = [bullet["text"] or ""]
            else:
                item.append(line)
        yield _plain(item)


def _plain(lines: list[str]) -> str:
    return fold(inline(" ".join(line.strip() for line in lines)))


def _says_nothing(body: str) -> bool:
    lines = [line for line in body.split("\n") if line.strip()]
    if any(not (bullet := _BULLET.fullmatch(line)) or not _blank(bullet["text"] or "") for line in lines):
        return len(lines) == 1 and _blank(lines[0])
    return True


def _blank(text: str) -> bool:
    bare = text.strip().rstrip(".").strip("()*_ ")
    return not bare or bare in NOTHING.values() or _EMPTY.fullmatch(bare) is not None


def _harmless(text: str) -> str:
    """A text block in which nothing that is not closed can swallow the sections that will follow it.

    Rules go, too: they would make a heading of the line above.
    """
    if _CLOSED_HTML.match(text):
        return text
    text = "\n".join(line for line in text.split("\n") if not _RULE.fullmatch(line))
    return _OPENING.sub(r"\g<1>\\", text)
