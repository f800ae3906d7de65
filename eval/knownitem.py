"""Queries made from a memory, which should find it again: the ways in which people's queries differ from text."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable
from typing import TypeAlias

import numpy as np

from indexes.types import Memory

HANGUL = re.compile(r"[가-힣]{2,}")
LATIN = re.compile(r"[A-Za-z][A-Za-z0-9]{2,}")
WORD = re.compile(r"[가-힣]{2,}|[A-Za-z][A-Za-z0-9]{2,}")
# snake_case, kebab or dotted with a digit or two parts, camelCase, a path, a ticket number
IDENTIFIER = re.compile(
    r"\b(?:[A-Za-z][A-Za-z0-9]*(?:[_/.][A-Za-z0-9]+)+|[a-z]+(?:[A-Z][a-z0-9]+)+|[A-Z]{2,6}-[0-9]{1,6})\b"
)
AGREEING = (("은", "는"), ("이", "가"), ("을", "를"), ("과", "와"), ("으로", "로"))
"""Particles that follow a closed or an open syllable."""
INVARIANT = ("에서", "에게", "까지", "부터", "처럼", "에", "의", "도", "만")
_PARTICLES = sorted({p for pair in AGREEING for p in pair} | set(INVARIANT), key=len, reverse=True)
WORDS_PER_QUERY = 3
TITLE_LENGTH = 80
_LEAST_STEM = 2

Rarity: TypeAlias = Counter[str]
Maker: TypeAlias = Callable[[Memory, Rarity, np.random.Generator], str | None]


def rarity(memories: Iterable[Memory]) -> Rarity:
    """In how many memories each word stands."""
    counts: Rarity = Counter()
    for memory in memories:
        counts.update({word.lower() for word in WORD.findall(memory.content)})
    return counts


def title(memory: Memory, _: Rarity, __: np.random.Generator) -> str | None:
    """The title, or else the first line, without Markdown's signs."""
    lines = (line.strip("#*->`| \t") for line in (memory.title, *memory.content.splitlines()))
    return next((line[:TITLE_LENGTH] for line in lines if WORD.search(line)), None)


def keywords(memory: Memory, counts: Rarity, rng: np.random.Generator) -> str | None:
    """The rarest words of one line, in their order."""
    lines = [line for line in memory.content.splitlines() if len(set(WORD.findall(line))) >= WORDS_PER_QUERY]
    if not lines:
        return None
    words = list(dict.fromkeys(WORD.findall(lines[rng.integers(len(lines))])))
    rare = sorted(words, key=lambda word: counts[word.lower()])[:WORDS_PER_QUERY]
    return " ".join(word for word in words if word in rare)


def particles(memory: Memory, counts: Rarity, rng: np.random.Generator) -> str | None:
    """Keywords with other particles than the text has."""
    base = keywords(memory, counts, rng)
    if base is None or not HANGUL.search(base):
        return None
    return " ".join(with_particle(stem(word), rng) if HANGUL.fullmatch(word) else word for word in base.split())


def spacing(memory: Memory, _: Rarity, rng: np.random.Generator) -> str | None:
    """Two neighbouring Hangul words written as one, or a long one written as two."""
    pairs = re.findall(r"(?=\b([가-힣]{2,}) ([가-힣]{2,})\b)", memory.content)
    long = [word for word in HANGUL.findall(memory.content) if len(word) >= 2 * _LEAST_STEM]
    options = [a + b for a, b in pairs] + [f"{word[: len(word) // 2]} {word[len(word) // 2 :]}" for word in long]
    return options[rng.integers(len(options))] if options else None


def decomposed(memory: Memory, counts: Rarity, rng: np.random.Generator) -> str | None:
    """Keywords in NFD, as macOS hands over file names."""
    base = keywords(memory, counts, rng)
    return unicodedata.normalize("NFD", base) if base is not None and HANGUL.search(base) else None


def mixed(memory: Memory, counts: Rarity, rng: np.random.Generator) -> str | None:
    """A Latin word with a Korean particle, and a Hangul word: "API는 배포"."""
    latin, hangul = LATIN.findall(memory.content), HANGUL.findall(memory.content)
    if not latin or not hangul:
        return None
    rare = min(latin, key=lambda word: counts[word.lower()])
    return f"{rare}{INVARIANT[rng.integers(len(INVARIANT))]} {stem(min(hangul, key=lambda word: counts[word]))}"


def identifier(memory: Memory, _: Rarity, rng: np.random.Generator) -> str | None:
    """A name from code, a path, or a ticket number."""
    names = list(dict.fromkeys(IDENTIFIER.findall(memory.content)))
    return names[rng.integers(len(names))] if names else None


KINDS: dict[str, Maker] = {
    "title": title,
    "keywords": keywords,
    "particles changed": particles,
    "spacing changed": spacing,
    "NFD": decomposed,
    "mixed script": mixed,
    "identifier": identifier,
}


def stem(word: str) -> str:
    """A Hangul word without its particle, if at least two syllables are left."""
    for particle in _PARTICLES:
        if word.endswith(particle) and len(word) - len(particle) >= _LEAST_STEM:
            return word[: -len(particle)]
    return word


def with_particle(word: str, rng: np.random.Generator) -> str:
    """A stem with a particle that fits its last syllable.

    로 also follows ㄹ; no other pair has such an exception.
    """
    final = (ord(word[-1]) - ord("가")) % 28
    choice = int(rng.integers(len(AGREEING) + len(INVARIANT)))
    if choice >= len(AGREEING):
        return word + INVARIANT[choice - len(AGREEING)]
    closed, opened = AGREEING[choice]
    rieul = 8  # the place of ㄹ among the final consonants
    return word + (opened if final == 0 or (opened == "로" and final == rieul) else closed)
