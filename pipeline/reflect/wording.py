"""A line of a diary made harmless: one plain line that no Markdown reader, host or terminal takes for more."""

from __future__ import annotations

import re

from pipeline.plaintext import clean, cut, fold, inline
from pipeline.sources.own import unmark_own

LIMIT = 200
"""Characters of a rule."""

_COMMENT = re.compile(r"<!--.*?(?:-->|$)|-->")
_TAG = re.compile(r"<(?=[A-Za-z/!?])")
# A host reads the file that `@path` names into the conversation.
_IMPORT = re.compile(r"@(?=[\w~./\\-])")
_LEADING = re.compile(r"^(?:#{1,6}(?:\s+|$)|[>|~=]+\s*|[-*+_](?:\s+|$)|(?:[-*_]\s*){3,}|\d{1,3}[.)]\s+|\[[ xX]?\]\s*)+")
_ORDERS = re.compile(
    r"\b(?:ignore|disregard|forget|override)\b.{0,30}\b(?:previous|prior|above|earlier|all|any|system)\b.{0,30}"
    r"\b(?:instructions?|rules?|prompts?|messages?)\b"
    r"|(?:이전|위의?|앞의?|기존|모든|시스템).{0,12}(?:지시|명령|규칙|프롬프트).{0,12}(?:무시|잊)"
    r"|\bsystem prompt\b|시스템 프롬프트|\byou are now\b|너는 이제|\[redacted:",
    re.IGNORECASE,
)


def plain_line(text: str, *, limit: int = LIMIT) -> str:
    """`text` as one plain line of at most `limit` characters: no markup, comments, tags, imports or markers."""
    line = unmark_own(_COMMENT.sub(" ", fold(clean(inline(clean(text))))))
    line = _IMPORT.sub("＠", _TAG.sub("‹", line.replace("`", "")))
    line = fold(_LEADING.sub("", line))
    return cut(line, limit) if line else ""


def gives_orders(text: str) -> bool:
    """Whether a line speaks to the agent about its instructions, or holds a masked secret: never a rule by itself."""
    return _ORDERS.search(text) is not None
