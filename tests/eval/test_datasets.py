from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from eval import datasets
from indexes.errors import SourceError, UsageError

MakeSet = Callable[..., Path]


def test_a_good_set_is_read_whole(make_set: MakeSet) -> None:
    loaded = datasets.load(str(make_set()), "test")
    assert (loaded.name, loaded.split, loaded.problems) == ("tiny", "test", ())
    assert [document.id for document in loaded.documents] == ["deploy", "index", "ticket", "cache", "lunch"]
    assert loaded.queries["q3"] == "PAY-4821"
    assert loaded.qrels["q2"] == {"index": 1}


def test_only_the_queries_of_the_split_are_asked(make_set: MakeSet) -> None:
    loaded = datasets.load(str(make_set(qrels={"q2": {"index": 1}})), "test")
    assert list(loaded.queries) == ["q2"]


def test_qrels_need_no_header(make_set: MakeSet) -> None:
    assert datasets.load(str(make_set(qrels="q1\tdeploy\t2\n")), "test").qrels == {"q1": {"deploy": 2}}


def test_a_line_separator_inside_a_text_ends_no_row(make_set: MakeSet) -> None:
    documents = [{"_id": "a", "title": "", "text": "one\u2028two\x85three", "metadata": {}}]
    loaded = datasets.load(str(make_set(documents=documents, qrels={"q1": {"a": 1}})), "test")
    assert loaded.documents[0].text == "one\u2028two\x85three"


def test_a_missing_split_is_refused_and_the_others_are_named(make_set: MakeSet) -> None:
    with pytest.raises(UsageError, match=r"'tiny' has no split 'train'; it has: dev, test"):
        datasets.load(str(make_set()), "train")


def test_an_unknown_set_is_refused() -> None:
    with pytest.raises(UsageError, match="No dataset 'nowhere'"):
        datasets.load("nowhere", "test")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"documents": [{"_id": "a", "text": "x"}] * 2}, r"corpus.jsonl: 1 repeated ids \(a\)"),
        ({"queries": [{"_id": "q1", "text": "x"}] * 3}, r"queries.jsonl: 2 repeated ids \(q1, q1\)"),
        ({"documents": [{"_id": 7, "text": "x"}]}, r'corpus.jsonl:1: needs an object with the texts "_id" and "text"'),
        ({"documents": ["x"]}, r"corpus.jsonl:1: needs an object"),
        ({"qrels": {"q9": {"deploy": 1}}}, r"test.tsv: 1 query ids \(q9\) judged but not in queries.jsonl"),
        ({"qrels": {"q1": {"deploy": 0}}}, "no document is relevant to any query"),
        ({"qrels": ""}, "no document is relevant to any query"),
        ({"qrels": "q1\tdeploy\n"}, r"test.tsv:1: needs query id, document id and a whole grade"),
        ({"qrels": "q1\tdeploy\t1\nq1\tdeploy\t1\n"}, r"test.tsv:2: 'q1' and 'deploy' are judged twice"),
    ],
)
def test_what_cannot_be_scored_is_refused_by_name(make_set: MakeSet, change: dict[str, object], message: str) -> None:
    with pytest.raises(SourceError, match=message):
        datasets.load(str(make_set(**change)), "test")


def test_a_broken_line_is_named(make_set: MakeSet) -> None:
    folder = make_set()
    with (folder / "corpus.jsonl").open("a", encoding="utf-8") as file:
        file.write('{"_id": "cut off')
    with pytest.raises(SourceError, match=r"corpus.jsonl:6: not JSON"):
        datasets.load(str(folder), "test")


def test_a_judged_document_outside_the_corpus_is_reported_and_stays_relevant(make_set: MakeSet) -> None:
    loaded = datasets.load(str(make_set(qrels={"q1": {"deploy": 1, "gone": 1}})), "test")
    assert loaded.qrels["q1"] == {"deploy": 1, "gone": 1}
    (problem,) = loaded.problems
    assert (problem.count, problem.examples) == (1, ("gone",))
    assert "not in the corpus: 1 (gone)" in str(problem)


def test_a_query_without_a_relevant_document_is_reported_and_in_no_mean(make_set: MakeSet) -> None:
    loaded = datasets.load(str(make_set(qrels={"q1": {"deploy": 1}, "q2": {"index": 0}})), "test")
    assert list(loaded.queries) == ["q1"]
    assert str(loaded.problems[0]).startswith("queries without a relevant document: 1 (q2)")


def test_an_empty_query_is_reported_and_stays_in_the_mean(make_set: MakeSet) -> None:
    loaded = datasets.load(str(make_set(queries={"q1": " ", "q2": "x"}, qrels={"q1": {"deploy": 1}})), "test")
    assert list(loaded.queries) == ["q1"]
    assert str(loaded.problems[0]).startswith("empty queries: 1 (q1)")


def test_sets_are_found_in_the_data_folder(make_set: MakeSet, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = make_set("mine")
    monkeypatch.setenv("GIEOK_DATA", str(folder.parent))
    assert set(datasets.found()) == {"mine", "sample"}
    assert datasets.load("mine", "dev").path == folder.resolve()


@pytest.mark.parametrize("split", ["dev", "test"])
def test_the_built_in_sample_has_no_problems(split: str) -> None:
    assert datasets.load("sample", split).problems == ()


@pytest.mark.shared_data
def test_the_shared_sets_have_the_sizes_of_their_readme(shared_data: Path) -> None:
    sizes = {"entire_sessions": (307, 254, 233), "question_pair_ko": (9844, 1000, 1000), "madial_en": (160, 83, 77)}
    for name, expected in sizes.items():
        dev, test = (datasets.load(str(shared_data / name), split) for split in ("dev", "test"))
        assert (len(dev.documents), len(dev.queries), len(test.queries)) == expected
        assert not dev.problems
        assert not test.problems
