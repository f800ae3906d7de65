from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from eval.datasets import load
from eval.run import bins, macro, run
from pipeline import Settings

MakeSet = Callable[..., Path]


def test_every_system_is_measured_on_every_set(make_set: MakeSet, cache: Path) -> None:
    datasets = [load(str(make_set(name)), "test") for name in ("one", "two")]
    file = run(datasets, cache, Settings(), plain=True, worst=1)
    assert list(file.sets) == ["one", "two"]
    assert list(file.sets["one"]) == ["plain", "words", "vectors", "rrf", "default"]
    assert file.sets["one"] == file.sets["two"]
    # Every query names something that only its document has, so the words alone put each first.
    assert file.sets["one"]["words"]["Success@1"] == 1
    assert file.macro["words"] == file.sets["one"]["words"]
    assert set(file.intervals) == set(file.tests) == {"one", "two", "macro"}
    assert len(file.tests["macro"]) == 10
    assert [miss.set for miss in file.worst] == ["one", "two"]
    assert sum(part.count for part in file.reliability) == 8
    assert (file.corpora["one"].documents, file.corpora["one"].queries) == (5, 4)


def test_an_empty_query_counts_zero_in_every_mean(make_set: MakeSet, cache: Path) -> None:
    folder = make_set(queries={"q3": "PAY-4821", "q1": " "}, qrels={"q3": {"ticket": 1}, "q1": {"deploy": 1}})
    file = run([load(str(folder), "test")], cache, Settings())
    assert all(values["nDCG@10"] == 0.5 for values in file.sets["tiny"].values())
    assert [str(problem) for problem in file.problems["tiny"]] == [
        "empty queries: 1 (q1); there is nothing to ask: they count 0 in every mean"
    ]


def test_a_judged_document_outside_the_corpus_lowers_the_recall(make_set: MakeSet, cache: Path) -> None:
    folder = make_set(qrels={"q3": {"ticket": 1, "gone": 1}})
    file = run([load(str(folder), "test")], cache, Settings())
    assert file.sets["tiny"]["words"]["R@10"] == 0.5


def test_the_macro_mean_counts_every_set_the_same() -> None:
    figures = {"small": {"a": {"RR": 1.0}}, "large": {"a": {"RR": 0.0}}}
    assert macro(figures) == {"a": {"RR": 0.5}}


def test_bins_by_hand() -> None:
    made = bins([(0.95, True), (1.0, False), (0.31, True)])
    assert [(part.count, part.score, part.relevant) for part in made] == [
        (1, 0.31, 1.0),
        (2, pytest.approx(0.975), 0.5),
    ]


@pytest.mark.shared_data
def test_a_shared_set_reaches_what_the_prototype_did(shared_data: Path, cache: Path) -> None:
    """madial_en is the smallest. A fiftieth below the prototype is what 77 queries may differ by."""
    file = run([load(str(shared_data / "madial_en"), "test")], cache, Settings())
    prototype = {"words": 0.407, "vectors": 0.467, "rrf": 0.501, "default": 0.501}
    for system, least in prototype.items():
        assert file.sets["madial_en"][system]["nDCG@10"] >= least - 0.02
