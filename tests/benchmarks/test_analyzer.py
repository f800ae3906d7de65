"""Documents and queries a second; documents have about 300 characters."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from indexes.analyzer import analyze_document, analyze_query

KOREAN = (
    "오늘은 {0}번 배포를 준비하면서 데이터베이스 스키마를 다시 설계했다. memory_item 테이블에 인덱스를 추가하고 "
    "get_user_id 함수의 오류 E{0}을 고쳤다. 회의에서는 다음 주 일정과 예산을 정했고, 검색 품질을 재는 방법을 논의했다. "
    "한글 형태소 분석기 없이 음절 바이그램으로 색인하면 사전이 필요 없고 복합명사도 찾을 수 있다. "
    "자세한 내용은 docs/architecture.md 문서의 {0}번째 절에 적어 두었으니 참고하기 바란다. 남은 일은 내일 이어서 한다."
)
ENGLISH = (
    "Today we prepared release {0} and redesigned the database schema again. An index was added to the memory_item "
    "table and the error E{0} of getUserId was fixed. In the meeting we settled next week's budget, and discussed how "
    "to measure the quality of search. Details are in section {0} of docs/architecture.md."
)


@pytest.mark.parametrize("text", [KOREAN, ENGLISH], ids=["korean", "english"])
def test_analyze_document(benchmark: BenchmarkFixture, text: str) -> None:
    number = itertools.count(1_000)
    tokens = benchmark(lambda: analyze_document(text.format(next(number))))
    assert len(tokens.body) > 40


@pytest.mark.parametrize("text", ["스키마를 어떻게 설계했지?", "how did we fix the getUserId error"])
def test_analyze_query(benchmark: BenchmarkFixture, text: str) -> None:
    analyze: Callable[[str], object] = analyze_query
    assert benchmark(analyze, text)
