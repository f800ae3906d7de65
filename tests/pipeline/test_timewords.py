"""Words of time, seen on Wednesday, 4 February 2026."""

from __future__ import annotations

import unicodedata
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.timewords import TimeWords, read_time

TODAY = date(2026, 2, 4)


def days(query: str) -> tuple[str, str] | None:
    """First and last day as text, "" for an open end."""
    found = read_time(query, TODAY)
    return None if found is None else (str(found.since or ""), str(found.until or ""))


@pytest.mark.parametrize(
    ("phrase", "since", "until"),
    [
        ("오늘", "2026-02-04", "2026-02-04"),
        ("어제", "2026-02-03", "2026-02-03"),
        ("어저께", "2026-02-03", "2026-02-03"),
        ("그제", "2026-02-02", "2026-02-02"),
        ("그저께", "2026-02-02", "2026-02-02"),
        ("이번 주", "2026-02-02", "2026-02-08"),
        ("이번주에", "2026-02-02", "2026-02-08"),
        ("지난주", "2026-01-26", "2026-02-01"),
        ("지난 주에", "2026-01-26", "2026-02-01"),
        ("저번 주", "2026-01-26", "2026-02-01"),
        ("지지난주", "2026-01-19", "2026-01-25"),
        ("이번 달", "2026-02-01", "2026-02-28"),
        ("지난달", "2026-01-01", "2026-01-31"),
        ("올해", "2026-01-01", "2026-12-31"),
        ("작년", "2025-01-01", "2025-12-31"),
        ("작년 12월", "2025-12-01", "2025-12-31"),
        ("3일 전", "2026-02-01", "2026-02-01"),
        ("3일 전에", "2026-02-01", "2026-02-01"),
        ("이틀 전", "2026-02-02", "2026-02-02"),
        ("2주 전", "2026-01-19", "2026-01-25"),
        ("일주일 전", "2026-01-26", "2026-02-01"),
        ("한 달 전", "2026-01-01", "2026-01-31"),
        ("두 달 전", "2025-12-01", "2025-12-31"),
        ("최근 3일간", "2026-02-02", "2026-02-04"),
        ("지난 3일 동안", "2026-02-02", "2026-02-04"),
        ("지난 금요일", "2026-01-30", "2026-01-30"),
        ("지난 수요일", "2026-01-28", "2026-01-28"),  # never today
        ("지난주 금요일", "2026-01-30", "2026-01-30"),
        ("이번 주 월요일", "2026-02-02", "2026-02-02"),
        ("1월에", "2026-01-01", "2026-01-31"),
        ("12월에", "2025-12-01", "2025-12-31"),  # the latest that has begun
        ("2월에", "2026-02-01", "2026-02-28"),
        ("2026년 1월", "2026-01-01", "2026-01-31"),
        ("2026년 1월에", "2026-01-01", "2026-01-31"),
        ("2026년 1월 30일", "2026-01-30", "2026-01-30"),
        ("1월 30일", "2026-01-30", "2026-01-30"),
        ("2월 5일", "2025-02-05", "2025-02-05"),
        ("2024년 2월 29일", "2024-02-29", "2024-02-29"),
        ("2025년에", "2025-01-01", "2025-12-31"),
        ("2026-01-30", "2026-01-30", "2026-01-30"),
        ("today", "2026-02-04", "2026-02-04"),
        ("yesterday", "2026-02-03", "2026-02-03"),
        ("Yesterday's", "2026-02-03", "2026-02-03"),
        ("the day before yesterday", "2026-02-02", "2026-02-02"),
        ("this week", "2026-02-02", "2026-02-08"),
        ("last week", "2026-01-26", "2026-02-01"),
        ("last month", "2026-01-01", "2026-01-31"),
        ("last year", "2025-01-01", "2025-12-31"),
        ("last Tuesday", "2026-02-03", "2026-02-03"),
        ("last wed", "2026-01-28", "2026-01-28"),
        ("3 days ago", "2026-02-01", "2026-02-01"),
        ("a week ago", "2026-01-26", "2026-02-01"),
        ("2 months ago", "2025-12-01", "2025-12-31"),
        ("in the last 7 days", "2026-01-29", "2026-02-04"),
        ("past week", "2026-01-29", "2026-02-04"),
        ("in January", "2026-01-01", "2026-01-31"),
        ("in March", "2025-03-01", "2025-03-31"),
        ("in January 2026", "2026-01-01", "2026-01-31"),
        ("January 2026", "2026-01-01", "2026-01-31"),
        ("on January 30", "2026-01-30", "2026-01-30"),
        ("Jan 30, 2025", "2025-01-30", "2025-01-30"),
        ("5 March 2025", "2025-03-05", "2025-03-05"),
        ("in 2025", "2025-01-01", "2025-12-31"),
        ("어제부터", "2026-02-03", ""),
        ("어제까지", "", "2026-02-03"),
        ("지난주 이후", "2026-02-02", ""),
        ("지난달 이전", "", "2025-12-31"),
        ("since yesterday", "2026-02-03", ""),
        ("until last week", "", "2026-02-01"),
        ("before last week", "", "2026-01-25"),
        ("after January 2026", "2026-02-01", ""),
    ],
)
def test_phrases(phrase: str, since: str, until: str) -> None:
    for query in (f"{phrase} 배포 알림", f"배포 알림 {phrase}", unicodedata.normalize("NFD", f"{phrase} 배포 알림")):
        found = read_time(query, TODAY)
        assert found is not None
        assert (str(found.since or ""), str(found.until or "")) == (since, until)
        assert found.rest == "배포 알림"
        assert found.phrase == phrase


