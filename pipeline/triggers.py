"""What a query asks for besides what it looks for: memories by their ids, and detail.

Requests are read where they are unmistakable ("자세히 알려줘", "in detail"). A word that could belong to the matter
("주문 상세 조회", "in detail view") stays a word, and so does a request that leaves nothing to search for.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

from indexes.store import ID_PREFIX


@dataclass(frozen=True, slots=True)
class Request:
    """A query taken apart.

    `ids` are written like ids (whether memories have them, only the store knows); `words` is what is left to search
    for when the ids count: empty for "mem_abc 보여줘". `detail` says that detail was asked for.
    """

    ids: tuple[str, ...]
    detail: bool
    words: str


def read_request(query: str) -> Request:
    """The ids that `query` names, whether it asks for detail, and the words that remain."""
    text = unicodedata.normalize("NFC", query)
    ids = tuple(dict.fromkeys(match["id"].lower() for match in _ID.finditer(text)))
    named = _ID.sub(" ", text) if ids else text
    words = _DETAIL.sub(" ", named)
    detail = words != named
    if not _LETTERS.search(_POLITE.sub(" ", words)):
        words = ""
    words = " ".join(_ASK.sub(" ", words).split())
    if detail and not words and not ids:
        return Request((), False, query)
    return Request(ids, detail, words if ids or detail else query)


def without_requests(query: str) -> str:
    """The words of a query whose ids turned out to be none: they stay in it, a request for detail goes."""
    words = " ".join(_DETAIL.sub(" ", unicodedata.normalize("NFC", query)).split())
    return words if _LETTERS.search(words) else query


# Syllables have no case, and compiling a class of 11,172 that ignores case takes milliseconds at every start.
_SYLLABLE = "(?-i:[가-힣])"
# A Korean particle may follow at once; a longer identifier or a path is no id.
_ID = re.compile(
    rf"(?<![\w./-])\[?(?P<id>{ID_PREFIX}[a-z0-9]{{1,24}})(?![A-Za-z0-9_./(-])\]?"
    rf"(?:에\s?대해서?|에서|[을를은는이가의에도과와])?(?!{_SYLLABLE})",
    re.IGNORECASE,
)
_ASK_KO = (
    r"(?:알려|보여|설명해|말해|얘기해|이야기해|정리해|가르쳐|찾아|써|읽어)\s?"
    r"(?:줘요?|주세요|줄래요?|주실래요|주라|달라|다오|봐|줄\s?수\s?있(?:어|나)요?)"
)
_DETAIL = re.compile(
    rf"""(?<!\w)(?:
      (?:좀\s?)?더?\s?(?:자세히|상세히|자세하게|상세하게|구체적으로|낱낱이)(?!{_SYLLABLE}|\s*보기)(?:\s+좀)?(?:\s+{_ASK_KO})?
    | (?:자세한|상세한?|전체|구체적인)\s?(?:내용|정보|설명)(?:을|를|도)?\s*(?:좀\s*)?{_ASK_KO}
    | in\s+(?:full\s+|more\s+|greater\s+|great\s+)?details?
        (?!\s+(?:view|page|screen|panel|modal|tab|table|pane|component))
    | in\s+full(?!\s+[a-z])
    | (?:please\s+)?(?:show|give|tell)\s+(?:me\s+)?(?:the\s+|all\s+(?:the\s+)?)?(?:full\s+|more\s+)?details?
        (?:\s+(?:of|on|about|for))?
    )(?!\w)""",
    re.IGNORECASE | re.VERBOSE,
)
_ASK = re.compile(rf"(?<!\w)(?:{_ASK_KO}|please)(?!\w)", re.IGNORECASE)
# What a request is made of besides ids: where nothing else is left, nothing is left to search for.
_POLITE = re.compile(
    rf"""(?<!\w)(?:{_ASK_KO}|좀|전체|내용|전문|기억|메모리
      |show|open|get|expand|read|display|please|me|memory|the|in|full|details?(?:\s+(?:of|on|about|for))?)
    (?:[을를])?(?!\w)""",
    re.IGNORECASE | re.VERBOSE,
)
_LETTERS = re.compile(r"[^\W_]")
