"""What every reader does to text before it looks at it: nothing private, nothing of ours, nothing but text remains."""

from __future__ import annotations

import math
import re

from indexes.types import JSON
from pipeline.plaintext import clean
from pipeline.sources.own import cut_own
from pipeline.sources.private import cut_private

ENCODED_RUN = 512
"""Characters of base64 without a break beyond which they are data, not text: the longest hash in hex has 128, a
2,048-bit key 344."""

MAX_DEPTH = 32
"""Levels of nested JSON that are kept: no memory means anything below, and a hundred thousand would break the stack."""

_ENCODED = re.compile(rf"(?<![A-Za-z0-9+/_-])(?:data:[\w.+/;=-]{{1,80}},)?[A-Za-z0-9+/_-]{{{ENCODED_RUN},}}={{0,2}}")


def mark(characters: int, what: str = "characters") -> str:
    """What stands where text was left out."""
    return f"[… {characters:,} {what} left out …]"


class Cleaner:
    """Cleans the texts of one source and counts what it took out of them.

    A cleaned text is NFC and safe to print (`pipeline.plaintext.clean`), and holds no `<private>` part, no output
    of gieok and no encoded data.
    """

    def __init__(self, *, by_hand: bool = False) -> None:
        """`by_hand`: a person wrote it, so that a marker of ours that is never closed is just a word."""
        self._by_hand = by_hand
        self.private = 0
        self.own = 0
        self.encoded = 0

    def text(self, text: str) -> str:
        """`text`, cleaned."""
        text, private = cut_private(clean(text))
        text, own = cut_own(text, unclosed_to_end=not self._by_hand)
        text, encoded = _ENCODED.subn(lambda match: mark(len(match[0]), "characters of encoded data"), text)
        self.private += private
        self.own += own
        self.encoded += encoded
        return text

    def json(self, value: JSON, depth: int = 0) -> JSON:
        """`value` with every string in it cleaned, names included; what lies deeper than `MAX_DEPTH` is None."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, float) and not math.isfinite(value):
            return str(value)  # 1e999 is JSON, the infinity that it is read as is not
        if depth == MAX_DEPTH:
            return None
        if isinstance(value, list):
            return [self.json(item, depth + 1) for item in value]
        if isinstance(value, dict):
            return {self.text(name): self.json(item, depth + 1) for name, item in value.items()}
        return value

    def notices(self) -> list[str]:
        """One line for each kind of thing that was taken out."""
        counts = (
            (self.private, "<private> part{}", "left out"),
            (self.own, "earlier answer{} of gieok", "left out"),
            (self.encoded, "block{} of encoded data", "replaced by a mark"),
        )
        return [f"{count} {name.format('s' if count > 1 else '')} {fate}" for count, name, fate in counts if count]