@pytest.mark.parametrize(
    "query",
    [
        "2월 30일 배포",
        "2026년 2월 30일에 배포",
        "2026년 13월 배포",
        "2025년 2월 29일 배포",
        "February 30, 2026 deploy",
        "2026-02-30 배포",
        "99999999일 전 배포",
        "999999일 전 배포",
        "0001-01-01 이전 배포",
        "2026년 3월부터 2026년 1월까지 배포",
        "금요일에 배포 금지",
        "1월 정산 로직",
        "12월호 배포",
        "오늘날 배포",
        "3일 전체 로그",
        "may the deploy fail",
        "the deploy march",
        "2026-01-30-session-01",
        "today_view",
        "yesterdays",
        "어제밤배포",
        "",
    ],
)
def test_ordinary_words(query: str) -> None:
    assert read_time(query, TODAY) is None


def test_a_phrase_alone_stays_in_the_query() -> None:
    assert read_time("어제", TODAY) == TimeWords("어제", date(2026, 2, 3), date(2026, 2, 3), "어제")
    found = read_time("last week?", TODAY)
    assert found is not None
    assert found.rest == "last week?"


def test_several_phrases_are_one_range() -> None:
    assert days("어제와 오늘 배포") == ("2026-02-03", "2026-02-04")
    assert days("2025년 11월부터 2026년 1월까지 배포") == ("2025-11-01", "2026-01-31")
    assert days("12월부터 1월까지 배포") == ("2025-12-01", "2026-01-31")
    assert days("1월부터 3월까지 배포") == ("2026-01-01", "2026-03-31")
    assert days("since January 2026 until yesterday deploy") == ("2026-01-01", "2026-02-03")


def test_the_first_of_a_month_and_of_a_year() -> None:
    found = read_time("지난달 배포", date(2026, 1, 1))
    assert found is not None
    assert (found.since, found.until) == (date(2025, 12, 1), date(2025, 12, 31))
    leap = read_time("1년 전 배포", date(2024, 2, 29))
    assert leap is not None
    assert leap.since == date(2023, 1, 1)


@pytest.mark.parametrize(
    ("query", "shown"),
    [("어제 배포", "2026-02-03"), ("지난주 배포", "from 2026-01-26 to 2026-02-01"),
     ("어제부터 배포", "from 2026-02-03 on"), ("어제까지 배포", "up to 2026-02-03")],
)  # fmt: skip
def test_days_for_people(query: str, shown: str) -> None:
    found = read_time(query, TODAY)
    assert found is not None
    assert found.days == shown


@given(
    st.one_of(
        st.text(max_size=40),
        st.lists(
            st.sampled_from(["어제", "3일", "전", "2월", "30일", "last", "week", "in", "May", "부터", "2026년"])
        ).map(" ".join),
    ),
    st.dates(),
)
def test_any_text_on_any_day(query: str, today: date) -> None:
    found = read_time(query, today)
    if found is not None:
        assert found.since is None or found.until is None or found.since <= found.until
        assert found.since is not None or found.until is not None
        assert found.rest.strip()
