"""The vector leg: exact search over random unit vectors of 384 numbers, one passage a memory."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from indexes.dense import FlatDense
from indexes.types import Filter, Floats, VectorEntry

DIMENSIONS = 384


def random_units(count: int) -> Floats:
    vectors = np.random.default_rng(1).standard_normal((count, DIMENSIONS), dtype=np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors


@pytest.fixture(scope="module", params=[10_000, 100_000])
def leg(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> FlatDense:
    leg = FlatDense(tmp_path_factory.mktemp("vectors"), store_id="bench", model="random", dimensions=DIMENSIONS)
    span = np.array([[0, 100]], np.int32)
    vectors = random_units(request.param)
    leg.apply(
        [VectorEntry(n, row[np.newaxis], span, (f"session={n % 100}",), n) for n, row in enumerate(vectors)], [], 1
    )
    return leg


@pytest.mark.parametrize(
    "where", [Filter(), Filter(groups=(frozenset({"session=42"}),))], ids=["all", "one session of 100"]
)
def test_search(benchmark: BenchmarkFixture, leg: FlatDense, where: Filter) -> None:
    query = random_units(43)[42]
    found = benchmark(lambda: leg.search(query, 60, where))
    assert found.ids[0] == 42


def test_score(benchmark: BenchmarkFixture, leg: FlatDense) -> None:
    ids = np.arange(0, 5_000, 50)
    found = benchmark(lambda: leg.score(random_units(1)[0], ids))
    assert found.scores[0] == pytest.approx(1.0)


def test_apply_a_thousand(benchmark: BenchmarkFixture, tmp_path: Path) -> None:
    leg = FlatDense(tmp_path, store_id="bench", model="random", dimensions=DIMENSIONS)
    span = np.array([[0, 100]], np.int32)
    entries = [VectorEntry(n, row[np.newaxis], span, (), n) for n, row in enumerate(random_units(1_000))]
    benchmark(lambda: leg.apply(entries, [], 1))
    assert len(leg) == 1_000
