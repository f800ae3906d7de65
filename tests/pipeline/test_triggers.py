"""Ids and requests for detail in a query, and what is left to search for."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.triggers import Request, read_request, without_requests


@pytest.mark.parametrize(
    ("query", "ids", "words"),
    [
        ("mem_1 보여줘", ("mem_1",), ""),
        ("show mem_abc", ("mem_abc",), ""),
        ("please show me mem_abc", ("mem_abc",), ""),
        ("MEM_ABC 보여줘", ("mem_abc",), ""),
        ("[mem_abc]", ("mem_abc",), ""),
        ("mem_abc를 보여주세요", ("mem_abc",), ""),
        ("mem_abc와 mem_def 보여줘", ("mem_abc", "mem_def"), ""),
        ("mem_abc mem_abc", ("mem_abc",), ""),
        ("mem_abc 관련 배포 알림", ("mem_abc",), "관련 배포 알림"),
        ("mem_alloc() 버그", (), "mem_alloc() 버그"),
        ("src/mem_abc.c", (), "src/mem_abc.c"),
        ("mem_abc_total", (), "mem_abc_total"),
        ("xmem_abc", (), "xmem_abc"),
    ],
)
def test_ids(query: str, ids: tuple[str, ...], words: str) -> None:
    assert read_request(query) == Request(ids, False, words)


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("배포 절차 자세히 알려줘", "배포 절차"),
        ("배포 절차를 자세히 설명해 주세요", "배포 절차를"),
        ("좀 더 구체적으로 배포 규칙", "배포 규칙"),
        ("배포 규칙 상세히", "배포 규칙"),
        ("배포 규칙 전체 내용 보여줘", "배포 규칙"),
        ("explain the retry limit in detail", "explain the retry limit"),
        ("retry limit in more detail please", "retry limit"),
        ("show me the details of the retry limit", "the retry limit"),
        ("Tell me more details about caching", "caching"),
        ("the diary in full", "the diary"),
        ("memory leak in detail", "memory leak"),
    ],
)
def test_requests_for_detail(query: str, words: str) -> None:
    assert read_request(query) == Request((), True, words)
    assert read_request(unicodedata.normalize("NFD", query)) == Request((), True, words)


@pytest.mark.parametrize(
    "query",
    [
        "주문 상세 조회",
        "주문상세내역",
        "crash in detail view",
        "implementation details",
        "자세히 보기 버튼",
        "in full swing",
        "detail",
        "자세히 알려줘",  # leaves nothing to search for
        "show the deploy notes",
        "",
    ],
)
def test_words_that_are_no_request(query: str) -> None:
    assert read_request(query) == Request((), False, query)


def test_an_id_and_a_request() -> None:
    assert read_request("mem_abc 자세히 알려줘") == Request(("mem_abc",), True, "")


def test_ids_that_are_none_stay_words() -> None:
    assert without_requests("mem_size 함수 자세히 알려줘") == "mem_size 함수"
    assert without_requests("자세히 알려줘") == "자세히 알려줘"


@given(st.text(max_size=60))
def test_any_text_can_be_read(query: str) -> None:
    request = read_request(query)
    assert request.ids or request.detail or request.words == query
    assert request.words or request.ids or not query.strip() or request.words == query
