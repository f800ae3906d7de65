"""Markdown as a row of blocks: headings, fenced code, and the paragraphs between blank lines."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

_ATX = re.compile(r" {0,3}(#{1,6})(?=[ \t]|$)")
_UNDERLINE = re.compile(r" {0,3}(=|-)\1+[ \t]*$")
# No heading by underline: lists, quotes, tables, rules, comments, and lines that are code by their indent.
_NO_TITLE = re.compile(r"[ \t]*(?:[-*+>|<]|\d+[.)][ \t]|#{1,6}[ \t])|(?: {4}|\t)|\s*$")
# A fence may stand in a list item or a quote.
_FENCE = re.compile(r"[ \t]*(?:>[ \t]*)*(?:(?:[-*+]|\d+[.)])[ \t]+)?(?P<mark>`{3,}|~{3,})(?P<info>.*)$")
_HTML = re.compile(r" {0,3}(?:(?P<comment><!--)|<(?P<tag>pre|script|style)\b)", re.IGNORECASE)
_BLANK_LINES = re.compile(r"\n(?:[^\S\n]*\n)+")
_LINKS = re.compile(r"!?\[([^\[\]]*)\]\([^()]*\)")
_MARKUP = re.compile(r"[*`]+|(?<!\w)_+|_+(?!\w)|<[^>]{1,80}>")


@dataclass(frozen=True, slots=True)
class Block:
    """Lines that belong together, after `gap` blank ones.

    Only a `text` block may be cut; `level` (1 to 6) and `title` are a heading's.
    """

    kind: Literal["heading", "fence", "text"]
    lines: Sequence[str]
    level: int = 0
    title: str = ""
    gap: int = 0

    @property
    def text(self) -> str:
        """The block as it stands in the source."""
        return "\n".join(self.lines)


def split_blocks(text: str) -> Iterator[Block]:
    """The blocks of `text` in order. Together they hold each of its lines that is not blank, once."""
    lines = text.split("\n")
    closings = _Closings(lines)
    paragraph: list[str] = []
    number = gap = 0
    while number < len(lines):
        line = lines[number]
        end = closings.end_of(number)
        heading = None if end else _heading(line, lines[number + 1 : number + 2], paragraph)
        if (end or heading or not line.strip()) and paragraph:
            yield Block("text", tuple(paragraph), gap=gap)
            paragraph, gap = [], 0
        if end:
            yield Block("fence" if _FENCE.match(line) else "text", tuple(lines[number:end]), gap=gap)
            number, gap = end, 0
        elif heading:
            yield replace(heading, gap=gap)
            number, gap = number + len(heading.lines), 0
        else:
            if line.strip():
                paragraph.append(line)
            else:
                gap += 1
            number += 1
    if paragraph:
        yield Block("text", tuple(paragraph), gap=gap)


def split_paragraphs(text: str) -> list[Block]:
    """The paragraphs of a text in which Markdown means nothing."""
    paragraphs = _BLANK_LINES.split(text.strip("\n"))
    return [Block("text", tuple(paragraph.split("\n")), gap=1) for paragraph in paragraphs if paragraph.strip()]


def plain_title(heading: str) -> str:
    """A heading's words without Markdown."""
    bare = _MARKUP.sub("", _LINKS.sub(r"\1", heading))
    return " ".join(bare.split()) or " ".join(heading.split())


def _heading(line: str, following: Sequence[str], paragraph: Sequence[str]) -> Block | None:
    match = _ATX.match(line)
    if match:
        return Block("heading", (line,), len(match[1]), plain_title(_without_closing(line[match.end() :])))
    # A rule under several lines is a rule: few writers mean all of them as a heading.
    if following and not paragraph and not _NO_TITLE.match(line):
        under = _UNDERLINE.match(following[0])
        if under:
            return Block("heading", (line, following[0]), 1 if under[1] == "=" else 2, plain_title(line))
    return None


class _Closings:
    """Where code fences, comments and raw HTML end. One that is never closed is ordinary text.

    What closes each kind is looked for from the end only once, so that a text full of openings stays cheap.
    """

    def __init__(self, lines: Sequence[str]) -> None:
        self._lines = lines
        self._unclosed: set[str] = set()

    def end_of(self, number: int) -> int:
        """The line after the construct that opens in line `number`; 0 if none does."""
        line = self._lines[number]
        fence = _FENCE.match(line)
        if fence and not (fence["mark"][0] == "`" and "`" in fence["info"]):
            mark = fence["mark"]
            closing = re.compile(rf"[ \t]*(?:>[ \t]*)*{re.escape(mark)}{mark[0]}*[ \t]*$")
            return self._find(f"{mark}", number + 1, closing)
        html = _HTML.match(line)
        if html is None:
            return 0
        ending = "-->" if html["comment"] else f"</{html['tag'].lower()}"
        closing = re.compile(re.escape(ending), re.IGNORECASE)
        if closing.search(line, html.end()):
            return number + 1 if html["comment"] else 0
        return self._find(ending, number + 1, closing, anywhere=True)

    def _find(self, key: str, start: int, closing: re.Pattern[str], *, anywhere: bool = False) -> int:
        if key in self._unclosed:
            return 0
        for number in range(start, len(self._lines)):
            if closing.search(self._lines[number]) if anywhere else closing.match(self._lines[number]):
                return number + 1
        self._unclosed.add(key)
        return 0


def _without_closing(title: str) -> str:
    """The text of an ATX heading without the `##` that may close it. By hand: a pattern for it takes quadratic time."""
    title = title.strip(" \t")
    bare = title.rstrip("#")
    return bare.rstrip(" \t") if not bare or bare[-1] in " \t" else title
