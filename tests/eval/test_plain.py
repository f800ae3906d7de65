from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from eval.datasets import Document, load
from eval.measures import means, per_query
from eval.plain import PlainBM25

# nDCG@10 on test of tantivy with its default tokenizer, measured by another program. How tokens repeated in a query
# count and how ties fall differs between the two by up to .006.
REFERENCE = {
    "entire_sessions": 0.425,
    "tydiqa_ko": 0.504,
    "question_pair_ko": 0.539,
    "ai_interview_ko": 0.620,
    "tech_interview_ko": 0.326,
    "madial_en": 0.298,
}


def index(texts: Mapping[str, str]) -> PlainBM25:
    return PlainBM25([Document(key, "", text) for key, text in texts.items()])


def test_a_rarer_word_weighs_more() -> None:
    plain = index({"a": "red apple", "b": "red house", "c": "red house"})
    assert plain.search("red apple", 10)[0] == "a"


def test_a_particle_hides_a_word_from_it() -> None:
    plain = index({"a": "배포는 금요일에 금지한다"})
    assert plain.search("배포", 10) == []
    assert plain.search("배포는", 10) == ["a"]


@pytest.mark.parametrize("query", ["", "?!", "memory:safe", 'say "hi', "foo AND", "(python", "-배포", "*", "\\"])
def test_no_query_is_an_error(query: str) -> None:
    assert index({"a": "safe"}).search(query, 10) == (["a"] if "safe" in query else [])


def test_equal_scores_come_in_the_order_of_the_corpus_and_depth_cuts() -> None:
    assert index({"b": "same", "a": "same", "c": "same"}).search("same", 2) == ["b", "a"]


@pytest.mark.shared_data
@pytest.mark.parametrize("name", REFERENCE)
def test_the_harness_reproduces_the_known_figures(shared_data: Path, name: str) -> None:
    dataset = load(str(shared_data / name), "test")
    run = PlainBM25(dataset.documents).search_all(dataset.queries, 100)
    assert means(per_query(run, dataset.qrels))["nDCG@10"] == pytest.approx(REFERENCE[name], abs=0.007)
