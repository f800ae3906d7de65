"""The rules, one by one, at their thresholds."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.expansion import Decision, Reason, decide
from pipeline.results import SearchIndexItem
from pipeline.settings import AutoExpand

AT = datetime(2026, 1, 30, 14, 0, tzinfo=UTC)
RULES = AutoExpand()


def hits(*scores: float, sessions: str = "", minutes: tuple[int, ...] = ()) -> list[SearchIndexItem]:
    """Hits a, b, c … with these scores; by default each of a session of its own."""
    return [
        SearchIndexItem(
            id="abcdefghijklmnop"[place],
            summary="",
            score=score,
            type="prompt",
            timestamp=AT + timedelta(minutes=minutes[place] if minutes else 0),
            session_id=sessions[place] if sessions else str(place),
        )
        for place, score in enumerate(scores)
    ]


@pytest.mark.parametrize(
    ("scores", "reason", "timeline", "details"),
    [
        ((), Reason.NO_RESULTS, "", ""),
        ((0.92,), Reason.SINGLE, "a", "a"),
        ((0.9199,), Reason.CLEAR_WINNER, "a", "a"),  # ahead of nothing at all
        ((0.8499,), Reason.LOW_CONFIDENCE, "", ""),
        ((0.85, 0.75), Reason.CLEAR_WINNER, "a", "a"),
        ((0.95, 0.85), Reason.CLEAR_WINNER, "a", "a"),  # .95 - .85 is less than .1 in binary
        ((0.85, 0.7501), Reason.LOW_CONFIDENCE, "", ""),
        ((0.8499, 0.7), Reason.LOW_CONFIDENCE, "", ""),
        ((0.95, 0.86), Reason.LOW_CONFIDENCE, "", ""),
        ((0.9, 0.85, 0.8), Reason.SEVERAL, "abc", ""),
        ((0.9, 0.85, 0.8, 0.8), Reason.SEVERAL, "abc", ""),
        ((0.9, 0.85, 0.7999), Reason.LOW_CONFIDENCE, "", ""),
        ((0.95, 0.85, 0.8), Reason.CLEAR_WINNER, "a", "a"),  # the first rule that fits
    ],
)
def test_scores_decide(scores: tuple[float, ...], reason: Reason, timeline: str, details: str) -> None:
    assert decide(hits(*scores), RULES) == Decision(reason, tuple(timeline), tuple(details))


@pytest.mark.parametrize(
    ("sessions", "minutes", "scores", "timeline"),
    [
        ("ss", (0, 30), (0.75, 0.72), "ab"),
        ("ss", (0, -30), (0.75, 0.72), "ab"),
        ("ss", (0, 31), (0.75, 0.72), ""),
        ("ss", (0, 0), (0.75, 0.72), ""),  # two sections of one note
        ("st", (0, 1), (0.75, 0.72), ""),
        ("sts", (0, 1, 2), (0.75, 0.72, 0.71), "ac"),
        ("stts", (0, 1, 2, 3), (0.75, 0.72, 0.71, 0.7), ""),  # the fourth is no top hit
        ("ss", (0, 1), (0.75, 0.69), ""),
        ("ss", (0, 1), (0.69, 0.69), ""),
    ],
)
def test_top_hits_of_one_session_close_in_time(
    sessions: str, minutes: tuple[int, ...], scores: tuple[float, ...], timeline: str
) -> None:
    decision = decide(hits(*scores, sessions=sessions, minutes=minutes), RULES)
    assert decision.timeline == tuple(timeline)
    assert decision.details == ()
    assert decision.reason is (Reason.NEAR_IN_TIME if timeline else Reason.LOW_CONFIDENCE)


def test_what_is_asked_for_comes_before_scores() -> None:
    found = hits(0.95, 0.5, 0.4, 0.3)
    assert decide(found, RULES, named=["x", "y"]) == Decision(Reason.EXPLICIT_ID, details=("x", "y"))
    assert decide([], RULES, named=["x"]).reason is Reason.EXPLICIT_ID
    assert decide(found, RULES, detail=True) == Decision(Reason.USER_REQUEST, details=("a", "b", "c"))
    assert decide(found, RULES, named=["x"], detail=True).reason is Reason.EXPLICIT_ID
    assert decide([], RULES, detail=True).reason is Reason.NO_RESULTS


@given(
    st.lists(st.floats(0, 1), max_size=8).map(lambda scores: sorted(scores, reverse=True)),
    st.integers(0, 5),
    st.booleans(),
)
def test_no_rule_opens_more_than_is_allowed_or_what_is_no_hit(scores: list[float], most: int, detail: bool) -> None:
    found = hits(*scores)
    rules = AutoExpand(max_auto_expand_count=most)
    decision = decide(found, rules, detail=detail)
    assert max(len(decision.timeline), len(decision.details)) <= most
    assert {*decision.timeline, *decision.details} <= {hit.id for hit in found}
    assert decision.opens == bool(decision.timeline or decision.details)


def test_thresholds_are_settings() -> None:
    lax = AutoExpand(single_score=0.5, winner_score=0.5, winner_gap=0.01, several_score=0.3, several=2)
    assert decide(hits(0.5), lax).reason is Reason.SINGLE
    assert decide(hits(0.5, 0.49), lax).reason is Reason.CLEAR_WINNER
    assert decide(hits(0.5, 0.495), lax).reason is Reason.SEVERAL
    assert decide(hits(0.71, 0.71, sessions="ss", minutes=(0, 2)), AutoExpand(near_minutes=1)).timeline == ()
