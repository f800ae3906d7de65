"""The types that storage, legs and everything above them share. All are frozen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

JSON: TypeAlias = "bool | int | float | str | list[JSON] | dict[str, JSON] | None"
MemoryType: TypeAlias = Literal["prompt", "response", "tool", "insight"]
MEMORY_TYPES: tuple[MemoryType, ...] = get_args(MemoryType)

Ids: TypeAlias = NDArray[np.int64]
Floats: TypeAlias = NDArray[np.float32]


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """One memory as the store holds it.

    `id` is `mem_` and a short hash of where the memory comes from. `timestamp` is aware (UTC). `position` orders
    memories of one session that share a timestamp. `rid` is the store's row number: what the indexes speak.
    """

    rid: int
    id: str
    content: str
    type: MemoryType
    timestamp: datetime
    session_id: str
    position: int
    title: str = ""
    parent_id: str | None = None
    project: str | None = None
    team_id: str | None = None
    task_id: str | None = None
    tags: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    metadata: Mapping[str, JSON] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Filter:
    """What a hit must satisfy, in the terms of the legs.

    Every group must be met; a group is met when the entry carries one of its facets (`"type=prompt"`,
    `"session=…"`, `"project=…"`, `"team=…"`, `"task=…"`, `"tag=…"`). Times are milliseconds since the epoch;
    `since_ms` is inclusive, `until_ms` exclusive.
    """

    groups: tuple[frozenset[str], ...] = ()
    since_ms: int | None = None
    until_ms: int | None = None

    def __bool__(self) -> bool:
        return bool(self.groups) or self.since_ms is not None or self.until_ms is not None


NO_FILTER = Filter()


@dataclass(frozen=True, slots=True)
class LexicalEntry:
    """A memory for the word leg: analyzed tokens (see `analyzer.DocumentTokens`), facets and time.

    `near` are body tokens of its neighbours, if it is a turn (see `turns`): they count less.
    """

    rid: int
    body: tuple[str, ...]
    initial: tuple[str, ...]
    facets: tuple[str, ...]
    timestamp_ms: int
    near: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class VectorEntry:
    """A memory for the vector leg: one row of `vectors` (n, d) and of `spans` (n, 2) for each of its passages.

    A span is the half-open range of characters of the memory's content that the passage covers.
    """

    rid: int
    vectors: Floats
    spans: NDArray[np.int32]
    facets: tuple[str, ...]
    timestamp_ms: int


@dataclass(frozen=True, slots=True)
class LexicalRanking:
    """Best first. `scores` are BM25; `coverage` in 0..1 is the exact idf-weighted part of the query that a hit holds.

    What only a turn's neighbours hold counts a third.

    `ceiling` bounds BM25 for this query from above, so that `scores / ceiling` is an absolute number in 0..1.
    """

    ids: Ids
    scores: Floats
    coverage: Floats
    ceiling: float


@dataclass(frozen=True, slots=True)
class DenseRanking:
    """Best first, one row per memory.

    `scores` are cosines of its best passage, `spans` (n, 2) say which that is, `passages` (n,) how many it has.

    `mean` and `deviation` describe the cosines of this query with the whole searched set: the background against
    which a cosine means something.
    """

    ids: Ids
    scores: Floats
    spans: NDArray[np.int32]
    passages: NDArray[np.int32]
    mean: float
    deviation: float
