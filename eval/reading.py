"""What an agent reads for one query, and what it costs: everything at once, or an index and then details one by one."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Protocol

import numpy as np

from eval.corpus import IndexedSet
from eval.schema import Progressive, Side, TokenRow
from eval.tokens import count_tokens
from pipeline.markdown import details_markdown, search_markdown
from pipeline.results import SearchIndexItem

# Reading in layers needs two tools more than a search that returns everything. Until the product publishes its own
# definitions, these stand for them: the shortest that an agent could work with.
LAYER_TOOLS = json.dumps(
    [
        {
            "name": "show",
            "description": "Read memories by the ids that a search lists; with a query, the part that matches it.",
            "inputSchema": {
                "type": "object",
                "properties": {
                    "ids": {"type": "array", "items": {"type": "string"}},
                    "query": {"type": "string"},
                },
            },
        },
        {
            "name": "timeline",
            "description": "See what happened just before and after memories, by the ids that a search lists.",
            "inputSchema": {
                "type": "object",
                "properties": {
                    "ids": {"type": "array", "items": {"type": "string"}},
                    "window": {"type": "integer", "description": "neighbours on each side"},
                },
            },
        },
    ],
    separators=(",", ":"),
)
SEPARATOR = "\n\n"
"""Between the texts of the legacy way: the cheapest that keeps them apart, in its favour."""


class Strategy(Protocol):
    """Which details an agent opens after it has seen the index, in order. Another way of expansion is another one."""

    name: str

    def order(self, index: Sequence[SearchIndexItem]) -> Iterable[str]:
        """Ids in the order of opening."""


class ScoreOrder:
    """Opens from the top down."""

    name = "score order"

    def order(self, index: Sequence[SearchIndexItem]) -> Iterator[str]:
        """The ids as they are listed, best score first."""
        return (item.id for item in sorted(index, key=lambda item: -item.score))


@dataclass(frozen=True, slots=True)
class Reading:
    """One query at one k, in exact tokens.

    `contents` are the whole texts of the hits, as legacy gives them; `details` and `calls` what opening costs, in the
    order of opening, and `hits` whether that memory is relevant. A memory that its line in the index gives whole is not
    opened: it costs nothing more. `relevant` counts the relevant memories of the query.
    """

    k: int
    index: int
    contents: tuple[int, ...]
    details: tuple[int, ...]
    calls: tuple[int, ...]
    hits: tuple[bool, ...]
    relevant: int

    @property
    def legacy(self) -> int:
        """Tokens of the whole top k at once."""
        return sum(self.contents) + separator_tokens() * max(0, len(self.contents) - 1)

    def opened(self, wanted: int) -> int:
        """How many details are opened until `wanted` relevant ones are read: all of them if there are fewer."""
        found = np.flatnonzero(self.hits)
        return int(found[wanted - 1]) + 1 if len(found) >= wanted else len(self.hits)

    def opening(self, count: int) -> int:
        """Tokens of the first `count` openings, the calls included."""
        return sum(self.details[:count]) + sum(self.calls[:count])


def read(here: IndexedSet, ks: Sequence[int], strategy: Strategy) -> dict[int, list[Reading]]:
    """Ask every query of a set for its top k, for each of `ks`, and price both ways."""
    readings: dict[int, list[Reading]] = {k: [] for k in ks}
    for key, text in here.dataset.queries.items():
        for k in ks:  # in turn, while the query's vector is remembered
            readings[k].append(_reading(here, text, here.dataset.qrels[key], k, strategy))
    return readings


def _reading(here: IndexedSet, query: str, qrels: Mapping[str, int], k: int, strategy: Strategy) -> Reading:
    if not query.strip():
        return Reading(k, 0, (), (), (), (), len(qrels))
    gieok = here.gieok
    answer = gieok.find(query, layer=1, top_k=k)
    order = list(strategy.order(answer.result.index))
    texts = gieok.get_details(order) if order else []
    parts = gieok.get_details(order, query) if order else []
    whole = {item.id for item in answer.result.index if item.whole}
    documents = here.keys_of(order)
    return Reading(
        k=k,
        index=count_tokens(search_markdown(answer, gieok.short_id)),
        contents=tuple(_tokens(detail.content) for detail in texts),
        details=tuple(0 if part.id in whole else _tokens(details_markdown([part], gieok.short_id)) for part in parts),
        calls=tuple(
            0 if memory_id in whole else count_tokens(call(gieok.short_id(memory_id), query)) for memory_id in order
        ),
        hits=tuple(document in qrels for document in documents),
        relevant=len(qrels),
    )


def call(memory_id: str, query: str) -> str:
    """What an agent writes to open the part of one detail that matches its query."""
    arguments = {"ids": [memory_id], "query": query}
    return json.dumps({"name": "show", "arguments": arguments}, separators=(",", ":"), ensure_ascii=False)


@cache
def separator_tokens() -> int:
    """Tokens between two texts of the legacy way."""
    return count_tokens(SEPARATOR)


@cache
def schema_tokens() -> int:
    """Tokens of the definitions that reading in layers needs beyond a plain search."""
    return count_tokens(LAYER_TOOLS)


@cache
def _tokens(text: str) -> int:
    """`count_tokens`, remembered: the same memory is a hit of many queries."""
    return count_tokens(text)


def row(
    name: str, readings: Sequence[Reading], *, wanted: int = 1, how: str, claimed: tuple[int, int] | None = None
) -> TokenRow:
    """Both ways over the same queries, the progressive reader stopping at `wanted` relevant memories."""
    opened = [reading.opened(wanted) for reading in readings]
    legacy = [reading.legacy for reading in readings]
    parts = {
        "index_tokens": [reading.index for reading in readings],
        "call_tokens": [sum(r.calls[:n]) for r, n in zip(readings, opened, strict=True)],
        "detail_tokens": [sum(r.details[:n]) for r, n in zip(readings, opened, strict=True)],
        "schema_tokens": [schema_tokens()] * len(readings),
    }
    progressive = np.sum(list(parts.values()), axis=0)
    seen = [r.hits[:n] for r, n in zip(readings, opened, strict=True)]
    first = [schema_tokens() + r.index + r.opening(r.opened(1)) for r in readings if any(r.hits)]
    return TokenRow(
        name=name,
        k=readings[0].k,
        queries=len(readings),
        how=how,
        legacy=Side(**_costs(legacy), **_evidence([r.hits for r in readings], readings)),
        progressive=Progressive(
            **_costs(progressive.tolist()),
            **_evidence(seen, readings),
            **{part: float(np.mean(tokens)) for part, tokens in parts.items()},
            opened=float(np.mean(opened)),
            tokens_to_evidence=float(np.mean(first)) if first else None,
        ),
        claimed=claimed,
    )


def _costs(tokens: Sequence[int]) -> dict[str, float]:
    return {"tokens": float(np.mean(tokens)), "p95_tokens": float(np.quantile(tokens, 0.95))}


def _evidence(seen: Sequence[Sequence[bool]], readings: Sequence[Reading]) -> dict[str, float]:
    return {
        "evidence": float(np.mean([any(hits) for hits in seen])),
        "recall": float(np.mean([sum(hits) / r.relevant for hits, r in zip(seen, readings, strict=True)])),
    }
