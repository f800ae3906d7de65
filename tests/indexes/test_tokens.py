"""The estimate against a real tokenizer on texts of this file, and its properties on any text."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from indexes.tokens import COSTS, estimate_tokens

TEXTS = {
    "Korean": (
        "결제 재시도는 반드시 같은 멱등 키로 보내야 한다. 어제 장애에서 워커가 재시작하면서 키를 새로 "
        "만들었고, 그래서 세 명의 고객에게 요금이 두 번 청구되었다. 키는 구독 번호와 청구 기간으로 "
        "정하고 데이터베이스에 먼저 저장한 다음에 결제 대행사를 부른다. 금요일 오후에는 배포하지 "
        "않기로 다시 확인했다."
    ),
    "English": (
        "Retries must reuse the idempotency key. Yesterday the worker restarted, made a new key and "
        "charged three customers twice. The key is now derived from the subscription and the billing "
        "period, and it is stored before we call the payment provider. We agreed again not to deploy "
        "on Friday afternoons."
    ),
    "mixed": (
        "DuckDB 스키마는 event sourcing으로 간다. `events` 테이블은 append-only이고, `event_id`는 "
        "ULID다. 집계는 dbt 모델 `fct_payments`에서 만들고, raw JSON은 payload 컬럼에 그대로 둔다. "
        "PAY-4821에서 논의한 것처럼 migration 순서는 컬럼 추가 → backfill → NOT NULL 순이다."
    ),
    "code": (
        "def charge(subscription_id: str, period: date) -> Charge:\n"
        '    key = f"{subscription_id}:{period:%Y-%m}"\n'
        "    with transaction() as tx:\n"
        "        if (seen := tx.find_charge(key)) is not None:\n"
        "            return seen\n"
        "        return gateway.capture(tx.reserve(key), timeout=5.0)\n"
    ),
}


@pytest.fixture(scope="module")
def true_tokens() -> Callable[[str], int]:
    with warnings.catch_warnings():
        # bpe-openai 0.1.4 reads its tables by importlib.resources.open_binary, which Python 3.11 deprecates.
        warnings.filterwarnings("ignore", message="open_binary is deprecated", category=DeprecationWarning)
        from bpe_openai import get_encoding

        encoding = get_encoding("o200k_base")
    return lambda text: len(encoding.encode_ordinary(text))


@pytest.mark.parametrize("name", TEXTS)
def test_is_close_to_the_real_tokenizer(name: str, true_tokens: Callable[[str], int]) -> None:
    true = true_tokens(TEXTS[name])
    assert 0.85 * true <= estimate_tokens(TEXTS[name]) <= 1.25 * true


def test_korean_is_dearer_than_a_quarter_of_its_length() -> None:
    assert estimate_tokens(TEXTS["Korean"]) > 2 * len(TEXTS["Korean"]) / 4


@pytest.mark.parametrize(("text", "tokens"), [("", 0), (" ", 1), ("a", 1), ("hello world", 2), ("\ud800", 2)])
def test_short_texts(text: str, tokens: int) -> None:
    assert estimate_tokens(text) == tokens


@pytest.mark.parametrize("text", ["ⴷⵣⴰⵢⴻⵔ", "漢字", "カタカナ", "Привет", "👨‍👩‍👧‍👦", "\x00\x01", "한글"])
def test_other_scripts_cost_something(text: str) -> None:
    assert 1 <= estimate_tokens(text) <= 4 * len(text)


def test_every_cost_is_at_least_nothing() -> None:
    assert all(cost >= 0 for costs in COSTS.values() for cost in costs)


@given(st.text(st.characters(codec=None)))
def test_is_total(text: str) -> None:
    """Any string, lone surrogates too, has an estimate; only the empty one is free."""
    assert (estimate_tokens(text) == 0) == (text == "")


# One seam moves the cost of one character by at most this, and each of three estimates is rounded or raised to 1.
SEAM = max(max(costs) for costs in COSTS.values()) + 2.5


@given(st.text(st.characters(codec=None)), st.text(st.characters(codec=None)))
def test_adds_up(left: str, right: str) -> None:
    whole, parts = estimate_tokens(left + right), estimate_tokens(left) + estimate_tokens(right)
    assert abs(whole - parts) <= SEAM


@given(st.text(st.characters(codec=None)), st.text(st.characters(codec=None)))
def test_more_text_never_costs_less(left: str, right: str) -> None:
    assert estimate_tokens(left + right) >= estimate_tokens(left)


def test_is_fast_enough_to_run_on_every_indexed_text() -> None:
    """20 MB/s is asked for; a quiet machine does 100 to 300. Best of five, since other work may be running."""
    text = TEXTS["Korean"] * 2_000
    best = float("inf")
    for _ in range(5):
        start = time.perf_counter()
        estimate_tokens(text)
        best = min(best, time.perf_counter() - start)
    assert len(text.encode()) / best > 20e6
