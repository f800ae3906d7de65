"""Whether a hit has anything to do with a query.

Rank knows nothing of relevance: the best hit for nonsense is still a best hit. A hit counts if it holds enough of the
query's words, or is nearer to the query than noise: strings of random letters, which mean nothing. That works in small
stores and in any language, where a cosine by itself says little.

Measured with the bundled model on dev splits (the sample set, ai_interview_ko, madial_en, tech_interview_ko; 218
queries with a relevant memory among their first ten hits, 200 times a nonsense query with other strings than these): at
the defaults .5 % of those queries get no answer, 1.5 % of the nonsense gets one, and of 273 relevant hits none is left
out. A query off the store's topic often passes: this is a floor, no confidence.
"""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from indexes.embedder import Embedder
from indexes.types import Floats

WITNESSES = 10
"""Hits of which one must show evidence. Fixed, so that asking for fewer hits never turns an answer into none."""
_SEED = 7
_JAMO = "ㄱㄴㄷㄹㅁㅂㅅㅇㅈㅊㅋㅌㅍㅎ"
_LATIN = "abcdefghijklmnopqrstuvwxyz"


@dataclass(frozen=True, slots=True)
class Evidence:
    """What a hit shows of itself.

    `coverage` in 0..1 is the idf-weighted share of the query's words that it holds; `margin` is its cosine with the
    query minus the highest cosine of any noise with the query (NaN: no vector).
    """

    coverage: float
    margin: float

    def supports(self, *, min_coverage: float, min_margin: float) -> bool:
        """Whether either is enough."""
        if math.isnan(self.margin):
            # Without a vector any of the query's words is enough: where a phrase stands in every memory, its words
            # weigh nearly nothing, and coverage says little.
            return self.coverage > 0
        return self.coverage >= min_coverage or self.margin >= min_margin


def supported(
    rids: Sequence[int],
    evidence: Mapping[int, Evidence],
    *,
    min_coverage: float,
    answer_margin: float,
    hit_margin: float,
) -> list[int]:
    """Those of `rids`, best first, that show evidence; none if none of the first `WITNESSES` shows it clearly."""

    def supports(rid: int, margin: float) -> bool:
        return evidence[rid].supports(min_coverage=min_coverage, min_margin=margin)

    if not any(supports(rid, answer_margin) for rid in rids[:WITNESSES]):
        return []
    return [rid for rid in rids if supports(rid, hit_margin)]


def noise_texts() -> list[str]:
    """The strings that mean nothing: random syllables, letters and jamo; always the same ones."""
    chance = random.Random(_SEED)  # noqa: S311 - no secret is made of it

    def word(alphabet: str, shortest: int, longest: int) -> str:
        return "".join(chance.choice(alphabet) for _ in range(chance.randint(shortest, longest)))

    syllables = "".join(map(chr, range(0xAC00, 0xD7A4)))
    kinds = [(syllables, 2, 4)] * 20 + [(_LATIN, 3, 8)] * 20 + [(_JAMO, 2, 5)] * 6
    return [" ".join(word(*kind) for _ in range(chance.randint(1, 4))) for kind in kinds]


def noise_vectors(embedder: Embedder, kept: Path) -> Floats:
    """The noise as passages, (n, d) of unit length; kept in a file, which is made anew for another model."""
    known = _kept_noise(embedder, kept)
    if known is not None:
        return known
    vectors = embedder.embed_passages(noise_texts())
    fresh = kept.with_suffix(f".{random.randrange(1 << 32):08x}.npz")  # noqa: S311
    try:
        np.savez(fresh, model=np.array(embedder.name), vectors=vectors)
        fresh.chmod(0o600)
        fresh.replace(kept)
    except OSError:
        fresh.unlink(missing_ok=True)  # a folder that can't be written: the next process makes it again
    return vectors


def _kept_noise(embedder: Embedder, kept: Path) -> Floats | None:
    """The file's vectors; None if it is not there yet, of another model or damaged: it is quickly made again."""
    if not kept.is_file():  # also a pipe, which would never answer
        return None
    try:
        with kept.open("rb") as raw, np.load(raw) as file:
            model, vectors = str(file["model"]), file["vectors"]
    except Exception:  # whatever zipfile, zlib or numpy make of damaged bytes
        return None
    fits = vectors.shape == (len(noise_texts()), embedder.dimensions) and vectors.dtype == np.float32
    return vectors if model == embedder.name and fits and bool(np.isfinite(vectors).all()) else None
