"""Trials: a query asked of a store, with what would be right, where the answer may be missing.

Four kinds of query. `answerable`: a labelled query of the set. `knockout`: the same, its relevant memories hidden, so
that the next best stands first (or a query of the sample set that nobody answered). `offtopic`: a query of a set of
another domain. `nonsense`: random letters. They are asked of the whole store and of small ones, which are indexed
anew, because the weights of words and the background depend on what else a store holds.
"""

from __future__ import annotations

import json
import random
import tempfile
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, TypeVar, get_args

from eval.corpus import IndexedSet, OnStep, indexed
from eval.datasets import SAMPLE, Dataset, Document
from eval.hiding import HiddenVectors, HiddenWords
from eval.stored import all_memories
from indexes.rows import facets, to_ms
from indexes.store import Store
from indexes.types import VectorEntry
from pipeline import Settings
from pipeline.home import Home
from pipeline.legs import Legs
from pipeline.retriever import Rankings, Retriever

Kind = Literal["answerable", "knockout", "offtopic", "nonsense"]
KINDS: tuple[Kind, ...] = get_args(Kind)
WHOLE = "whole"
SMALL = {1: 16, 5: 12, 20: 8}
"""Memories of a small store: how many such stores are made of each set."""
MOST = 1000
"""Labelled queries of a set that are tried; those of a larger set are thinned out evenly."""
SHARE = 0.25
"""Off-topic and nonsense queries for each labelled one."""
DEPTH = 60
"""How deep the legs are asked: what the order looks at."""
_DOMAINS = {"tydiqa_ko": "encyclopedia", "question_pair_ko": "life", "madial_en": "life"}
"""Sets of one domain lend each other no off-topic queries; a set that is not named is about technical work."""
_BESIDE = 6
"""Other labelled queries that a small store is asked, and as many again whose answer it lacks."""
_ALPHABETS = (
    "".join(map(chr, range(0xAC00, 0xD7A4))),
    "abcdefghijklmnopqrstuvwxyz",
    "ㄱㄴㄷㄹㅁㅂㅅㅎㅋㅏㅓㅗㅜㅣ",
    "0123456789abcdef",
)
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Trial:
    """One query asked: of which set, what kind, of which store (`whole`, or its number of memories).

    `relevant` are the rows that answer it, as far as the store holds them; `order` names the order of the hits.
    """

    name: str
    kind: Kind
    store: str
    query: str
    rankings: Rankings
    relevant: frozenset[int]
    order: str


class _Asked:
    """A store that is asked: a set's own, or a small one that takes model and vectors from the set's own."""

    def __init__(
        self, name: str, here: IndexedSet, legs: Legs, settings: Settings, whole: _Asked | None = None
    ) -> None:
        self.here, self.legs, self.settings = here, legs, settings
        self.name, self._store = name, WHOLE if whole is None else str(len(here.dataset.documents))
        self._model = legs if whole is None else whole.legs  # loading it anew for each store takes longer than asking
        self._memories = all_memories(here.gieok.home)
        self._rids = {str(memory.metadata["key"]): memory.rid for memory in self._memories}
        if whole is not None:
            self._take_vectors(whole)

    def ask(self, kind: Kind, query: str, right: Iterable[str] = ()) -> Trial:
        """Ask a query that the documents `right` answer; for a knock-out these are hidden."""
        relevant = frozenset(self._rids[key] for key in right if key in self._rids)
        words, vectors = self.legs.words, self.legs.vectors
        if kind == "knockout" and relevant:
            words = HiddenWords(words, relevant) if words is not None else None
            vectors = HiddenVectors(vectors, relevant) if vectors is not None else None
            relevant = frozenset()
        retriever = Retriever(words, vectors, self._model.embedder, self._model.noise, self.settings)
        rankings = retriever.rank(query, depth=DEPTH)
        return Trial(self.name, kind, self._store, query, rankings, relevant, retriever.order_name)

    def _take_vectors(self, whole: _Asked) -> None:
        theirs, ours = whole.legs.vectors, self.legs.vectors
        if theirs is None or ours is None:
            return
        entries = []
        for memory in self._memories:
            kept = theirs.stored(whole._rids[str(memory.metadata["key"])])
            if kept is not None:
                entries.append(VectorEntry(memory.rid, *kept, facets(memory), to_ms(memory.timestamp)))
        ours.apply(entries, (), max(memory.rid for memory in self._memories))


