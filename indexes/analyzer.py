"""Text into tokens, for documents and, weighted, for queries.

A document yields two streams. `body` (field `t`) holds, for each run of syllables (Hangul, Han, kana), its overlapping
pairs and single syllables, and a pair `X~Y` across a single space; for each other word the word in lower case, its
light English stem, the parts of an identifier, and the whole of a compound such as `PAY-4821` or `src/app/main.py`.
`initial` (field `i`) holds the first two syllables of each syllabic word. A third field, `n`, takes body tokens of the
neighbours of a turn (see `indexes.turns`).

So no dictionary is needed: 인증 is found inside 회원인증모듈, and 주문 상세 finds 주문상세내역. What a dictionary would
know is put into the weights of the query instead, where a mistake costs a little and loses nothing.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Final, Literal, TypeAlias

from indexes.english import STOP_WORDS, join_contractions, light_stem
from indexes.korean import is_filler, stem_length

ANALYZER_VERSION = "2"
"""Raised whenever the same memory would give other tokens: indexes of another version are refused."""

BODY: Final = "t"
INITIAL: Final = "i"
NEAR: Final = "n"
Field: TypeAlias = Literal["t", "i", "n"]
ACROSS: Final = "~"
"""Joins two syllables across a space. Words and compounds never contain it."""


@dataclass(frozen=True, slots=True)
class DocumentTokens:
    """The tokens of a document, in order and with repetitions, for the fields `t` and `i`."""

    body: tuple[str, ...]
    initial: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class WeightedToken:
    """A token to look for in a field, and how much it matters (above 0)."""

    field: Field
    text: str
    weight: float

    @property
    def covers(self) -> bool:
        """Whether holding this token is holding a part of the query: neighbours and word starts only support others."""
        return self.field == BODY and ACROSS not in self.text


@dataclass(frozen=True, slots=True)
class QueryWord:
    """A word of the query as evidence: its text without the ending, the body tokens it is made of, its importance."""

    text: str
    tokens: tuple[str, ...]
    weight: float


@dataclass(frozen=True, slots=True)
class WeightedQuery:
    """What to look for. Empty when the text holds no letter or digit (emoji, punctuation)."""

    tokens: tuple[WeightedToken, ...]
    words: tuple[QueryWord, ...]

    def __bool__(self) -> bool:
        return bool(self.tokens)


# Weights by role, fitted on 14 classes of Korean queries and on the dev splits of real sets; see docs/architecture.md.
_ENDING = 0.1
_ACROSS = 0.1
_INITIAL = 0.3
_SYLLABLE = 0.7
_WORD = 1.5
_KOREAN_FILLER = 0.5
_ENGLISH_STOP = 0.1
_FORM, _STEM = 0.3, 0.7

# Longer "words" are keys, hashes and encoded data: their beginning tells them apart, their parts mean nothing.
_LONGEST_WORD = 64
_LONGEST_COMPOUND = 128

# Hangul with its letters (NFKC turns the compatible letters of ㅋㅋ into the conjoining ones), kana, Han.
_SYLLABIC = (
    "\uac00-\ud7a3\u1100-\u11ff\ua960-\ua97f\ud7b0-\ud7ff"
    "\u3005\u3041-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003fffd"
)
_RUNS = re.compile(f"([{_SYLLABIC}]+(?: [{_SYLLABIC}]+)*)|([^\\W{_SYLLABIC}]+)")
# Tried at the beginning of words only and without backtracking: encoded data would take quadratic time.
_COMPOUND = re.compile(r"(?<![A-Za-z0-9_])(?:[A-Za-z0-9_]++(?:[-./:\\@#]++[A-Za-z0-9_]++)++|[CFcf](?:\+\+|#)(?!\w))")
_PART = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|[0-9]+")
_SLASH = re.compile(r"[/\\]")
_HYPHENS = re.compile(r"[-_]")


def analyze_document(text: str) -> DocumentTokens:
    """The tokens to index for `text`. Any text will do; forms equal under NFKC give equal tokens."""
    text = _normalize(text)
    body: list[str] = []
    initial: list[str] = []
    for phrase, other in _RUNS.findall(text):
        if other:
            body += _word_tokens(other) if len(other) <= _LONGEST_WORD else _split_word(other)
            continue
        before = ""
        for word in phrase.split(" "):
            if before:
                body.append(before + ACROSS + word[0])
            body += _syllable_tokens(word) if len(word) <= _LONGEST_WORD else _split_syllables(word)
            if len(word) > 1:
                initial.append(word[:2])
            before = word[-1]
    for compound in _COMPOUND.findall(text):
        body += _compound_tokens(compound)
    return DocumentTokens(tuple(body), tuple(initial))


def analyze_query(text: str) -> WeightedQuery:
    """The tokens to look for, each once, with weights by role.

    Pairs that reach into an ending, neighbours across a space, word starts, fillers and stop words weigh less; a
    word's weight is shared by its pairs (÷ the square root of their number), so that a long word does not drown a
    short one. What the query repeats, as a dialogue repeats its subject, counts √n-fold.
    """
    text = _normalize(text)
    weights: dict[tuple[Field, str], float] = {}
    times: Counter[tuple[Field, str]] = Counter()
    words: dict[str, QueryWord] = {}

    def add(word: QueryWord, more: _Weights) -> None:
        if word.tokens:
            words.setdefault(word.text, word)
        for key, weight in more:
            weights[key] = max(weights.get(key, 0.0), weight)
            times[key] += 1

    for phrase, other in _RUNS.findall(text):
        if other:
            found = _other_word(other)
            add(found, _other_weights(other, found.weight))
            continue
        before = ""
        for word in phrase.split(" "):
            found = _syllabic_word(word)
            add(found, _across(before, word[0]) + _syllabic_weights(word, found.weight))
            before = word[-1]
    for compound in _COMPOUND.findall(text):
        whole, *others = _compound_tokens(compound)
        add(QueryWord(whole, (whole,), 1.0), [((BODY, token), _WORD) for token in (whole, *others)])
    return WeightedQuery(
        tuple(WeightedToken(*key, weight * times[key] ** 0.5) for key, weight in weights.items()),
        tuple(words.values()),
    )


_Weights: TypeAlias = list[tuple[tuple[Field, str], float]]


def _normalize(text: str) -> str:
    return join_contractions(text if text.isascii() else unicodedata.normalize("NFKC", text))


def _split_syllables(word: str) -> tuple[str, ...]:
    return (*map(str.__add__, word, word[1:]), *word)


# Words recur, so keeping their tokens pays (11,000 documents a second against 8,500). Longer ones do not.
_syllable_tokens = lru_cache(maxsize=131_072)(_split_syllables)


def _across(before: str, first: str) -> _Weights:
    """Neighbours across a space: as such, and joined, for a document that writes them as one word."""
    if not before:
        return []
    return [((BODY, before + first), _ACROSS), ((BODY, before + ACROSS + first), _ACROSS)]


def _syllabic_word(word: str) -> QueryWord:
    stem = word[: stem_length(word)]
    pairs = tuple(map(str.__add__, stem, stem[1:])) or (stem,)
    return QueryWord(stem, pairs, _KOREAN_FILLER if is_filler(word) else 1.0)


def _syllabic_weights(word: str, importance: float) -> _Weights:
    if len(word) == 1:
        return [((BODY, word), _SYLLABLE * importance)]
    inside = stem_length(word) - 1
    share = importance / inside**0.5
    weights: _Weights = [((INITIAL, word[:2]), _INITIAL * share)]
    for place, (left, right) in enumerate(pairwise(word)):
        if place < inside:
            weights.append(((BODY, left + right), share))
            weights.append(((BODY, left + ACROSS + right), _ACROSS * share))
        else:
            weights.append(((BODY, left + right), _ENDING * share))
    return weights


def _split_word(word: str) -> tuple[str, ...]:
    tokens = []
    for form in _forms(word):
        tokens.append(form)
        stem = light_stem(form)
        if stem != form:
            tokens.append(stem)
    return tuple(tokens)


_word_tokens = lru_cache(maxsize=65_536)(_split_word)


def _forms(word: str) -> Iterator[str]:
    """The word in lower case and, of an identifier, its parts: `getUserId`, `get_user_id`, `E1234`."""
    whole = word.strip("_").casefold()
    if not whole:
        return
    yield whole[:_LONGEST_WORD]
    if len(whole) <= _LONGEST_WORD and (not word.isalpha() or not (word[1:].islower() or len(word) == 1)):
        parts = _PART.findall(word)
        if len(parts) > 1:
            for part in parts:
                if len(part) > 1:
                    yield part.lower()


def _other_word(word: str) -> QueryWord:
    whole = next(_forms(word), "")
    return QueryWord(whole, (whole,) if whole else (), _ENGLISH_STOP if whole in STOP_WORDS else 1.0)


def _other_weights(word: str, importance: float) -> _Weights:
    weights: _Weights = []
    for form in _forms(word):
        stem = light_stem(form)
        if stem == form:
            weights.append(((BODY, form), _WORD * importance))
        else:
            weights.append(((BODY, form), _FORM * _WORD * importance))
            weights.append(((BODY, stem), _STEM * _WORD * importance))
    return weights


def _compound_tokens(compound: str) -> tuple[str, ...]:
    """The compound whole, joined (`gpt-4o` → `gpt4o`), and the compound names in a path (`main.py`)."""
    whole = compound.lower()[:_LONGEST_COMPOUND]
    tokens = [whole]
    names = _SLASH.split(whole)
    if len(names) > 1:
        tokens += [name for name in names if _COMPOUND.fullmatch(name)]
    elif (joined := _HYPHENS.sub("", whole)).isalnum():
        tokens.append(joined)
    return tuple(tokens)
