"""Filters: the user's words and days, in the terms of the legs."""

from __future__ import annotations

from datetime import UTC, date, datetime
from zoneinfo import ZoneInfo

import pytest

from indexes.errors import UsageError
from indexes.rows import to_ms
from indexes.types import Filter
from pipeline.filters import SearchFilter

SEOUL = ZoneInfo("Asia/Seoul")


def index_filter(chosen: SearchFilter) -> Filter:
    return chosen.to_index(session=chosen.session, zone=SEOUL)


def test_nothing_chosen_is_no_filter() -> None:
    assert not index_filter(SearchFilter())


def test_a_day_is_the_users_local_day() -> None:
    # 30 January in Seoul (UTC+9) runs from 29 January 15:00 to 30 January 15:00 UTC
    day = index_filter(SearchFilter(since="2026-01-30", until=date(2026, 1, 30)))
    assert day.since_ms == to_ms(datetime(2026, 1, 29, 15, tzinfo=UTC))
    assert day.until_ms == to_ms(datetime(2026, 1, 30, 15, tzinfo=UTC))


def test_a_moment_is_inclusive_on_both_ends() -> None:
    moment = datetime(2026, 1, 30, 14, tzinfo=UTC)
    both = index_filter(SearchFilter(since=moment, until="2026-01-30T23:00"))  # 23:00 in Seoul is 14:00 UTC
    assert both.since_ms == to_ms(moment)
    assert both.until_ms == to_ms(moment) + 1


def test_groups_are_all_needed_and_their_members_are_alternatives() -> None:
    chosen = SearchFilter(types=("prompt", "tool"), project="haru", tags=("배포",))
    assert set(index_filter(chosen).groups) == {
        frozenset({"type=prompt", "type=tool"}),
        frozenset({"project=haru"}),
        frozenset({"tag=배포"}),
    }


def test_decomposed_text_filters_the_same() -> None:
    assert index_filter(SearchFilter(tags=("\u1107\u1162\u1111\u1169",))) == index_filter(SearchFilter(tags=("배포",)))


@pytest.mark.parametrize(
    ("chosen", "said"),
    [
        (SearchFilter(types=("memo",)), "prompt, response, tool, insight"),
        (SearchFilter(since="gestern"), "'gestern' is not a date"),
        (SearchFilter(since="2026-02-30"), "2026-02-30"),
        (SearchFilter(since="2026-02-02", until="2026-02-01"), "lies after until"),
    ],
)
def test_mistakes_are_named(chosen: SearchFilter, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        index_filter(chosen)


def test_the_ends_of_the_calendar_are_dates_too() -> None:
    assert index_filter(SearchFilter(until="9999-12-31")).until_ms is None  # nothing lies after it
    assert index_filter(SearchFilter(since="0001-01-02")).since_ms == to_ms(datetime(1, 1, 2, tzinfo=SEOUL))
