"""The word leg with 10,000 memories of about 100 characters."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from indexes.analyzer import analyze_document, analyze_query
from indexes.lexical import TantivyLexical
from indexes.types import Filter, LexicalEntry

MEMORIES = 10_000
SYLLABLES = "가나다라마바사아자차카타파하고노도로모보소오조초코토포호기니디리미비시이지치키티피히"


def memories() -> Iterator[LexicalEntry]:
    """Words of a vocabulary of 5,000, drawn so that the commonest is about 5,000 times as frequent as the rarest."""
    chance = random.Random(1)
    vocabulary = ["".join(chance.choices(SYLLABLES, k=chance.randint(2, 4))) for _ in range(5_000)]
    shares = [1 / rank for rank in range(1, 5_001)]
    for rid in range(MEMORIES):
        tokens = analyze_document(" ".join(chance.choices(vocabulary, shares, k=25)) + f" PAY-{rid}")
        yield LexicalEntry(rid, tokens.body, tokens.initial, (f"session={rid % 100}",), rid)


@pytest.fixture(scope="module")
def leg(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TantivyLexical]:
    leg = TantivyLexical(tmp_path_factory.mktemp("words"), store_id="bench")
    leg.apply(memories(), [], 1)
    yield leg
    leg.close()


WHERE = Filter(groups=(frozenset({"session=21"}),), since_ms=1_000)


@pytest.mark.parametrize("where", [Filter(), WHERE], ids=["all", "filtered"])
def test_search(benchmark: BenchmarkFixture, leg: TantivyLexical, where: Filter) -> None:
    query = analyze_query("PAY-4821 가나다 고노도를 어떻게 정했지?")
    found = benchmark(lambda: leg.search(query, 50, where))
    assert found.ids[0] == 4821


def test_apply_a_thousand(benchmark: BenchmarkFixture, tmp_path: Path) -> None:
    entries = [entry for entry, _ in zip(memories(), range(1_000), strict=False)]
    leg = TantivyLexical(tmp_path, store_id="bench")
    benchmark(lambda: leg.apply(entries, [], 1))
    assert len(leg) == 1_000
