from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eval import fusion
from eval.measures import per_query
from eval.schema import FusionPoint
from eval.systems import Legs, fused
from pipeline.fusion import Run


def leg(ids: list[int], scores: list[float]) -> Run:
    ordered = sorted(scores[: len(ids)], reverse=True)
    return Run(np.array(ids, np.int64), np.array(ordered, np.float32), 1.0)


def point(k: float = 60, depth: int = 50, words: float = 1, vectors: float = 1) -> FusionPoint:
    return FusionPoint(k=k, depth=depth, words_weight=words, vectors_weight=vectors)


def make_grid(legs: Legs, grades: dict[int, int]) -> fusion.Grid:
    return fusion.grid({"q": legs}, {"q": grades}, {"q": list(grades.values())})


def test_by_hand() -> None:
    # Words rank 1, 2; vectors rank 2, 3. Document 2 sums 1/(1+2) + 1/(1+1) = .83 against .5 and .33: it comes first.
    legs = Legs(leg([1, 2], [9, 8]), leg([2, 3], [0.9, 0.8]), ())
    assert make_grid(legs, {2: 1}).ndcg(point(k=1)) == 1
    # By words alone it comes second: 1 / log2(3).
    assert make_grid(legs, {2: 1}).ndcg(point(k=1, vectors=0)) == pytest.approx(1 / np.log2(3))


def test_depth_cuts_each_leg() -> None:
    legs = Legs(leg([1, 2], [9, 8]), leg([3, 2], [0.9, 0.8]), ())
    assert make_grid(legs, {2: 1}).ndcg(point(k=1, depth=1)) == 0
    assert make_grid(legs, {2: 1}).ndcg(point(k=1, depth=2)) == 1


def test_a_relevant_document_that_no_leg_found_lowers_the_figure() -> None:
    legs = Legs(leg([1], [9]), leg([1], [0.9]), ())
    found, missed = 1.0, 1 / np.log2(3)
    grid = fusion.grid({"q": legs}, {"q": {1: 1}}, {"q": [1, 1]})
    assert grid.ndcg(point()) == pytest.approx(found / (found + missed))


ranking = st.lists(st.integers(0, 30), unique=True, min_size=0, max_size=25)
scores = st.lists(st.integers(1, 6).map(float), min_size=25, max_size=25)


@given(
    ranking,
    ranking,
    scores,
    scores,
    st.dictionaries(st.integers(0, 30), st.integers(1, 2), min_size=1),
    st.sampled_from([1.0, 10.0, 60.0]),
    st.sampled_from([5, 50]),
    st.sampled_from([0.0, 0.5, 1.0]),
)
def test_the_fast_figure_is_that_of_the_products_fusion(
    words: list[int],
    vectors: list[int],
    word_scores: list[float],
    vector_scores: list[float],
    grades: dict[int, int],
    k: float,
    depth: int,
    weight: float,
) -> None:
    legs = Legs(leg(words, word_scores), leg(vectors, vector_scores), ())
    run = {"q": [str(rid) for rid in fused(legs, k=k, depth=depth, words=weight)]}
    expected = per_query(run, {"q": {str(rid): grade for rid, grade in grades.items()}})["nDCG@10"][0]
    held = {rid: grade for rid, grade in grades.items() if rid in {*words, *vectors}}
    grid = fusion.grid({"q": legs}, {"q": held}, {"q": list(grades.values())})
    assert grid.ndcg(point(k=k, depth=depth, words=weight)) == pytest.approx(expected, abs=1e-9)


def test_the_search_takes_the_best_mean_over_sets() -> None:
    words_know = make_grid(Legs(leg([1, 2], [9, 8]), leg([2, 1], [0.9, 0.8]), ()), {1: 1})
    both_know = make_grid(Legs(leg([1], [9]), leg([1], [0.9]), ()), {1: 1})
    tried = [point(words=0.2), point(words=2)]
    table, best = fusion.search({"a": words_know, "b": both_know}, tried)
    assert best == 1
    assert table.tolist() == [[pytest.approx(1 / np.log2(3)), 1], [1, 1]]


def test_the_reference_is_among_what_is_tried() -> None:
    assert fusion.REFERENCE in fusion.points()
