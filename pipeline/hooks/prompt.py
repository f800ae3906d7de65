"""The prompt hook: what memory says about a prompt, before the agent reads it."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from indexes.errors import GieokError
from pipeline.budget import cost
from pipeline.filters import SearchFilter
from pipeline.gieok import Gieok
from pipeline.hooks import seen as far
from pipeline.hooks.given import Given
from pipeline.hooks.limits import MOST_CHARACTERS
from pipeline.hooks.log import note
from pipeline.hooks.query import query_of
from pipeline.hooks.reply import Reply
from pipeline.hooks.seen import Seen
from pipeline.markdown import search_markdown
from pipeline.options import SmartSearchOptions
from pipeline.settings import Settings
from pipeline.sources.own import OWN_CLOSE

if TYPE_CHECKING:
    from pipeline.results import Answer, SearchResult

EVENT = "UserPromptSubmit"
_MORE_HITS = 40
_RESERVE = 0.15
"""Seconds that a search with vectors takes once the model is loaded, generously."""


def answer_prompt(given: Given, home: Path, settings: Settings, reply: Reply) -> None:
    """Search by words, which is quick, and offer that; then with vectors, if the model is there in time.

    Raises GieokError, NoStoreError among them.
    """
    query = query_of(given.prompt)
    if not query:
        return
    seen = Seen.of(home, given.session_id)
    by_words = settings.model_copy(update={"embedder": settings.embedder.model_copy(update={"model": "none"})})
    with Gieok.open(home, by_words, create=False) as words:
        found = _found(words, query, given, seen)
    if found is not None:
        reply.offer(EVENT, found[0])
    if settings.embedder.model == "none":
        _finish(reply, found, None, seen)
        return
    with Gieok.open(home, settings, create=False) as memory:
        ready = threading.Event()
        # Not sooner: an import that hangs in one thread can hold up the others. (ONNX Runtime reads the model since the
        # settings are known, which imports nothing else.)
        threading.Thread(target=_load, args=(memory, ready.set), daemon=True).start()
        if ready.wait(max(0.0, reply.left - _RESERVE)):
            _finish(reply, _found(memory, query, given, seen), None, seen)
        else:
            late = "The model did not load in time (hooks.timeout); words alone were searched."
            note(home, "user-prompt-submit", late)
            _finish(reply, None, found, seen)
            os._exit(0)  # the thread that hangs can't be ended otherwise


def _load(memory: Gieok, ready: Callable[[], None]) -> None:
    with suppress(GieokError):  # the search finds it out, too, and says so
        memory.warm_up()
    ready()


def _finish(
    reply: Reply, better: tuple[str, SearchResult] | None, offered: tuple[str, SearchResult] | None, seen: Seen
) -> None:
    """Remember what is in the answer, then give it: this process may be ended as soon as it has."""
    chosen = better or offered
    if chosen is not None:
        _remember(chosen[1], seen)
        with suppress(OSError):  # a home that can't be written: it may be said again
            seen.save()
    if better is not None:
        reply.give(EVENT, better[0])
    elif offered is not None:
        reply.done()
    else:
        reply.nothing()


def _found(memory: Gieok, query: str, given: Given, seen: Seen) -> tuple[str, SearchResult] | None:
    """The text to inject and what is in it; None if there is nothing, or nothing new."""
    settings = memory.settings
    where = SearchFilter(project=given.project) if settings.hooks.this_project and given.project else None
    tokens = min(settings.hooks.max_tokens, settings.budget.max_total_tokens)
    top_k = settings.layer1.top_k
    while True:
        options = SmartSearchOptions(top_k=top_k, max_total_tokens=tokens, filter=where)
        answer = memory.smart_search(query, options, form="markdown")
        left = _fresh(answer, given, seen, settings.layer1.top_k)
        known = len(answer.result.index) - len(left.result.index)
        if known and top_k == settings.layer1.top_k:
            top_k += min(known, _MORE_HITS)  # others move up
            continue
        if not left.result.index:
            return None
        text = _text(memory, left)
        if len(text) <= MOST_CHARACTERS:
            return text, left.result
        tokens = tokens * 2 // 3


def _fresh(answer: Answer, given: Given, seen: Seen, top_k: int) -> Answer:
    """Without what the agent has before it: what was injected already, and this session itself."""
    result = answer.result
    # After a compaction the session's own beginnings are news to the agent.
    own = {item.id for item in result.index if item.session_id == given.session_id and not seen.compacted}
    details = [item for item in result.details or () if item.id not in own and not seen.knows(item.id, far.WHOLE)]
    targets = [item.id for item in result.timeline or () if item.is_target and item.id not in own]
    around = result.timeline if any(not seen.knows(name, far.SURROUNDINGS) for name in targets) else None
    opened = {item.id for item in details} | ({*targets} if around else set())
    index = [
        item for item in result.index if item.id not in own and (item.id in opened or not seen.knows(item.id, far.LINE))
    ][:top_k]
    meta = result.meta.model_copy(update={"total_matches": len(index), "expanded_count": len(opened)})
    kept = {"index": index, "timeline": around, "details": details or None, "meta": meta}
    return answer.model_copy(update={"result": result.model_copy(update=kept)})


def _text(memory: Gieok, answer: Answer) -> str:
    text = search_markdown(answer, memory.short_id, zone=memory.settings.time.tzinfo()).rstrip()
    meta = answer.result.meta
    counts = f"*matchCount: {meta.total_matches}, expandedCount: {meta.expanded_count}, estimatedTokens: "
    body = f"{text.removesuffix(OWN_CLOSE)}\n{counts}"
    return f"{body}{cost(f'{body}0000*{OWN_CLOSE}')}*\n{OWN_CLOSE}"


def _remember(result: SearchResult, seen: Seen) -> None:
    for item in result.index:
        seen.add(item.id, far.LINE)
    for near in result.timeline or ():
        seen.add(near.id, far.SURROUNDINGS if near.is_target else far.LINE)
    for detail in result.details or ():
        seen.add(detail.id, far.WHOLE)
