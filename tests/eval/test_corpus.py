from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from eval.corpus import IndexedSet, index_key, indexed, row, rows_text
from eval.datasets import Document, load
from indexes.errors import EmbedderError, SourceError
from pipeline import Settings
from pipeline.progress import Progress

MakeSet = Callable[..., Path]


def test_a_document_becomes_a_row_of_our_own_format() -> None:
    document = Document(
        "d", "Title", "Text", {"type": "note", "session_id": "s", "timestamp": "2026-01-30", "path": "a.md"}
    )
    assert row(document) == {
        "id": "d",
        "content": "Text",
        "title": "Title",
        "type": "insight",
        "metadata": {"path": "a.md", "kind": "note"},
        "session": "s",
        "timestamp": "2026-01-30",
    }


def test_a_type_of_ours_is_kept() -> None:
    assert row(Document("d", "", "Text", {"type": "prompt"}))["type"] == "prompt"


def test_a_document_that_is_only_a_title_keeps_it_as_its_text() -> None:
    entry = row(Document("d", "Title", " "))
    assert (entry["content"], entry["title"]) == ("Title", "")


def test_the_key_follows_corpus_and_model() -> None:
    one, two = (rows_text([Document("d", "", text)]) for text in ("one", "two"))
    assert index_key(one, "m") == index_key(one, "m")
    assert len({index_key(one, "m"), index_key(two, "m"), index_key(one, "n")}) == 3


def test_documents_are_found_under_their_own_ids(make_set: MakeSet, cache: Path) -> None:
    dataset = load(str(make_set()), "test")
    with indexed(dataset, cache, Settings()) as here:
        assert here.problems == ()
        rankings = here.gieok.rank("PAY-4821", depth=5)
        assert rankings.words is not None
        assert here.keys(rankings.words.ids) == ["ticket"]
        hits = here.gieok.search_index("PAY-4821", top_k=1)
        assert here.keys_of([hit.id for hit in hits]) == ["ticket"]


def test_an_index_is_kept_between_runs(make_set: MakeSet, tmp_path: Path) -> None:
    dataset = load(str(make_set()), "test")
    told: list[Progress] = []

    def open_() -> IndexedSet:
        with indexed(dataset, tmp_path / "cache", Settings(), lambda _: told.append) as here:
            return here

    first = open_()
    assert first.seconds > 0
    assert any(progress.stage == "vectors" for progress in told)
    told.clear()
    again = open_()
    assert (again.seconds, again.key) == (0.0, first.key)
    assert not any(progress.stage == "vectors" for progress in told)


def test_an_interrupted_index_is_finished(make_set: MakeSet, tmp_path: Path) -> None:
    dataset = load(str(make_set()), "test")
    with indexed(dataset, tmp_path / "cache", Settings(), vectors=False) as here:
        assert here.gieok.status().vectors.pending == 5
    with indexed(dataset, tmp_path / "cache", Settings()) as here:
        assert here.gieok.status().vectors.pending == 0
        assert here.seconds > 0


def test_without_a_model_the_vector_systems_are_refused(make_set: MakeSet, tmp_path: Path) -> None:
    from eval.systems import ask

    settings = Settings.model_validate({"embedder": {"model": "none"}})
    dataset = load(str(make_set()), "test")
    with indexed(dataset, tmp_path / "cache", settings) as here, pytest.raises(EmbedderError, match="vector leg"):
        ask(here)


def test_a_cache_folder_that_cannot_be_made_is_named(make_set: MakeSet, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    with (
        pytest.raises(SourceError, match=r"cannot be written .* Give another folder by --cache"),
        indexed(load(str(make_set()), "test"), tmp_path / "file", Settings()),
    ):
        pass
