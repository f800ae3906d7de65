"""Moments in the forms that notes and tools have them."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.sources.dates import date_in_name, parse_moment


@pytest.fixture(autouse=True)
def seoul(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Nine hours ahead of UTC, all year."""
    monkeypatch.setenv("TZ", "Asia/Seoul")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("2026-01-30T14:05:00Z", datetime(2026, 1, 30, 14, 5, tzinfo=UTC)),
        ("2026-01-30T14:05:00.250+09:00", datetime(2026, 1, 30, 5, 5, 0, 250_000, tzinfo=UTC)),
        ("2026-01-30", datetime(2026, 1, 29, 15, tzinfo=UTC)),
        ("2026-01-30 14:05", datetime(2026, 1, 30, 5, 5, tzinfo=UTC)),
        ("2026/1/30 14:05:06", datetime(2026, 1, 30, 5, 5, 6, tzinfo=UTC)),
        ("2026. 1. 30.", datetime(2026, 1, 29, 15, tzinfo=UTC)),
        ("2026년 1월 30일", datetime(2026, 1, 29, 15, tzinfo=UTC)),
        ("20260130", datetime(2026, 1, 29, 15, tzinfo=UTC)),
        (20260130, datetime(2026, 1, 29, 15, tzinfo=UTC)),
        (1_769_781_900, datetime(2026, 1, 30, 14, 5, tzinfo=UTC)),
        (1_769_781_900_000, datetime(2026, 1, 30, 14, 5, tzinfo=UTC)),
        (1_769_781_900.5, datetime(2026, 1, 30, 14, 5, 0, 500_000, tzinfo=UTC)),
    ],
)
def test_understood(value: object, expected: datetime) -> None:
    assert parse_moment(value) == expected


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        "",
        "yesterday",
        "2026-13-45",
        "2026-01-30 and more",
        2026,
        -1,
        float("nan"),
        float("inf"),
        1e300,
        "0001-01-01",
        "9999-12-31T23:59:59-12:00",
        [],
        {},
    ],
)
def test_not_understood(value: object) -> None:
    assert parse_moment(value) is None


def test_dates_in_names() -> None:
    assert date_in_name("diary/2026-01-30-session-01.md") == datetime(2026, 1, 29, 15, tzinfo=UTC)
    assert date_in_name("2026-01-30/notes.md") is None
    assert date_in_name("12026-01-301.md") is None
    assert date_in_name("2026-02-30.md") is None


@given(st.text(max_size=30) | st.integers() | st.floats())
def test_total(value: object) -> None:
    moment = parse_moment(value)
    assert moment is None or moment.tzinfo is not None
