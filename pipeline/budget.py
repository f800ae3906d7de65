"""As much of an answer as its token budget holds: index lines first, then the timeline, then details.

The budget counts everything that is handed over: tables, hints and notices, too. So each step writes the whole answer
and measures it. A detail that doesn't fit is cut to the part that matches the query, with marks, before it is left out.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from indexes.errors import UsageError
from indexes.passages import Passage, split_passages
from indexes.tokens import estimate_tokens
from pipeline.plaintext import floor_boundary
from pipeline.results import FullDetail, SearchIndexItem, TimelineItem

SAFETY = 0.8
"""The part of a budget that estimated tokens may fill. The worst underestimate that docs/tokens.md knows is 20 %
(drawn tables; 17 % in prose), and a budget is a promise."""
_USUAL_SYLLABLES = bytes(
    byte for lead in range(0xB0, 0xC9) for trail in range(0xA1, 0xFF) for byte in (lead, trail)
).decode("euc-kr")
"""The 2,350 syllables of KS X 1001, which is all that ordinary Korean is written in."""
_EXTRA: tuple[tuple[re.Pattern[str], float], ...] = (
    (re.compile(r"mem_[a-z2-7]{12}"), 0.15),  # a full id: 9.0 tokens on average, estimated as 6.7
    (re.compile(r"[a-z]{16,}"), 0.5),  # no word is so long: the estimate takes it for one, a tokenizer cuts it up
    (re.compile(r"[A-Z]{12,}"), 0.35),
    (re.compile(r"[0-9]{7,}"), 0.25),  # o200k takes three digits at a time
    (re.compile(rf"(?![{_USUAL_SYLLABLES}])[가-힣]"), 1.8),
)
"""What the estimate lacks in text that its documents hardly hold, in tokens a character, measured with o200k."""
SMALLEST_CUT = 40
"""Estimated tokens below which a part of a detail tells no more than its line in the index."""

_TRIES = 6


def cost(text: str) -> int:
    """Estimated tokens of an answer. Ids, long runs and rare syllables, which the estimate undercounts, cost more."""
    extra = sum(each * sum(map(len, runs)) for pattern, each in _EXTRA if (runs := pattern.findall(text)))
    return round(estimate_tokens(text) + extra)


@dataclass(frozen=True, slots=True)
class Selection:
    """Parts of an answer, and what the budget took away from it.

    `hits_cut` and `near_cut` count index and timeline lines that are left out; `shortened` and `left_out` name details.
    """

    index: tuple[SearchIndexItem, ...] = ()
    timeline: tuple[TimelineItem, ...] = ()
    details: tuple[FullDetail, ...] = ()
    hits_cut: int = 0
    near_cut: int = 0
    shortened: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()

    def first(self, count: int) -> Selection:
        """The first `count` index lines and nothing else."""
        return Selection(
            index=self.index[:count],
            hits_cut=len(self.index) - count,
            near_cut=len(self.timeline),
            left_out=tuple(detail.id for detail in self.details),
        )

    def cut(self, limit: int | None, short: Callable[[str], str]) -> str | None:
        """What the budget of `limit` tokens took away, for people; `short` shortens ids."""
        lost = []
        if self.hits_cut:
            lost.append(f"{self.hits_cut} more {'hit' if self.hits_cut == 1 else 'hits'}")
        if self.near_cut:
            lost.append(f"{self.near_cut} {'line' if self.near_cut == 1 else 'lines'} of the timeline")
        if self.left_out and self.hits_cut:  # where even hits have no room, names have none
            lost.append("details")
        elif self.left_out:
            lost.append(f"details of {', '.join(map(short, self.left_out))}")
        said = [f"left out: {', '.join(lost)}"] if lost else []
        if self.shortened:
            said.append(f"cut to the matching part: {', '.join(map(short, self.shortened))}")
        return f"Budget of {limit:,} tokens, {'; '.join(said)}." if said else None


def fit(
    whole: Selection, *, limit: int, written: Callable[[Selection], str], spans: Mapping[str, tuple[int, int]]
) -> Selection:
    """As much of `whole` as `limit` tokens hold once `written`. Raises UsageError if they hold nothing of it.

    `spans` say by id which characters of a content match the query.
    """

    def fits(part: Selection) -> bool:
        return cost(written(part)) <= limit * SAFETY

    if fits(whole):
        return whole
    kept = _fit_index(whole, fits)
    if kept is None:
        needed = math.ceil(cost(written(whole.first(min(1, len(whole.index))))) / SAFETY)
        raise UsageError(
            f"A budget of {limit} tokens is too small: the shortest answer takes about {needed}."
            " Raise --max-tokens (max_total_tokens)."
        )
    kept = _fit_timeline(whole, kept, fits)
    for detail in whole.details:
        rest = tuple(name for name in kept.left_out if name != detail.id)
        entire = replace(kept, details=(*kept.details, detail), left_out=rest)
        if fits(entire):
            kept = entire
            continue
        base = replace(entire, shortened=(*kept.shortened, detail.id))
        kept = _fit_cut(base, detail, spans.get(detail.id), limit, written) or kept
    return kept


def _fit_index(whole: Selection, fits: Callable[[Selection], bool]) -> Selection | None:
    counts = range(1, len(whole.index) + 1) if whole.index else range(1)
    most = bisect_right(counts, 0, key=lambda count: 0 if fits(whole.first(count)) else 1)
    return whole.first(counts[most - 1]) if most else None


def _fit_timeline(whole: Selection, kept: Selection, fits: Callable[[Selection], bool]) -> Selection:
    targets = [place for place, item in enumerate(whole.timeline) if item.is_target]
    if not targets:
        return kept
    away = [min(abs(place - target) for target in targets) for place in range(len(whole.timeline))]

    def within(distance: int) -> Selection:
        near = tuple(item for item, far in zip(whole.timeline, away, strict=True) if far <= distance)
        return replace(kept, timeline=near, near_cut=len(whole.timeline) - len(near))

    distances = range(max(away) + 1)
    most = bisect_right(distances, 0, key=lambda distance: 0 if fits(within(distance)) else 1)
    return within(distances[most - 1]) if most else kept


def _fit_cut(
    base: Selection,
    detail: FullDetail,
    span: tuple[int, int] | None,
    limit: int,
    written: Callable[[Selection], str],
) -> Selection | None:
    """`base`, its last detail cut until it fits."""

    def with_content(content: str) -> Selection:
        return replace(base, details=(*base.details[:-1], detail.model_copy(update={"content": content})))

    room = limit * SAFETY - cost(written(with_content(_marked(detail.content, 0, 0))))
    for _ in range(_TRIES):
        if room < SMALLEST_CUT:
            return None
        part = excerpt(detail.content, span, int(room))
        tried = with_content(part)
        over = cost(written(tried)) - limit * SAFETY
        if over <= 0:
            return tried
        room -= over + 1
    return None


def section(detail: FullDetail, span: tuple[int, int] | None, room: int) -> FullDetail:
    """`detail` with the part of its content around `span` that has at most `room` tokens; 0: all of it."""
    if not room or cost(detail.content) <= room:
        return detail
    return detail.model_copy(update={"content": excerpt(detail.content, span, room)})


def excerpt(content: str, span: tuple[int, int] | None, room: int) -> str:
    """The part of `content` around `span` (else its beginning) that has at most `room` tokens, marks where it is cut.

    It grows from the passage of `span` over those after and before it. The marks are not counted.
    """
    passages = split_passages(content)
    if not passages:
        return content
    at = span[0] if span else 0
    here = max(0, bisect_right([passage.start for passage in passages], at) - 1)
    start, end = passages[here]
    if cost(content[start:end]) > room:
        return _marked(content, start, _prefix(content, start, end, room))
    for passage in _outward(passages, here):
        wider = min(start, passage.start), max(end, passage.end)
        if cost(content[wider[0] : wider[1]]) > room:
            break
        start, end = wider
    return _marked(content, start, end)


def _outward(passages: Sequence[Passage], here: int) -> Iterator[Passage]:
    """Those after `here`, in order, then those before it, backwards: what follows explains more than what led to it."""
    yield from passages[here + 1 :]
    yield from reversed(passages[:here])


def _prefix(content: str, start: int, end: int, room: int) -> int:
    """Where the longest beginning of `content[start:end]` ends that has at most `room` tokens: after a word."""
    places = range(start + 1, end + 1)
    reach = start + bisect_right(places, room, key=lambda place: cost(content[start:place]))
    if reach >= end:
        return end
    space = max(content.rfind(blank, start, reach) for blank in " \n")
    return space if space > start else floor_boundary(content, reach)


def _marked(content: str, start: int, end: int) -> str:
    before, after = len(content[:start].strip()), len(content[end:].strip())
    lead = f"[… {before:,} characters before this left out …]\n" if before else ""
    tail = f"\n[… {after:,} characters after this left out …]" if after else ""
    return f"{lead}{content[start:end].rstrip() if after else content[start:end]}{tail}"
