"""A fast estimate of how many tokens a language model will count."""

from __future__ import annotations

import re

_PIECES = re.compile(
    r"(?P<hangul>[\uac00-\ud7a3\u3131-\u318e]+)|(?P<latin>[A-Za-z]+)|(?P<digits>[0-9]+)"
    r"|(?P<cjk>[\u3040-\u30ff\u3400-\u9fff])|(?P<newline>\n[ \t]*)|(?P<space>[ \t]+)|(?P<other>.)",
)


def estimate_tokens(text: str) -> int:
    """Estimated tokens of `text`, without a tokenizer."""
    total = 0.0
    for match in _PIECES.finditer(text):
        kind, length = match.lastgroup, match.end() - match.start()
        if kind == "hangul":
            total += 0.62 * length
        elif kind == "latin":
            total += 1.0 if length <= 7 else 1 + (length - 7) / 5
        elif kind == "digits":
            total += (length + 2) // 3
        elif kind == "space":
            total += 0.0 if length == 1 else 0.5
        elif kind == "newline":
            total += 0.6
        else:
            total += 0.8
    return round(total)