def trials(
    dataset: Dataset, others: Sequence[Dataset], cache: Path, settings: Settings, on_step: OnStep = lambda _: None
) -> list[Trial]:
    """Every trial of a set; `others` lend the off-topic queries. The same call gives the same trials."""
    chance = random.Random(zlib.crc32(f"{dataset.name} {dataset.split}".encode()))  # noqa: S311 - no secret
    keys = spread([key for key, text in dataset.queries.items() if text.strip()], MOST)
    foreign = [text for other in others if _domain(other) != _domain(dataset) for text in other.queries.values()]
    count = max(8, round(len(keys) * SHARE))
    without = _unanswerable(dataset)
    without += [("offtopic", text) for text in chance.sample(foreign, min(count, len(foreign)))]
    without += [("nonsense", nonsense(chance)) for _ in range(count)]
    with indexed(dataset, cache, settings, on_step) as here, _legs(here, settings) as legs:
        whole = _Asked(dataset.name, here, legs, settings)
        made = [
            whole.ask(kind, dataset.queries[key], dataset.qrels[key])
            for key in keys
            for kind in ("answerable", "knockout")
        ]
        made += [whole.ask(kind, text) for kind, text in without]
        for size, stores in SMALL.items():
            for number in range(stores):
                made += _small(whole, size, number % 2 == 1, keys, without, chance)
    return made


def _small(
    whole: _Asked,
    size: int,
    near: bool,
    keys: Sequence[str],
    without: Sequence[tuple[Kind, str]],
    chance: random.Random,
) -> Iterator[Trial]:
    """Trials of a small store that is made around one query, the anchor."""
    dataset = whole.here.dataset
    anchor = chance.choice(keys)
    documents = _chosen(whole, anchor, size, near, chance)
    part = replace(dataset, documents=documents)
    held = {document.id for document in documents}
    answered = [key for key in keys if not held.isdisjoint(dataset.qrels[key])]
    others = [key for key in keys if key not in answered]
    asked = dict.fromkeys([anchor] * (anchor in answered) + answered[:_BESIDE])
    missing = dict.fromkeys([anchor] * (anchor in others) + chance.sample(others, min(_BESIDE, len(others))))
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        here = stack.enter_context(indexed(part, folder, whole.settings, vectors=False))
        small = _Asked(dataset.name, here, stack.enter_context(_legs(here, whole.settings)), whole.settings, whole)
        for key in asked:
            yield small.ask("answerable", dataset.queries[key], dataset.qrels[key])
            if size > 1:
                yield small.ask("knockout", dataset.queries[key], dataset.qrels[key])
        for key in missing:
            yield small.ask("knockout", dataset.queries[key])
        for kind, text in chance.sample(without, min(_BESIDE, len(without))):
            yield small.ask(kind, text)


def _chosen(whole: _Asked, anchor: str, size: int, near: bool, chance: random.Random) -> tuple[Document, ...]:
    """The anchor's answer, and others by chance or those most like it; a near store of one is its best wrong hit."""
    dataset = whole.here.dataset
    documents = {document.id: document for document in dataset.documents}
    right = [key for key in dataset.qrels[anchor] if key in documents][:1]
    beside = chance.sample(sorted(documents), min(size, len(documents)))
    if near:
        found = whole.ask("knockout", dataset.queries[anchor], dataset.qrels[anchor]).rankings.fused
        beside = whole.here.keys(rid for rid, _ in found) or beside
        right = right if size > 1 else []
    return tuple(documents[key] for key in list(dict.fromkeys([*right, *beside]))[:size])


@contextmanager
def _legs(here: IndexedSet, settings: Settings) -> Iterator[Legs]:
    """The indexes of a store beside the facade's own, so that memories can be hidden from a search."""
    home = Home(here.gieok.home)
    with closing(Store(home.store)) as store, closing(Legs(home, store, settings)) as legs:
        yield legs


def _unanswerable(dataset: Dataset) -> list[tuple[Kind, str]]:
    """The sample set's own queries without an answer: every second one for dev, the others for test."""
    if dataset.path.resolve() != SAMPLE:
        return []
    kinds: dict[str, Kind] = {"offtopic": "offtopic", "nonsense": "nonsense", "knockout-like": "knockout"}
    rows = [json.loads(line) for line in (SAMPLE / "unanswerable.jsonl").read_text(encoding="utf-8").splitlines()]
    chosen = rows[0 if dataset.split == "dev" else 1 :: 2]
    return [(kinds[row["metadata"]["kind"]], str(row["text"])) for row in chosen]


def spread(items: Sequence[T], most: int) -> list[T]:
    """At most so many of the items, evenly spread over them."""
    return [items[i * len(items) // most] for i in range(most)] if len(items) > most else list(items)


def nonsense(chance: random.Random) -> str:
    """One to four words of random syllables, letters, jamo or figures."""
    alphabet = chance.choice(_ALPHABETS)
    return " ".join(
        "".join(chance.choice(alphabet) for _ in range(chance.randint(2, 8))) for _ in range(chance.randint(1, 4))
    )


def _domain(dataset: Dataset) -> str:
    return _DOMAINS.get(dataset.name, "technical work")
