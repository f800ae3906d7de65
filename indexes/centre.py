"""Takes out of a vector what only says which language and which kind of text it is.

Vectors of e5 share a large common part, and that part differs between Korean and English, between questions and
passages. In a store that holds both languages an English question therefore ranks every English memory above the Korean
one that answers it. Subtracting a share of the mean vector of the text's own language, and making the rest a unit
vector again, removes most of that; docs/model.md has the figures.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from indexes.types import Floats

Kind: TypeAlias = Literal["passage", "query"]
KINDS: tuple[Kind, ...] = ("passage", "query")

_HANGUL = re.compile("[가-힣ᄀ-ᇿㄱ-ㆎ]+")
_LATIN = re.compile("[A-Za-z]+")
LETTERS_OF_A_SYLLABLE = 2
"""A Hangul syllable weighs as much as two Latin letters: a Korean text has about half as many characters."""


def korean_share(text: str) -> float:
    """How much of a text is Korean, against English: 1, 0, or between; 0.5 without a letter of either."""
    hangul = LETTERS_OF_A_SYLLABLE * sum(map(len, _HANGUL.findall(text)))
    latin = sum(map(len, _LATIN.findall(text)))
    return hangul / (hangul + latin) if hangul + latin else 0.5


class Centre:
    """Mean vectors by kind of text and language, scaled by how much of them is taken away."""

    def __init__(self, means: NDArray[np.float32]) -> None:
        """`means` (2, 2, d): for each of KINDS, what is taken from a Korean and from an English text."""
        self._means = dict(zip(KINDS, means, strict=True))

    @classmethod
    def load(cls, path: Path) -> Centre:
        """Read the file that `scripts/fit_centre.py` writes."""
        return cls(np.load(path))

    def apply(self, vectors: Floats, texts: Sequence[str], kind: Kind) -> Floats:
        """The unit vectors (n, d) of `texts`, centred, of unit length again."""
        share = np.array([korean_share(text) for text in texts], np.float32)[:, np.newaxis]
        korean, english = self._means[kind]
        moved = vectors - (share * korean + (1 - share) * english)
        centred: Floats = moved / np.linalg.norm(moved, axis=1, keepdims=True)
        return centred
