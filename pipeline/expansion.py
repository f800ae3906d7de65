"""The rules: which hits are opened without being asked for. Pure: scores in, a decision with its reason out.

The first rule that fits decides. The scores are a promise (see `pipeline/confidence.py`), so a threshold says how often
an expansion may be wrong.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from itertools import takewhile

from pipeline.results import SearchIndexItem
from pipeline.settings import AutoExpand

TIMELINE_TARGETS = 3
"""Hits among which the timeline rules look: the user's specification names the top three."""


class Reason(StrEnum):
    """`expansionReason` of the specification."""

    EXPLICIT_ID = "explicit_id"
    USER_REQUEST = "user_request"
    SINGLE = "high_confidence_single"
    CLEAR_WINNER = "clear_winner"
    SEVERAL = "ambiguous_multiple_high"
    NEAR_IN_TIME = "temporal_proximity"
    LOW_CONFIDENCE = "low_confidence"
    NO_RESULTS = "no_results"


@dataclass(frozen=True, slots=True)
class Decision:
    """What to open: ids for one timeline around them, ids for details, in order of worth, and why."""

    reason: Reason
    timeline: tuple[str, ...] = ()
    details: tuple[str, ...] = ()

    @property
    def opens(self) -> bool:
        """Whether anything is opened."""
        return bool(self.timeline or self.details)


def decide(
    hits: Sequence[SearchIndexItem], rules: AutoExpand, *, named: Sequence[str] = (), detail: bool = False
) -> Decision:
    """Apply the rules to all hits of a search, best first.

    `named` are ids that the query names, `detail` says that it asks for detail. At most `rules.max_auto_expand_count`
    memories are opened, in each layer.
    """
    most = rules.max_auto_expand_count
    if named:
        return Decision(Reason.EXPLICIT_ID, details=tuple(named[:most]))
    if not hits:
        return Decision(Reason.NO_RESULTS)
    top = hits[0]
    first = (top.id,)[:most]
    if detail:
        return Decision(Reason.USER_REQUEST, details=tuple(hit.id for hit in hits[:most]))
    if len(hits) == 1 and top.score >= rules.single_score:
        return Decision(Reason.SINGLE, timeline=first, details=first)
    if top.score >= rules.winner_score and _gap(hits) >= rules.winner_gap:
        return Decision(Reason.CLEAR_WINNER, timeline=first, details=first)
    high = len(list(takewhile(lambda hit: hit.score >= rules.several_score, hits)))
    if high >= rules.several:
        return Decision(Reason.SEVERAL, timeline=tuple(hit.id for hit in hits[: min(most, TIMELINE_TARGETS)]))
    near = _near(hits[:TIMELINE_TARGETS], rules)
    if len(near) > 1:
        return Decision(Reason.NEAR_IN_TIME, timeline=tuple(near[:most]))
    return Decision(Reason.LOW_CONFIDENCE)


def _gap(hits: Sequence[SearchIndexItem]) -> float:
    """How far the first hit is ahead; of nothing at all, if no other is worth showing."""
    second = hits[1].score if len(hits) > 1 else 0.0
    return round(hits[0].score - second, 4)  # scores have four places; 0.95 - 0.85 is less than 0.1 in binary


def _near(hits: Sequence[SearchIndexItem], rules: AutoExpand) -> list[str]:
    """The first hit and those of its session that lie close to it, if all may be shown.

    Sections of one note and rows without a time share one moment, which says nothing about when each was: such hits
    don't count.
    """
    first = hits[0]
    if first.score < rules.near_score:
        return []
    reach = timedelta(minutes=rules.near_minutes)
    others = [
        hit.id
        for hit in hits[1:]
        if hit.session_id == first.session_id
        and hit.score >= rules.near_score
        and timedelta(0) < abs(hit.timestamp - first.timestamp) <= reach
    ]
    return [first.id, *others]
