"""Reciprocal rank fusion, with values that can be checked by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.fusion import Run, competition_ranks, reciprocal_rank_fusion


def run(*pairs: tuple[int, float], weight: float = 1.0) -> Run:
    return Run(np.array([i for i, _ in pairs], np.int64), np.array([s for _, s in pairs], np.float32), weight)


def test_first_in_every_run_scores_one() -> None:
    fused = reciprocal_rank_fusion([run((7, 3.0), (8, 1.0)), run((7, 0.9), (9, 0.8))], k=60, depth=10)
    half = (1 / 62) / (2 / 61)  # second in one of two runs
    assert fused == [(7, pytest.approx(1.0)), (8, pytest.approx(half)), (9, pytest.approx(half))]


def test_weights_count() -> None:
    fused = dict(reciprocal_rank_fusion([run((1, 1.0), weight=3), run((2, 1.0), weight=1)], k=10, depth=10))
    assert fused == {1: pytest.approx(0.75), 2: pytest.approx(0.25)}


def test_only_the_first_hits_of_a_run_count() -> None:
    assert [i for i, _ in reciprocal_rank_fusion([run((1, 3.0), (2, 2.0), (3, 1.0))], k=60, depth=2)] == [1, 2]


def test_equal_scores_share_the_better_rank() -> None:
    assert competition_ranks(np.array([5, 5, 4, 4, 1], np.float32)).tolist() == [1, 1, 3, 3, 5]
    assert competition_ranks(np.zeros(0, np.float32)).tolist() == []


def test_a_run_without_weight_takes_no_part() -> None:
    assert reciprocal_rank_fusion([run((1, 1.0), weight=0), run((2, 1.0))], k=60, depth=5) == [(2, pytest.approx(1.0))]
    assert reciprocal_rank_fusion([run((1, 1.0), weight=0)], k=60, depth=5) == []


ranking = st.lists(st.integers(0, 50), unique=True, max_size=20).map(
    lambda ids: run(*((i, float(len(ids) - n)) for n, i in enumerate(ids)))
)


@given(st.lists(ranking, min_size=1, max_size=3), st.floats(0.1, 100))
def test_scores_fall_from_one_to_above_zero_and_every_hit_is_there(runs: list[Run], k: float) -> None:
    fused = reciprocal_rank_fusion(runs, k=k, depth=50)
    scores = [score for _, score in fused]
    assert scores == sorted(scores, reverse=True)
    assert all(0 < score <= 1 + 1e-9 for score in scores)
    assert {i for i, _ in fused} == {i for one in runs for i in one.ids.tolist()}
