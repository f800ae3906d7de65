"""Long memories are embedded in passages, cut where their structure allows.

A text that fits is one passage. From a longer one, each passage takes as much as fits and ends at the strongest
boundary in its last part: a heading before a blank line, a blank line before a list item, then lines, sentences,
spaces; only a run without any of these is cut by force, and never inside what is seen as one character.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from typing import Final, NamedTuple

from indexes.tokens import estimate_tokens

PASSAGES_VERSION: Final = 2
"""Raised whenever the same content would give other passages or texts: vectors are then made again."""
PASSAGE_TOKENS: Final = 400
"""Estimated tokens of a passage. `docs/model.md` has the measurement; the model reads 512 of its own tokens."""
PASSAGE_CHARACTERS: Final = 1_700
"""A second bound, for text of which the model makes more tokens than the estimate: technical English has 3.5 characters
to one of its tokens, and the estimate takes long runs such as base64 for single words. Korean never comes near."""
EARLIEST: Final = 0.5
"""A passage is at least this full before a boundary may end it."""
TITLE_CHARACTERS: Final = 120
"""So much of a title goes before each passage."""

_HEADING, _BLOCK, _ITEM, _LINE, _SENTENCE, _SPACE = 6, 5, 4, 3, 2, 1

_FENCE = re.compile(r"[ \t]*(`{3,}|~{3,})")
_HEADING_LINE = re.compile(r"#{1,6}[ \t]")
_ITEM_LINE = re.compile(r"[ \t]*(?:[-*+•]|\d{1,3}[.)])[ \t]")
# A sentence ends in a stop and a space. Korean ends one in 다/요/죠 … and a stop as well, so one rule serves both;
# a stop after a digit or a single Latin letter is more often part of "3. " or "e. g. ".
_SENTENCE_END = re.compile(r"(?:(?<![\s.][A-Za-z0-9])[.!?…]+[\"'”’)\]]*[ \t]+|[。！？]+[\"'”’)\]]*[ \t]*)")  # fmt: skip
_SPACES = re.compile(r"\s+")


class Passage(NamedTuple):
    """A half-open range of characters of a content."""

    start: int
    end: int


def split_passages(content: str, title: str = "") -> list[Passage]:
    """The passages of `content`: in order, not overlapping, covering all but white space. None for a blank content.

    No passage has more than PASSAGE_TOKENS estimated tokens or PASSAGE_CHARACTERS characters, less what `title` takes
    before it. The number of passages is not bounded: it grows with the content, which the readers bound.
    """
    room = PASSAGE_TOKENS - (estimate_tokens(_context(title)) if title else 0)
    whole = _trimmed(content, 0, len(content))
    if whole is None:
        return []
    if _fits(content, whole.start, whole.end, room):
        return [whole]
    places, strengths = _boundaries(content)
    found: list[Passage] = []
    start, stop = whole
    while start < stop:
        fits = _fits(content, start, stop, room)
        end = stop if fits else _end(content, start, places, strengths, room)
        passage = _trimmed(content, start, end)
        if passage is not None:
            found.append(passage)
        start = end
    return found


def passage_text(content: str, span: tuple[int, int], title: str = "") -> str:
    """What is embedded for a passage: its characters, after the title unless they begin with it."""
    text = content[span[0] : span[1]]
    context = _context(title)
    if not context or text.lstrip("#*_> \t").startswith(context):
        return text
    return f"{context}\n{text}"


def _context(title: str) -> str:
    return " ".join(title.split())[:TITLE_CHARACTERS].rstrip()


def _fits(content: str, start: int, end: int, room: int) -> bool:
    return end - start <= PASSAGE_CHARACTERS and estimate_tokens(content[start:end]) <= room


def _trimmed(content: str, start: int, end: int) -> Passage | None:
    text = content[start:end]
    kept = text.strip()
    if not kept:
        return None
    start += len(text) - len(text.lstrip())
    return Passage(start, start + len(kept))


def _end(content: str, start: int, places: list[int], strengths: list[int], room: int) -> int:
    """Where the passage that begins at `start` ends: the strongest boundary in its last part, the latest of equals."""

    def tokens(place: int) -> int:
        return estimate_tokens(content[start:place])

    first = bisect_right(places, start)
    last = bisect_right(places, start + PASSAGE_CHARACTERS)
    last = bisect_right(places, room, first, last, key=tokens)
    if first < last:
        # Both bounds of the last part: in tokens, and in characters where those are what ends the passage.
        enough = min(tokens(places[last - 1]), room) * EARLIEST
        early = bisect_left(places, enough, first, last - 1, key=tokens)
        best = max(range(early, last), key=lambda number: (strengths[number], number))
        return places[best]
    reach = range(start + 1, min(len(content), start + PASSAGE_CHARACTERS) + 1)
    forced = start + max(1, bisect_right(reach, room, key=tokens))
    whole = forced
    while whole > start + 1 and not _between_characters(content, whole):
        whole -= 1
    return whole if whole > start + 1 or _between_characters(content, whole) else forced


def _boundaries(content: str) -> tuple[list[int], list[int]]:
    """Places where a passage may end, ascending, and how strong each is."""
    strongest: dict[int, int] = {}
    for place, strength in _marks(content):
        strongest[place] = max(strength, strongest.get(place, 0))
    places = sorted(strongest)
    return places, [strongest[place] for place in places]


def _marks(content: str) -> Iterator[tuple[int, int]]:
    fence = ""
    blank = False
    at = 0
    for line in content.splitlines(keepends=True):
        mark = _FENCE.match(line)
        if fence:
            yield at, _ITEM if blank else _LINE
            if mark and mark[1].startswith(fence) and not line[mark.end() :].strip():
                fence = ""
                yield at + len(line), _BLOCK
        elif mark:
            fence = mark[1]
            yield at, _BLOCK
        elif _HEADING_LINE.match(line):
            yield at, _HEADING
        else:
            yield at, _BLOCK if blank else _ITEM if _ITEM_LINE.match(line) else _LINE
            for stop in _SENTENCE_END.finditer(line):
                yield at + stop.end(), _SENTENCE
        for space in _SPACES.finditer(line):
            yield at + space.end(), _SPACE
        blank = not line.strip()
        at += len(line)


def _between_characters(content: str, place: int) -> bool:
    """Whether a cut at `place` falls between two characters as they are seen, not inside a syllable or an emoji."""
    if place >= len(content):
        return True
    before, after = content[place - 1], content[place]
    joined = (
        unicodedata.category(after).startswith("M")
        or "\u200d" in (before, after)
        or "\u1160" <= after <= "\u11ff"  # vowels and finals of decomposed Hangul
        or "\U0001f3fb" <= after <= "\U0001f3ff"  # skin tones
        or "\U0001f1e6" <= before <= "\U0001f1ff" >= after >= "\U0001f1e6"  # flags are pairs of letters
        or "\udc00" <= after <= "\udfff"  # the second half of a pair that was never joined
    )
    return not joined
