"""A fast estimate of how many tokens a language model will count, by script.

`len(text) / 4` undercounts Korean two to four times over, and a real tokenizer is an optional package. So characters
fall into a few classes (Hangul, lower-case Latin, brackets, …), and each costs what it adds on average, depending on
what stands before it: the same class, a space, or anything else. `docs/tokens.md` gives the error.
"""

from __future__ import annotations

from itertools import product
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray


class Cost(NamedTuple):
    """What a character adds, in tokens: after its own class, after a space, after any other class."""

    inside: float
    after_space: float
    after_other: float


# Fitted to o200k_base; `python scripts/fit_tokens.py` prints these lines.
COSTS: Final[dict[str, Cost]] = {
    "space": Cost(0.05, 0, 0.96),
    "newline": Cost(0, 0, 0.52),
    "tab": Cost(0.44, 2.93, 0.92),
    "lower": Cost(0.03, 0, 0.94),
    "upper": Cost(0.23, 0, 0.82),
    "digit": Cost(0.1, 2.47, 1.22),
    "stop": Cost(0.02, 0, 0.25),
    "bracket": Cost(0, 0, 0.52),
    "symbol": Cost(0.22, 0.31, 0.88),
    "hangul": Cost(0.74, 0.93, 1.53),
    "han": Cost(0.79, 1.66, 0.85),
    "kana": Cost(0.74, 0.13, 0.83),
    "letter": Cost(0.18, 0, 3.04),
    "sign": Cost(0.47, 1.49, 0.03),
    "rare": Cost(3.18, 2.08, 2.2),
    "astral": Cost(1.95, 0.22, 5.42),
}
EXCEPTIONS: Final[dict[tuple[str, str], float]] = {
    ("upper", "lower"): 0.09,
    ("hangul", "space"): 0,
    ("newline", "hangul"): 2.28,
}

CLASSES: Final = tuple(COSTS)
SPACE: Final = CLASSES.index("space")
# What stands before the first character. After a space, one-word texts would come out a quarter too low.
_START: Final = CLASSES.index("stop")

_ASCII: Final = {
    "space": " ",
    "newline": "\n\r",
    "tab": "\t",
    "stop": ".,:;!?",
    "bracket": "()[]{}<>\"'`",
    "symbol": "#$%&*+-/=@\\^_|~",
}
# Later rows win. Whatever no row names is "rare": it costs a token or more a character.
_RANGES: Final = (
    ("letter", 0x00C0, 0x0FFF),  # Latin with marks, Greek, Cyrillic, Hebrew, Arabic, Indic, Thai
    ("letter", 0x1E00, 0x1FFF),
    ("sign", 0x0080, 0x00BF),
    ("sign", 0x2000, 0x2BFF),  # punctuation, arrows, box drawing, dingbats
    ("sign", 0x3000, 0x303F),
    ("sign", 0xFE00, 0xFFEF),
    ("hangul", 0x3131, 0x318E),
    ("hangul", 0xAC00, 0xD7A3),
    ("han", 0x3400, 0x9FFF),
    ("han", 0xF900, 0xFAFF),
    ("kana", 0x3040, 0x30FF),
    ("digit", 0x30, 0x39),
    ("upper", 0x41, 0x5A),
    ("lower", 0x61, 0x7A),
)
_PLANE: Final = 0x10000


def _class_table() -> NDArray[np.uint16]:
    table = np.full(_PLANE + 1, CLASSES.index("rare"), np.uint16)
    for name, first, last in _RANGES:
        table[first : last + 1] = CLASSES.index(name)
    for name, characters in _ASCII.items():
        table[[ord(character) for character in characters]] = CLASSES.index(name)
    table[_PLANE] = CLASSES.index("astral")
    return table


def _cost_table() -> NDArray[np.float64]:
    table = np.empty((len(CLASSES), len(CLASSES)))
    for before, current in product(range(len(CLASSES)), repeat=2):
        cost = COSTS[CLASSES[current]]
        table[before, current] = (
            cost.inside if before == current else cost.after_space if before == SPACE else cost.after_other
        )
    for (before_name, current_name), exception in EXCEPTIONS.items():
        table[CLASSES.index(before_name), CLASSES.index(current_name)] = exception
    return table.ravel()


_CLASS_OF: Final = _class_table()
_COST_OF: Final = _cost_table()


def pairs(text: str) -> NDArray[np.uint16]:
    """For each character, the class before it (a full stop for the first) × the number of classes + its own class."""
    code_points = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)
    classes = _CLASS_OF[np.minimum(code_points, _PLANE)]
    before = np.empty_like(classes)
    before[:1] = _START
    before[1:] = classes[:-1]
    return before * np.uint16(len(CLASSES)) + classes


def estimate_tokens(text: str) -> int:
    """Estimated o200k tokens of `text`: 0 for an empty text, at least 1 for any other.

    The estimate is a sum over neighbouring characters, so cutting a text in two changes the total only at the cut.
    """
    if not text:
        return 0
    return max(1, round(float(_COST_OF[pairs(text)].sum())))
