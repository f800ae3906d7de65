"""The systems that are measured: each leg alone, plain fusion, and what the product does."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from eval.corpus import IndexedSet
from eval.measures import Run
from eval.plain import PlainBM25
from indexes.errors import EmbedderError
from pipeline import fusion
from pipeline.retriever import Rankings

WORDS, VECTORS, RRF, DEFAULT, PLAIN = "words", "vectors", "rrf", "default", "plain"
SYSTEMS = (WORDS, VECTORS, RRF, DEFAULT)
DEPTH = 100
"""How deep a leg is asked: twice the depth at which the legs are fused, so that `RR` and `fusion` see beyond it."""
RRF_K, RRF_DEPTH = 60.0, 50
"""The reference fusion: the k of Cormack, Clarke and Büttcher (SIGIR 2009), equal weights, the design's depth."""


@dataclass(frozen=True, slots=True)
class Legs:
    """Both legs of a query as the product ranked them, best first, with scores; and the product's own order."""

    words: fusion.Run
    vectors: fusion.Run
    order: tuple[int, ...]


def ask(indexed: IndexedSet) -> dict[str, Legs]:
    """Ask every query of a set once. Raises EmbedderError like `ask_one`."""
    return {key: ask_one(indexed, text) for key, text in indexed.dataset.queries.items()}


def ask_one(indexed: IndexedSet, query: str) -> Legs:
    """Ask both legs; an empty query finds nothing.

    Raises EmbedderError (a leg did not answer; a figure without it would go by a wrong name).
    """
    if not query.strip():
        nothing = fusion.Run(np.zeros(0, np.int64), np.zeros(0, np.float32), 1.0)
        return Legs(nothing, nothing, ())
    return _legs(indexed.gieok.rank(query, depth=DEPTH), query)


def _legs(rankings: Rankings, query: str) -> Legs:
    if rankings.words is None or rankings.vectors is None:
        leg = "word" if rankings.words is None else "vector"
        why = "; ".join(rankings.notices) or "it is switched off or empty"
        raise EmbedderError(f"The {leg} leg did not answer the query {query!r}: {why}")
    return Legs(
        fusion.Run(rankings.words.ids, rankings.words.scores, 1.0),
        fusion.Run(rankings.vectors.ids, rankings.vectors.scores, 1.0),
        tuple(rid for rid, _ in rankings.fused[:DEPTH]),
    )


def runs(indexed: IndexedSet, legs: Mapping[str, Legs], *, plain: bool = False) -> dict[str, Run]:
    """A run for each system, in the set's own ids. `plain` puts the reference without an analyzer first."""
    made: dict[str, Run] = {}
    if plain:
        reference = PlainBM25(indexed.dataset.documents)
        made[PLAIN] = reference.search_all(indexed.dataset.queries, DEPTH)
    made[WORDS] = {key: indexed.keys(leg.words.ids) for key, leg in legs.items()}
    made[VECTORS] = {key: indexed.keys(leg.vectors.ids) for key, leg in legs.items()}
    made[RRF] = {key: indexed.keys(fused(leg, k=RRF_K, depth=RRF_DEPTH)) for key, leg in legs.items()}
    made[DEFAULT] = {key: indexed.keys(leg.order) for key, leg in legs.items()}
    return made


def fused(legs: Legs, *, k: float, depth: int, words: float = 1.0, vectors: float = 1.0) -> list[int]:
    """The product's own reciprocal rank fusion of the legs, with other constants."""
    weighted = (
        fusion.Run(legs.words.ids, legs.words.scores, words),
        fusion.Run(legs.vectors.ids, legs.vectors.scores, vectors),
    )
    return [rid for rid, _ in fusion.reciprocal_rank_fusion(weighted, k=k, depth=depth)]
