"""Cuts long text where a reader would: between paragraphs, else between lines, else between words."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from indexes.tokens import estimate_tokens
from pipeline.sources.blocks import Block, split_blocks

MAX_TOKENS = 800
"""Estimated tokens of a memory: with its frame it stays within the 500 to 1,000 that a detail may cost."""

TAIL = MAX_TOKENS // 10
"""A rest of at most so many tokens is no part of its own: the last part may be that much longer instead."""

_WORD = re.compile(r"\S{1,400}\s*")  # 400 characters without a blank are no word and may be cut


@dataclass(frozen=True, slots=True)
class _Unit:
    """Text that stays whole, and what separates it from the one before when both come to stand in one part."""

    text: str
    tokens: int
    glue: str


def cut_text(text: str) -> list[str]:
    """`text` in parts as `cut_blocks` makes them, none of them empty."""
    if estimate_tokens(text) <= MAX_TOKENS:
        return [text.strip("\n")] if text.strip() else []
    return cut_blocks(tuple(split_blocks(text)))


def cut_blocks(blocks: Sequence[Block], *, even: bool = True) -> list[str]:
    """`blocks` in parts of about `MAX_TOKENS` at most (see `TAIL`); only a fence may make a part longer.

    `even` parts are about equally long. Otherwise each is as full as it gets, so that text added at the end leaves
    those before as they are.
    """
    units = [unit for block in blocks for unit in _units(block)]
    if not units:
        return []
    total = sum(unit.tokens for unit in units)
    enough = total / math.ceil(total / MAX_TOKENS) if even and total else math.inf
    parts: list[str] = []
    pieces: list[str] = []
    size = 0
    left = total
    for unit in units:
        full = size + unit.tokens > MAX_TOKENS or size + unit.tokens / 2 > enough
        if pieces and full and not (left <= TAIL and size + left <= MAX_TOKENS + TAIL):
            parts.append("".join(pieces))
            pieces, size = [], 0
        pieces.append(unit.glue + unit.text if pieces else unit.text)
        size += unit.tokens
        left -= unit.tokens
    parts.append("".join(pieces))
    return parts


def _units(block: Block) -> Iterator[_Unit]:
    tokens = estimate_tokens(block.text)
    if tokens <= MAX_TOKENS or block.kind != "text":
        yield _Unit(block.text, tokens, "\n" * (block.gap + 1))
        return
    for number, line in enumerate(block.lines):
        for piece, text in enumerate(_pieces(line)):
            glue = " " if piece else "\n" if number else "\n" * (block.gap + 1)
            yield _Unit(text, estimate_tokens(text), glue)


def _pieces(line: str) -> Iterator[str]:
    """The line, cut between words if it alone is too long."""
    total = estimate_tokens(line)
    if total <= MAX_TOKENS:
        yield line
        return
    words: list[str] = []
    size = 0.0
    for match in _WORD.finditer(line):
        tokens = total * len(match[0]) / len(line)  # one estimate a line: a call for each word takes too long
        if words and size + tokens > MAX_TOKENS:
            yield "".join(words).rstrip()
            words, size = [], 0
        words.append(match[0])
        size += tokens
    yield "".join(words).rstrip()
