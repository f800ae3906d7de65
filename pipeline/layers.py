"""The three layers, made of memories: a line, its surroundings, the whole."""

from __future__ import annotations

import re
from collections.abc import Sequence

from indexes.passages import split_passages
from indexes.store import Store
from indexes.tokens import estimate_tokens
from indexes.types import Memory
from pipeline.plaintext import clean, fold
from pipeline.results import DetailMetadata, FullDetail, Relations, SearchIndexItem, TimelineItem
from pipeline.summarizer import preview, summarize

_CODE = re.compile(r"^[ \t]*(```|~~~)|^(?: {4}|\t)\S", re.MULTILINE)


def index_item(memory: Memory, score: float, snippet: str | None = None) -> SearchIndexItem:
    """Layer 1: what is there."""
    summary = summarize(memory.content, memory.title)
    return SearchIndexItem(
        id=memory.id,
        summary=summary,
        score=round(score, 4),
        type=memory.type,
        timestamp=memory.timestamp,
        session_id=memory.session_id,
        snippet=snippet,
        whole=fold(clean(memory.content)) in (summary, (snippet or "")),
    )


def timeline(store: Store, targets: Sequence[Memory], window: int) -> list[TimelineItem]:
    """Layer 2: the targets and up to `window` memories on each side of each in its session, once, in time order."""
    wanted = {target.rid for target in targets}
    near = {memory.rid: memory for target in targets for memory in store.around(target, window)}
    ordered = sorted(near.values(), key=lambda m: (m.timestamp, m.session_id, m.position, m.rid))
    return [
        TimelineItem(
            id=memory.id,
            timestamp=memory.timestamp,
            type=memory.type,
            preview=preview(memory.content),
            is_target=memory.rid in wanted,
        )
        for memory in ordered
    ]


def telling_passage(content: str, terms: Sequence[tuple[float, Sequence[str]]]) -> tuple[int, int] | None:
    """The passage of `content` that holds the most of a query, the first of equals; None if none holds any of it.

    `terms` are its words: a weight, and the parts of which each counts as much.
    """
    best: tuple[float, tuple[int, int] | None] = (0.0, None)
    for passage in split_passages(content):
        text = content[passage.start : passage.end].casefold()
        held = sum(weight * sum(part in text for part in parts) / len(parts) for weight, parts in terms if parts)
        if held > best[0]:
            best = held, (passage.start, passage.end)
    return best[1]


def detail(store: Store, memory: Memory) -> FullDetail:
    """Layer 3: the whole memory. Related are those right before and after it that are not its parent or children."""
    parent = memory.parent_id if memory.parent_id and store.exists(memory.parent_id) else None
    children = store.children(memory.id)
    beside = [near.id for near in store.around(memory, 1) if near.rid != memory.rid]
    return FullDetail(
        id=memory.id,
        content=memory.content,
        type=memory.type,
        timestamp=memory.timestamp,
        session_id=memory.session_id,
        sources=store.paths_of(memory.rid),
        metadata=DetailMetadata(
            token_count=estimate_tokens(memory.content),
            has_code=bool(_CODE.search(memory.content)),
            files=list(memory.files) or None,
            tools=list(memory.tools) or None,
        ),
        relations=Relations(
            parent_id=parent,
            child_ids=children,
            related_ids=[other for other in beside if other != parent and other not in children],
        ),
    )
