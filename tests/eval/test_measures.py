from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eval import measures
from eval.datasets import load
from eval.plain import PlainBM25


def independent(ids: list[str], grades: dict[str, int]) -> dict[str, float]:
    """The measures by their definitions, in plain Python."""
    gains = [grades.get(doc, 0) for doc in ids]
    ideal = sorted(grades.values(), reverse=True)

    def dcg(values: list[int]) -> float:
        return sum(gain / math.log2(rank + 1) for rank, gain in enumerate(values[:10], 1))

    first = next((rank for rank, gain in enumerate(gains, 1) if gain), None)
    return {
        "nDCG@10": dcg(gains) / dcg(ideal),
        "R@5": sum(gain > 0 for gain in gains[:5]) / len(grades),
        "R@10": sum(gain > 0 for gain in gains[:10]) / len(grades),
        "Success@1": float(first == 1),
        "RR": 1 / first if first else 0.0,
    }


def test_by_hand() -> None:
    values = measures.per_query({"q": ["x", "a", "b"]}, {"q": {"a": 1, "b": 1}})
    gain = (1 / math.log2(3) + 1 / math.log2(4)) / (1 + 1 / math.log2(3))
    expected = {"nDCG@10": gain, "R@5": 1.0, "R@10": 1.0, "Success@1": 0.0, "RR": 0.5}
    assert measures.means(values) == pytest.approx(expected)


def test_a_query_that_is_not_answered_scores_zero_and_stays_in_the_mean() -> None:
    values = measures.per_query({"q1": ["a"]}, {"q1": {"a": 1}, "q2": {"b": 1}, "q3": {"c": 1}})
    assert values["RR"].tolist() == [1, 0, 0]
    assert measures.means(values)["nDCG@10"] == pytest.approx(1 / 3)


def test_the_order_of_the_run_counts_and_not_the_ids() -> None:
    ids = [f"d{i}" for i in (5, 3, 9, 1)]
    values = measures.per_query({"q": ids}, {"q": {"d9": 1}})
    assert values["RR"].tolist() == [1 / 3]


def test_a_document_counts_once_where_it_stands_first() -> None:
    values = measures.per_query({"q": ["x", "x", "a", "a"]}, {"q": {"a": 1}})
    assert values["RR"].tolist() == [1 / 2]
    assert values["R@5"].tolist() == [1]


@given(
    st.lists(st.sampled_from("abcdefghijklmnop"), unique=True, max_size=16),
    st.dictionaries(st.sampled_from("abcdefghijklmnop"), st.integers(1, 3), min_size=1),
)
def test_agrees_with_the_definitions(ids: list[str], grades: dict[str, int]) -> None:
    values = measures.means(measures.per_query({"q": ids}, {"q": grades}))
    assert values == pytest.approx(independent(ids, grades), abs=1e-6)


def test_a_whole_set_agrees_with_the_definitions_to_1e_6() -> None:
    dataset = load("sample", "test")
    run = PlainBM25(dataset.documents).search_all(dataset.queries, 100)
    theirs = measures.per_query(run, dataset.qrels)
    mine = [independent(run[query], dict(grades)) for query, grades in dataset.qrels.items()]
    for name in measures.MEASURES:
        np.testing.assert_allclose(theirs[name], [values[name] for values in mine], atol=1e-6)
