"""Cuts `<name>…</name>` out of text, however the tags are spelled, and when in doubt cuts more."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

# Blocks whose characters NFKC turns into ASCII: full width, small forms, letter-like, circled, mathematical.
_COMPATIBLE = (range(0x2070, 0x2190), range(0x24B6, 0x24EA), range(0xFE50, 0xFF70), range(0x1D400, 0x1D800))
_HIDDEN = "\u00ad\u034f\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufe00-\ufe0f\ufeff"
_INVISIBLE = f"[{_HIDDEN}]*"
_GAP = f"[\\s{_HIDDEN}]*"

_ROUNDS = 10
"""A text in which cutting uncovers another tag this often was made to get past us: all of it goes."""


def _spellings(letter: str) -> str:
    """A class of the characters that are `letter` but for case and compatibility form."""
    same = {letter, letter.upper()}
    for block in _COMPATIBLE:
        same.update(chr(code) for code in block if unicodedata.normalize("NFKC", chr(code)).casefold() == letter)
    return "[" + "".join(map(re.escape, sorted(same))) + "]"


class Tag:
    """One tag name.

    A tag counts in any case, with blanks, attributes and invisible characters inside, in full-width and other
    compatibility forms, and with its `<` escaped for HTML or JSON.
    """

    def __init__(self, name: str) -> None:
        less = f"(?:{_spellings('<')}|&lt;|&#0*60;|&#x0*3c;|\\\\u003c|\\\\x3c)"
        greater = f"(?:{_spellings('>')}|&gt;|&#0*62;|&#x0*3e;|\\\\u003e|\\\\x3e)"
        slash = f"(?P<close>\\\\?{_spellings('/')}{_GAP})?"
        word = _INVISIBLE.join(_spellings(letter) for letter in name)
        # A longer name (`<privately>`, `<private-key>`) or a path (`<private/config.h>`) is another tag.
        end = f"{_INVISIBLE}(?![\\w-])(?!/\\w)(?(close)(?:(?:\\s*|[^<>\\n]{{0,200}}?){greater})?)"
        self._pattern = re.compile(less + _GAP + slash + word + end, re.IGNORECASE)

    def cut(self, text: str, *, drop_before_stray: bool, unclosed_to_end: bool = True) -> tuple[str, int]:
        """`text` without what the tag encloses, and how many pieces were cut.

        An unclosed tag reaches to the end, or if not `unclosed_to_end` is no tag. A closing tag that nothing opened
        loses everything before it if `drop_before_stray`, and else just goes.
        """
        total = 0
        # What is left on both sides of a cut may read as a tag anew.
        for _ in range(_ROUNDS):
            text, count = self._cut_once(text, drop_before_stray, unclosed_to_end)
            if not count:
                return text, total
            total += count
        return "", total

    def unmark(self, text: str, instead: str) -> str:
        """`text` with `instead` in the place of every tag of this name, and all that tags enclose kept."""
        for _ in range(_ROUNDS):
            text, count = self._pattern.subn(instead, text)
            if not count:
                return text
        return ""

    def _cut_once(self, text: str, drop_before_stray: bool, unclosed_to_end: bool) -> tuple[str, int]:
        kept: list[str] = []
        depth = count = position = opened = 0
        for start, end, closes in self._tags(text):
            if depth == 0:
                opened = start
                kept.append(text[position:start])
                count += 1
                if closes and drop_before_stray:
                    kept.clear()
            depth = max(0, depth - 1) if closes else depth + 1
            position = end
        if depth == 0:
            kept.append(text[position:])
        elif not unclosed_to_end:
            kept.append(text[opened:])
            count -= 1
        return "".join(kept), count

    def _tags(self, text: str) -> Iterator[tuple[int, int, bool]]:
        for match in self._pattern.finditer(text):
            yield match.start(), match.end(), match["close"] is not None
