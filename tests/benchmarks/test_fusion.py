"""Fusing two legs, at the default depth and at the deepest that anything asks for."""

from __future__ import annotations

import numpy as np
import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from pipeline.fusion import Run, reciprocal_rank_fusion
from pipeline.settings import Settings


def leg(seed: int) -> Run:
    """1,000 of 2,000 memories with falling scores, every tenth of which equals the one before it."""
    rng = np.random.default_rng(seed)
    scores = np.sort(rng.random(1_000).astype(np.float32))[::-1].copy()
    scores[10::10] = scores[9:-1:10]
    return Run(rng.permutation(2_000)[:1_000].astype(np.int64), scores, 1.0)


@pytest.mark.parametrize("depth", [Settings().fusion.depth, 1_000])
def test_reciprocal_rank_fusion(benchmark: BenchmarkFixture, depth: int) -> None:
    runs = [leg(1), leg(2)]
    fused = benchmark(lambda: reciprocal_rank_fusion(runs, k=Settings().fusion.k, depth=depth))
    assert len(fused) == len({*runs[0].ids[:depth].tolist(), *runs[1].ids[:depth].tolist()})
