"""Text made plain: without Markdown, without anything that a terminal would obey, cut where a reader would cut it."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from itertools import takewhile
from typing import Literal, NamedTuple, TypeAlias

from indexes.errors import UsageError

ELLIPSIS = "…"

# ECMA-48: CSI … final, OSC … BEL or ST, DCS/SOS/PM/APC … ST, then the two-byte escapes.
_ESCAPES = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b\n]*(?:\x07|\x1b\\)?"
    r"|\x1b[PX^_][^\x1b\n]*(?:\x1b\\)?|\x1b[ -/]*[0-~]"
)
_BREAKS = re.compile(r"\r\n|[\r\v\f\x1c-\x1e\x85\u2028\u2029]")
# Controls, soft hyphen, zero-width space, marks that reverse the reading order, and tag letters outside a flag.
_HIDDEN = re.compile(
    r"[\x00-\x08\x0e-\x1f\x7f-\x9f\xad\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb]"
    r"|(\U0001f3f4[\U000e0030-\U000e007a]{1,6}\U000e007f)|[\U000e0000-\U000e007f]+"
)
_SURROGATE = re.compile(r"[\ud800-\udfff]")


def clean(text: str) -> str:
    """`text` in NFC, with line feeds as its only line ends and nothing that a terminal would obey: safe to print."""
    text = _HIDDEN.sub(r"\1", _BREAKS.sub("\n", _ESCAPES.sub("", text)))
    return unicodedata.normalize("NFC", _SURROGATE.sub("\ufffd", text))


def cut(text: str, limit: int) -> str:
    """At most `limit` characters of one line, ending after a whole word; inside one only if the first is too long."""
    if limit < 1:
        raise UsageError(f"A text cannot be cut to {limit} characters. Give a limit of at least 1.")
    if len(text) <= limit:
        return text
    end = text.rfind(" ", 0, limit)
    if end <= 0:
        end = floor_boundary(text, limit - 1)
    return text[:end].rstrip(" ,;:·-–—([{›") + ELLIPSIS


SHOWN = 80
"""Characters of a query that an answer repeats: a pasted page must not fill it."""


def shown(query: str) -> str:
    """A query as an answer repeats it: on one line, and not too long."""
    return cut(fold(clean(query)), SHOWN)


# --- Markdown to blocks ---------------------------------------------------------------------------------------------

Kind: TypeAlias = Literal["heading", "text", "code"]


class Block(NamedTuple):
    """A piece of a Markdown text."""

    kind: Kind
    text: str


_FRONT_MATTER = re.compile(r"\s*(---|\+\+\+)[ \t]*\n\s*[\w-]+[ \t]*[:=]")
_FENCE = re.compile(r"[ \t>]*(?:[-*+][ \t]+)?(?P<mark>`{3,}|~{3,})[ \t]*(?P<language>[^\s`{]*)[^`]*$")
_HEADING = re.compile(r" {0,3}#{1,6}[ \t]+(?P<text>.*)")
_UNDERLINE = re.compile(r" {0,3}(?:=+|-{2,})[ \t]*$")  # makes the single line above it a heading
# Blank lines, rules, table borders, definitions of links.
_NOTHING = re.compile(r"[\s>|:=_*+~-]*$|[ \t]*\[[^\]]+\]:[ \t]*(?:<|https?:|[./#])\S*")
_MARKER = re.compile(r"(?:[ \t]*(?:>|[-*+•](?=[ \t])|\d{1,3}[.)](?=[ \t])|\[[ xX]\](?=[ \t])))+[ \t]*")
_COMMENT = re.compile(r"<!--(?:(?!-->|<!--)[\s\S])*-->")


def blocks(content: str, *, keep_code: bool = False) -> Iterator[Block]:
    """Headings, paragraphs, list items and code of `content`, in order, without markup and front matter.

    A paragraph's lines are still joined by newlines: in Korean they may end a sentence. Code is `[python code]` or
    `[code]` unless `keep_code`. Lazy: who needs the beginning pays for the beginning.
    """
    lines: list[str] = []
    fence = language = ""
    for line in _without_front_matter(_COMMENT.sub("", clean(content))).split("\n"):
        opening = _FENCE.match(line)
        if fence:
            if opening and opening["mark"].startswith(fence) and not opening["language"]:
                yield from _code(lines, language, keep=keep_code)
                fence = ""
            else:
                lines.append(line)
        elif opening:
            yield from _paragraph(lines)
            fence, language = opening["mark"], opening["language"]
        elif _NOTHING.match(line):
            yield from _heading(lines.pop()) if len(lines) == 1 and _UNDERLINE.match(line) else _paragraph(lines)
        else:
            if marker := _MARKER.match(line):
                yield from _paragraph(lines)
                line = line[marker.end() :]
            if heading := _HEADING.match(line):
                yield from _paragraph(lines)
                yield from _heading(heading["text"])
            else:
                lines.append(line.replace("|", " ") if line.lstrip().startswith("|") else line)
    yield from _code(lines, language, keep=keep_code) if fence else _paragraph(lines)


def _heading(line: str) -> Iterator[Block]:
    line = line.strip()
    rest = line.rstrip("#")
    if text := fold(inline(rest if not rest or rest[-1].isspace() else line)):
        yield Block("heading", text)


def _paragraph(lines: list[str]) -> Iterator[Block]:
    text = inline("\n".join(lines)).strip()
    lines.clear()
    if text:
        yield Block("text", text)


def _code(lines: list[str], language: str, *, keep: bool) -> Iterator[Block]:
    name = f"[{language} code]" if language else "[code]"
    text = fold("\n".join(lines)) if keep else name
    lines.clear()
    if text:
        yield Block("code", text)


def _without_front_matter(text: str) -> str:
    """`text` after its front matter; one that is never closed ends at the first blank line."""
    opening = _FRONT_MATTER.match(text)
    if opening is None:
        return text
    ends = ("---", "...") if opening[1] == "---" else ("+++",)
    lines = text.lstrip().split("\n")
    for number, line in enumerate(lines[1:], 1):
        if line.rstrip() in ends:
            return "\n".join(lines[number + 1 :])
    return text.lstrip().partition("\n\n")[2]


_TAGS = (
    "a|b|blockquote|br|center|code|del|details|div|em|font|h[1-6]|hr|i|img|ins|kbd|li|ol|p|pre|s|span|strong|sub|summary"
    "|sup|table|tbody|td|th|thead|tr|u|ul"
)
_MARKUP: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern, re.IGNORECASE), into)
    for pattern, into in (
        (rf"</?(?:{_TAGS})\b[^<>]*>", " "),
        (r"!?\[([^\[\]]*)\]\([^()\s]*(?:\([^()]*\)[^()]*|[ \t][^()]*)?\)", r"\1"),  # [text](url "title"), images
        (r"\[([^\[\]]+)\]\[[^\[\]]*\]", r"\1"),
        (r"\[\^[^\[\]\s]+\]", ""),
        (r"<(https?://[^<>\s]+)>", r"\1"),
        (r"(?<![0-9a-z_*/])\*{2,3}(?=\S)([^*]+)(?<=\S)\*{2,3}", r"\1"),
        (r"(?<![0-9a-z_*/])\*(?=\S)([^*]+)(?<=\S)\*(?!\*)", r"\1"),
        (r"(?<!\w)__(?![a-z0-9_]+__)(?=\S)([^_]+)(?<=\S)__(?!\w)", r"\1"),  # not __init__
        (r"(?<!\w)_(?=[^\s_])([^_]+)(?<=\S)_(?!\w)", r"\1"),
        (r"~~(?=\S)([^~]+)(?<=\S)~~", r"\1"),
        (r"\\([\\`*_{}\[\]()#+.!|<>~-])", r"\1"),
    )
)
_INLINE_CODE = re.compile(r"(?<!`)(`++)([^`]+)\1(?!`)")


def inline(text: str) -> str:
    """`text` without inline markup. What stands in backticks keeps every character."""
    out: list[str] = []
    position = 0
    for code in _INLINE_CODE.finditer(text):
        out += _plain(text[position : code.start()]), code[2].strip()
        position = code.end()
    return "".join([*out, _plain(text[position:])])


def _plain(text: str) -> str:
    for pattern, into in _MARKUP:
        text = pattern.sub(into, text)
    return text


def fold(text: str) -> str:
    """`text` on one line."""
    return " ".join(text.split())


def flatten(parts: Iterable[Block], enough: int | None = None) -> str:
    """All blocks on one line, or at least the first `enough` characters; a heading is followed by a colon."""
    text = heading = ""
    for part in parts:
        folded = fold(part.text)
        text = follow(text, folded) if heading else f"{text} {folded}".lstrip()
        heading = part.text if part.kind == "heading" else ""
        if enough is not None and len(text) >= enough:
            break
    return text


def follow(lead: str, text: str) -> str:
    """`lead: text`, without the colon after a lead that has an end of its own."""
    return f"{lead} {text}" if lead.endswith((":", ".", "?", "!")) else f"{lead}: {text}"


# --- Characters as readers see them ---------------------------------------------------------------------------------

_JOINER = "\u200d"


def is_boundary(text: str, index: int) -> bool:
    """Whether no grapheme cluster spans `index` (UAX 29 but for Indic conjuncts and prepended marks)."""
    if index <= 0 or index >= len(text):
        return True
    before, after = text[index - 1], text[index]
    if before == _JOINER or _extends(after):
        return False
    if _is_flag_letter(before) and _is_flag_letter(after):
        return sum(1 for _ in takewhile(_is_flag_letter, reversed(text[:index]))) % 2 == 0
    return (_jamo(before), _jamo(after)) not in _JAMO_PAIRS


def _extends(letter: str) -> bool:
    return (
        unicodedata.category(letter)[0] == "M"
        or letter in "\u200c\u200d\uff9e\uff9f\u0e33\u0eb3"
        or "\U0001f3fb" <= letter <= "\U0001f3ff"
        or "\U000e0020" <= letter <= "\U000e007f"
    )


def _is_flag_letter(letter: str) -> bool:
    return "\U0001f1e6" <= letter <= "\U0001f1ff"


# Leading, vowel and trailing jamo, and syllables that can still take a trailing one (LV) or not (LVT).
_JAMO_PAIRS = frozenset(
    (before, after)
    for before, afters in {"L": "L V LV LVT", "LV": "V T", "V": "V T", "LVT": "T", "T": "T"}.items()
    for after in afters.split()
)


def _jamo(letter: str) -> str:
    if "가" <= letter <= "힣":
        return "LV" if (ord(letter) - 0xAC00) % 28 == 0 else "LVT"
    if "\u1100" <= letter <= "\u115f" or "\ua960" <= letter <= "\ua97c":
        return "L"
    if "\u1160" <= letter <= "\u11a7" or "\ud7b0" <= letter <= "\ud7c6":
        return "V"
    return "T" if "\u11a8" <= letter <= "\u11ff" or "\ud7cb" <= letter <= "\ud7fb" else ""


def floor_boundary(text: str, index: int) -> int:
    """The last boundary at or before `index`."""
    while not is_boundary(text, index):
        index -= 1
    return index


def ceil_boundary(text: str, index: int) -> int:
    """The first boundary at or after `index`."""
    while not is_boundary(text, index):
        index += 1
    return index
