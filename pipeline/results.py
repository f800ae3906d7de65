"""What a search gives back: the three layers, their frame, and the reports of indexing and status.

Python names are snake_case. `to_json` writes the camelCase names of the specification and leaves out what is absent.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, PlainSerializer
from pydantic.alias_generators import to_camel

from indexes.types import MemoryType


def _iso(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


Timestamp = Annotated[datetime, PlainSerializer(_iso, when_used="json")]


class Result(BaseModel):
    """Base of everything that is handed out: frozen, and JSON in the specification's names."""

    model_config = ConfigDict(frozen=True, alias_generator=to_camel, populate_by_name=True, extra="forbid")

    def to_json(self, *, indent: int | None = None) -> str:
        """The JSON of the specification: camelCase, UTC times that end in Z, no keys for what is absent."""
        return self.model_dump_json(by_alias=True, exclude_none=True, indent=indent)


class SearchIndexItem(Result):
    """Layer 1: one line about a hit. `summary` has at most 100 characters, `score` lies in 0..1.

    `snippet` (at most 200 characters around what matched) is there when layer 2 of a search was asked for. `whole` says
    that the line is all there is, so that nothing is gained by opening it; it is not in the JSON.
    """

    id: str
    summary: str
    score: float
    type: MemoryType
    timestamp: Timestamp
    session_id: str
    snippet: str | None = None
    whole: bool = Field(default=False, exclude=True)


class TimelineItem(Result):
    """Layer 2: a memory near a target in its session. `preview` has at most 200 characters."""

    id: str
    timestamp: Timestamp
    type: MemoryType
    preview: str
    is_target: bool


class DetailMetadata(Result):
    """`token_count` is estimated; `files` and `tools` are those that the memory touched."""

    token_count: int
    has_code: bool
    files: list[str] | None = None
    tools: list[str] | None = None


class Relations(Result):
    """Ids of the memories this one belongs to, those that belong to it, and those beside it in its session."""

    parent_id: str | None = None
    child_ids: list[str]
    related_ids: list[str]


class FullDetail(Result):
    """Layer 3: the whole memory. `sources` are the files that hold it, for people: they are not in the JSON."""

    id: str
    content: str
    type: MemoryType
    timestamp: Timestamp
    session_id: str
    metadata: DetailMetadata
    relations: Relations
    sources: list[str] = Field(default_factory=list, exclude=True)


class LegacyHit(Result):
    """A hit as `search` gives it: the whole content at once."""

    id: str
    content: str
    score: float
    type: MemoryType
    timestamp: Timestamp
    session_id: str


class SearchMeta(Result):
    """Figures of a search.

    `total_matches` counts the hits (up to top_k), before a budget leaves any out; `expanded_count` the memories of
    which more than a line is given; `estimated_tokens` is for what is returned, in the form that was asked for.
    """

    total_matches: int
    expanded_count: int
    estimated_tokens: int
    expansion_reason: str | None = None


class SearchResult(Result):
    """An answer: the index always, timeline and details where asked for."""

    index: list[SearchIndexItem]
    timeline: list[TimelineItem] | None = None
    details: list[FullDetail] | None = None
    meta: SearchMeta


class Answer(Result):
    """A search result with what belongs beside it.

    `notices` say what limits the answer (vectors that lag, a leg that is off). When nothing was found, `reason` says
    why and `advice` what to do next; with hits, `advice` is the next step.
    """

    result: SearchResult
    notices: list[str]
    reason: str | None = None
    advice: str | None = None


class Failure(Result):
    """An input that could not be indexed, and why."""

    path: str
    reason: str


class IndexReport(Result):
    """What `index` did, in files: new, changed, unchanged, gone, failed. `memories` counts what they hold now.

    `moved` files are among the skipped: their memories kept their ids. `passed_over` counts files in folders that are
    no notes by their suffix; name such a file to index it. `forgotten` counts memories that were left out because the
    user had them forgotten. `notices` say what was cut, guessed or
    skipped inside files that were otherwise indexed.
    """

    indexed: int
    updated: int
    skipped: int
    removed: int
    moved: int
    passed_over: int = 0
    forgotten: int = 0
    failed: list[Failure]
    notices: list[Failure]
    memories: int
    vectors_pending: int


class LegStatus(Result):
    """A derived index: how many memories it holds, how many changes it lags, and what is wrong with it if anything."""

    memories: int
    pending: int
    bytes: int
    problem: str | None = None


class CacheStatus(Result):
    """A cache of this process: entries kept, answers given from it, answers that had to be made."""

    entries: int
    hits: int
    misses: int


class Status(Result):
    """State of a store.

    `order` is how the legs are joined: "evidence", or "rrf" where that is set or needed. `scores` says whether a score
    is a promise here. `caches` are by layer, of the process that asks.
    """

    home: str
    version: str
    memories: int
    sources: int
    sessions: int
    by_type: dict[str, int]
    bytes: int
    words: LegStatus
    vectors: LegStatus
    model: str
    analyzer: str
    order: str
    scores: str = ""
    caches: dict[str, CacheStatus] = Field(default_factory=dict)
