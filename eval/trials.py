"""Trials: a query asked of a store, with what would be right, where the answer may be missing.

Four kinds of query. `answerable`: a labelled query of the set. `knockout`: the same, its relevant memories hidden, so that
the next best stands first (or a query of the sample set that nobody answered). `offtopic`: a query of a set of another
domain. `nonsense`: random letters. Each is asked of the whole store and of small ones, which are indexed anew, because
the words' weights and the background depend on what else a store holds.
"""

from __future__ import annotations

import json
import random
import tempfile
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, TypeVar, get_args

import numpy as np

from eval.corpus import IndexedSet, OnStep, indexed
from eval.datasets import SAMPLE, Dataset
from indexes.analyzer import WeightedQuery
from indexes.errors import EmbedderError
from indexes.legs import DenseLeg, LexicalLeg
from indexes.store import Store
from indexes.types import NO_FILTER, DenseRanking, Filter, Floats, Ids, LexicalEntry, LexicalRanking, VectorEntry
from pipeline import Settings
from pipeline.home import Home
from pipeline.legs import Legs
from pipeline.retriever import Rankings, Retriever

Kind = Literal["answerable", "knockout", "offtopic", "nonsense"]
KINDS: tuple[Kind, ...] = get_args(Kind)
WHOLE = "whole"
SMALL = {1: 16, 5: 12, 20: 8}
"""Memories of a small store: how many such stores of each set."""
MOST = 400
"""Labelled queries of a set that are tried; a set with more is thinned out evenly, so that none outweighs the others."""
SHARE = 0.25
"""Off-topic and nonsense queries for each labelled one."""
_DOMAINS = {"tydiqa_ko": "encyclopedia", "question_pair_ko": "life", "madial_en": "life"}
"""Sets whose queries are off the topic of the others; any set that is not named is about technical work."""
_ASKED_SMALL = 6
"""Queries of a small store that are answerable at most; as many without an answer there are asked beside them."""
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Trial:
    """One query asked: of which set, what kind, of which store (`whole`, or its number of memories).

    `relevant` are the rows that answer it, as far as the store holds them.
    """

    name: str
    kind: Kind
    store: str
    query: str
    rankings: Rankings
    relevant: frozenset[int]


def trials(dataset: Dataset, others: Sequence[Dataset], cache: Path, settings: Settings, on_step: OnStep) -> list[Trial]:
    """Every trial of a set; `others` lend the off-topic queries. The same call gives the same trials."""
    chance = random.Random(zlib.crc32(f"{dataset.name} {dataset.split}".encode()))  # noqa: S311 - no secret
    queries = [(key, text) for key, text in spread(list(dataset.queries.items()), MOST) if text.strip()]
    foreign = [text for other in others if _domain(other) != _domain(dataset) for text in other.queries.values()]
    count = max(8, round(len(queries) * SHARE))
    unanswered: list[tuple[Kind, str]] = [
        *(("offtopic", text) for text in chance.sample(foreign, min(count, len(foreign)))),
        *(("nonsense", nonsense(chance)) for _ in range(count)),
        *_unanswerable(dataset),
    ]
    with indexed(dataset, cache, settings, on_step) as here, _open(here.gieok.home, settings) as legs:
        rows = _Rows(here, legs)
        made = list(_ask(dataset.name, WHOLE, rows.retriever(), rows.labelled(queries), unanswered))
        for size, stores in SMALL.items():
            for number in range(stores):
                made += _small(rows, size, number % 2 == 1, queries, unanswered, chance)
    return made


def spread(items: Sequence[T], most: int) -> list[T]:
    """At most so many of the items, evenly spread over them."""
    return [items[i * len(items) // most] for i in range(most)] if len(items) > most else list(items)


def nonsense(chance: random.Random) -> str:
    """One to four words of random syllables, letters, jamo or figures."""
    alphabets = ("".join(map(chr, range(0xAC00, 0xD7A4))), "abcdefghijklmnopqrstuvwxyz", "ㄱㄴㄷㄹㅁㅂㅅㅎㅋㅏㅓㅗㅜㅣ", "0123456789abcdef")
    alphabet = chance.choice(alphabets)
    return " ".join(
        "".join(chance.choice(alphabet) for _ in range(chance.randint(2, 8))) for _ in range(chance.randint(1, 4))
    )
