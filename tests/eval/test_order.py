"""Fitting the order: it recovers which feature matters, and what it ships is what the product loads."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from eval.machine import this_machine
from eval.order import fit, ship
from eval.schema import OrderFile
from pipeline.order import FEATURES, Candidates, Order

RNG = np.random.default_rng(3)


def lists(feature: str, queries: int = 80) -> list[tuple[np.ndarray, np.ndarray]]:
    """Queries whose relevant candidate is the one with the highest value of one feature; the others are noise."""
    made = []
    for _ in range(queries):
        features = RNG.random((10, len(FEATURES)))
        mass = np.zeros(10)
        mass[features[:, FEATURES.index(feature)].argmax()] = 1
        made.append((features, mass))
    return made


@pytest.mark.parametrize("feature", ["cosine", "words_rank"])
def test_the_feature_that_decides_gets_the_weight(feature: str) -> None:
    weights = fit([lists(feature)]).weights
    others = [abs(weight) for name, weight in weights.items() if name != feature]
    assert weights[feature] > 5 * max(others)


def test_sets_count_alike_whatever_their_size() -> None:
    small, large = lists("cosine", 40), lists("bm25", 400)
    weights = fit([small, large]).weights
    assert weights["cosine"] == pytest.approx(weights["bm25"], rel=0.35)


def test_what_is_shipped_is_loaded_for_its_model_and_analyzer_only(tmp_path: Path) -> None:
    file = OrderFile(
        machine=this_machine(), seconds=1, model="m@1", analyzer="7", weights=dict.fromkeys(FEATURES, 0.5),
        dev={}, test={}, held_out={}, intervals={}, tests=[], problems={},
    )  # fmt: skip
    path = tmp_path / "order.json"
    ship(file, path)
    loaded = Order.load(model="m@1", analyzer="7", path=path)
    assert loaded is not None
    assert loaded.weights == file.weights
    assert Order.load(model="m@2", analyzer="7", path=path) is None
    assert Order.load(model="m@1", analyzer="8", path=path) is None


def test_a_score_is_a_share_of_the_highest_value() -> None:
    order = Order({"words_rank": 3, "vectors_rank": 6, "bm25": 0, "coverage": 2, "cosine": 5, "passages": -1})
    candidates = Candidates(
        rids=np.array([1, 2, 3]),
        words_rank=np.array([1, np.inf, np.inf]),
        vectors_rank=np.array([1, 1, np.inf]),
        bm25=np.zeros(3, np.float32),
        coverage=np.array([1, 0, 0], np.float32),
        cosine=np.array([1, 0.5, np.nan], np.float32),
        passages=np.array([1, 1, 0], np.int32),
        background=-0.2,
    )
    # highest: 3/3 + 6/3 + 2 + 5 = 10; second: 6/3 + 5 * .5 = 4.5; third has no vector and counts as the background
    assert order.scores(candidates) == pytest.approx([1.0, 0.45, 0.0])
