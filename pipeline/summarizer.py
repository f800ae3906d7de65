"""One line that says what a text is about, its beginning, and the part of it that matched.

Limits count characters (code points) of the result, the ellipsis included, and are never exceeded. Results are single
lines in NFC, cut between words, never inside what a reader sees as one character, and free of anything that a
terminal would obey.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import NamedTuple

from indexes.analyzer import analyze_query
from indexes.english import light_stem
from pipeline.plaintext import (
    ELLIPSIS,
    Block,
    blocks,
    ceil_boundary,
    clean,
    cut,
    flatten,
    floor_boundary,
    fold,
    follow,
    inline,
)


def summarize(content: str, title: str = "", limit: int = 100) -> str:
    """The heading that `content` starts with (else `title`) and its first sentence that says something.

    Markdown is stripped and code becomes `[python code]`. Empty only if there is neither text nor title.
    Raises UsageError if `limit` is below 1.
    """
    parts = blocks(content)
    headings: list[str] = []
    body: Iterator[Block] = iter(())
    for part in parts:
        if part.kind != "heading":
            body = chain([part], parts)
            break
        headings.append(part.text)
    lead = " › ".join(headings) or fold(inline(clean(title)))
    sentence = _telling_sentence(body)
    if lead and sentence and not sentence.casefold().startswith(lead.casefold()):
        return cut(follow(lead, sentence), limit)
    return cut(sentence or lead, limit)


def preview(content: str, limit: int = 200) -> str:
    """The beginning of `content`: Markdown stripped, code replaced. Raises UsageError if `limit` is below 1."""
    return cut(flatten(blocks(content), enough=limit + 1), limit)


def snippet(content: str, terms: Sequence[str], limit: int = 200, span: tuple[int, int] | None = None) -> str:
    """The part of `content` where most of `terms` stand close together, code included.

    `terms` are the query's words; Korean particles on either side, case and spaces inside Korean compounds do not
    matter. Where none occurs, it is the beginning of `span`, a range of characters of `content` (the best passage by
    meaning), or of `content` itself. A side that is cut carries an ellipsis. Raises UsageError if `limit` is below 1.
    """
    text = flatten(blocks(content, keep_code=True))
    beginning = cut(text, limit)
    if beginning == text or limit < 3:  # no room for a letter between two marks
        return beginning
    found = _densest(_matches(text, terms, limit - 2), limit - 2)
    if found is not None:
        return _window(text, found, limit)
    if span is None:
        return beginning
    start = floor_boundary(content, max(0, min(span[0], len(content))))
    word_end = _SPACE.search(content, max(span[1], start))
    passage = flatten(blocks(content[start : word_end.start() if word_end else None], keep_code=True))
    if not passage or text.startswith(passage):
        return beginning
    # Something follows the passage: made too long on purpose, so that the cut leaves its mark.
    more = "" if text.endswith(passage) else " " + "x" * limit
    return ELLIPSIS + cut(passage + more, limit - 1)


# A mark before a space; a Korean final syllable and a mark with no space after it ("했다.그리고"); 니다 without a mark;
# a Korean ending at the end of a line, but not the particles 마다 and 보다.
_SENTENCE_END = re.compile(
    r"(?<![.!?。！？…])(?P<mark>[.!?。！？…]++)[\"'”’»)\]』」]*+(?=\s|$)|(?<=[다요죠까음함됨임])[.!?]++(?=[가-힣])|(?<=니다)(?=\s)"
    r"|(?:(?<![마보]다)(?<=다)|(?<=[요죠])|(?<=습니까))(?=\n)"
)
# What a period follows without ending a sentence: before any word, before a name, before a number.
_ABBREVIATION = re.compile(r"(?:^|[\s(\[])(?:(?:[a-z]\.)+[a-z]|cf|dr|mr|mrs|ms|prof|st|vs)$", re.IGNORECASE)
_INITIAL = re.compile(r"(?:^|[\s(\[])[A-Z]$")
_NUMBERED = re.compile(r"(?:^|[\s(\[])(?:approx|art|ch|eq|figs?|nos?|pp?|sec|vol|\d+)$", re.IGNORECASE)
_LONGEST_ABBREVIATION = 16  # the part of a sentence that is looked at: more than any of the above
_LETTER = re.compile(r"\S")
_SPACE = re.compile(r"\s")
_WORD = re.compile(r"[^\W_]+")


def _sentences(paragraph: str) -> Iterator[str]:
    start = 0
    for end in _SENTENCE_END.finditer(paragraph):
        before = paragraph[max(start, end.start() - _LONGEST_ABBREVIATION) : end.start()]
        if end["mark"] == "." and _goes_on(before, _letter_after(paragraph, end.end())):
            continue
        if sentence := fold(paragraph[start : end.end()]):
            yield sentence
        start = end.end()
    if sentence := fold(paragraph[start:]):
        yield sentence


def _letter_after(text: str, index: int) -> str:
    letter = _LETTER.search(text, index)
    return letter[0] if letter else ""


def _goes_on(before: str, after: str) -> bool:
    """Whether a period between these is part of an abbreviation, of a date (2026. 1. 30.) or of a list number."""
    if after.islower() or _ABBREVIATION.search(before):
        return True
    if after.isdigit():
        return bool(_NUMBERED.search(before))
    return before.strip().isdigit() or (after.isascii() and bool(_INITIAL.search(before)))


def _telling_sentence(parts: Iterator[Block]) -> str:
    """The first sentence of two words or more; "네.", "OK!" or code only if there is nothing else."""
    first = ""
    for part in parts:
        for sentence in [part.text] if part.kind == "code" else _sentences(part.text):
            first = first or sentence
            if part.kind != "code" and len(_WORD.findall(sentence)) >= 2:
                following = next(parts, None) if sentence.endswith(":") else None
                return f"{sentence} {fold(following.text)}" if following else sentence
    return first


class _Match(NamedTuple):
    start: int
    end: int
    word: str
    weight: float


def _matches(text: str, terms: Sequence[str], width: int) -> list[_Match]:
    """Where the query's words stand in `text`, in order. A word counts less the more often it occurs here.

    They are the analyzer's words, without endings and with its weights. A Korean word may be written with spaces; if
    it stands nowhere as a whole, its pairs of syllables count.
    """
    matches: list[_Match] = []
    for word in analyze_query(clean(" ".join(terms))).words:
        whole = _places(text, word.text)
        parts = {word.text: whole} if whole else {pair: _places(text, pair) for pair in word.tokens}
        for name, places in parts.items():
            weight = word.weight / (len(parts) * len(places)) if places else 0.0
            matches += (_Match(*_whole_word(text, place, width), name, weight) for place in places)
    return sorted(match for match in matches if match.end - match.start <= width)


def _whole_word(text: str, place: tuple[int, int], width: int) -> tuple[int, int]:
    """The word around `place`, particles and all, if it fits; else `place` itself."""
    start = text.rfind(" ", max(0, place[0] - width), place[0]) + 1 or max(0, place[0] - width)
    end = text.find(" ", place[1], place[1] + width)
    end = min(len(text), place[1] + width) if end < 0 else end
    return (start, end) if end - start <= width else place


def _places(text: str, word: str) -> list[tuple[int, int]]:
    """Where `word` stands: anywhere if it is Korean, else at the start of a word or of a part of an identifier."""
    if not word.isascii():
        pattern = " ?".join(map(re.escape, word))
        lone = r"(?<!\w)" if len(word) == 1 else ""
        return [match.span() for match in re.finditer(lone + pattern, text, re.IGNORECASE)]
    stem = light_stem(word)
    stem = stem[:-1] + "[iy]" if stem[-1] == "i" else stem  # the stem of query and queries is queri
    part = rf"(?<![0-9A-Za-z]){stem}|(?<=[0-9a-z])(?-i:{stem.capitalize()})"
    return [match.span() for match in re.finditer(part, text, re.IGNORECASE)]


def _densest(matches: Sequence[_Match], width: int) -> tuple[int, int] | None:
    """The range of at most `width` characters that holds the most weight, each word counted once."""
    best: tuple[float, int, int] | None = None
    held: Counter[str] = Counter()
    weight = 0.0
    first = 0
    for match in matches:
        while match.end - matches[first].start > width:
            gone = matches[first]
            held[gone.word] -= 1
            weight -= 0.0 if held[gone.word] else gone.weight
            first += 1
        weight += 0.0 if held[match.word] else match.weight
        held[match.word] += 1
        # Rounded: the same sum in another order must not beat an earlier window.
        if best is None or round(weight, 9) > best[0]:
            best = round(weight, 9), matches[first].start, match.end
    return None if best is None else (best[1], best[2])


def _window(text: str, found: tuple[int, int], limit: int) -> str:
    """Whole words around `found`, as much after it as before it, with an ellipsis on each side that is cut."""
    room = limit - 2
    start = max(0, min(found[0] - (room - (found[1] - found[0])) // 2, len(text) - room))
    end = min(len(text), start + room)
    if start > 0 and text[start - 1] != " ":
        space = text.find(" ", start, found[0])
        start = space + 1 if space >= 0 else ceil_boundary(text, start)
    if end < len(text) and text[end] != " ":
        space = text.rfind(" ", found[1], end)
        end = space if space >= 0 else max(start, floor_boundary(text, end))
    body = text[start:end].strip()
    return (ELLIPSIS if start > 0 else "") + body + (ELLIPSIS if end < len(text) else "")
