"""The three layers of the built-in sample, caches off: what a search costs, not what remembering it does."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from eval.corpus import rows_text
from eval.datasets import load
from pipeline import Gieok, Settings

OFF = {"entries": 0, "seconds": 0}
SETTINGS = Settings.model_validate({"cache": {"layer1": OFF, "layer2": OFF, "layer3": OFF}})


@pytest.fixture(scope="module")
def gieok(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gieok]:
    folder = tmp_path_factory.mktemp("layers")
    rows = folder / "rows.jsonl"
    rows.write_text(rows_text(load("sample", "test").documents), encoding="utf-8")
    with Gieok.open(folder / "home", SETTINGS) as memory:
        memory.index([rows])
        yield memory


@pytest.fixture(scope="module")
def queries() -> list[str]:
    return list(load("sample", "test").queries.values())


@pytest.mark.parametrize("layer", [1, 2, 3])
def test_search_of_new_queries(benchmark: BenchmarkFixture, gieok: Gieok, queries: list[str], layer: int) -> None:
    """Every query is another text, so that its embedding is not remembered either."""
    numbered = (f"{query} {number}" for number, query in enumerate(itertools.cycle(queries)))
    answer = benchmark(lambda: gieok.find(next(numbered), layer=layer))
    assert answer.result.meta is not None


def test_search_of_a_known_query(benchmark: BenchmarkFixture, gieok: Gieok, queries: list[str]) -> None:
    hits = benchmark(lambda: gieok.search_index(queries[0]))
    assert hits


def test_timeline(benchmark: BenchmarkFixture, gieok: Gieok, queries: list[str]) -> None:
    target = gieok.search_index(queries[0])[0].id
    items = benchmark(lambda: gieok.get_timeline([target]))
    assert [item.id for item in items if item.is_target] == [target]


def test_details(benchmark: BenchmarkFixture, gieok: Gieok, queries: list[str]) -> None:
    target = gieok.search_index(queries[0])[0].id
    (detail,) = benchmark(lambda: gieok.get_details([target]))
    assert detail.id == target
