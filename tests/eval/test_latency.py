from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from eval.datasets import Document, load
from eval.grow import MixingEmbedder, grown, paragraphs
from eval.latency import latency, probe, sample, timing
from indexes.errors import StoreError
from pipeline import Settings

MakeSet = Callable[..., Path]


def test_every_layer_is_timed_at_own_size_and_grown(make_set: MakeSet, tmp_path: Path) -> None:
    file = latency([load(str(make_set()), "test")], tmp_path / "cache", Settings(), sizes=(40,), cold=1)
    own, big = file.corpora
    assert (own.name, own.memories) == ("tiny", 5)
    assert (big.name, big.memories) == ("grown to 40", 40)
    assert big.passages >= 40
    assert "not the model's" in big.how
    for row in (own, big):
        assert [layer.layer for layer in row.layers] == [1, 2, 3]
        for layer in row.layers:
            # A fresh process loads the product first: hundreds of ms against less than ten.
            assert layer.cold.p50 > layer.miss.p50
            assert layer.miss.p50 >= layer.hit.p50 > 0
        assert row.layers[0].miss.calls == 4
        # The whole command does all that and starts the interpreter.
        assert row.cold_process.p50 > row.layers[1].miss.p50
        assert row.peak_rss_bytes > 50_000_000
        assert all(size > 0 for size in row.disk_bytes.values())


def test_percentiles_are_times_that_were_seen() -> None:
    made = timing([float(ms) for ms in range(1, 101)])
    assert (made.calls, made.p50, made.p95, made.p99) == (100, 51, 96, 100)


def test_queries_are_distinct_and_the_same_each_time() -> None:
    many = [f"q{i % 300}" for i in range(900)] + [" "]
    assert len(set(sample(many))) == len(sample(many)) == 200
    assert sample(many) == sample(reversed(many))  # type: ignore[arg-type]


def test_grown_memories_are_made_of_real_paragraphs() -> None:
    documents = [Document("a", "", "one\n\ntwo"), Document("b", "", "three")]
    rows = list(grown(documents, 200))
    assert len({row["id"] for row in rows}) == 200
    contents = [str(row["content"]) for row in rows]
    assert {part for content in contents for part in paragraphs(content)} == {"one", "two", "three"}
    assert {len(paragraphs(content)) for content in contents} == {1, 2}
    assert rows == list(grown(documents, 200))


def test_mixed_vectors_have_unit_length_and_stay_near_real_ones() -> None:
    pool = np.eye(8, dtype=np.float32)
    vectors = MixingEmbedder("m", pool).embed_passages(["text"] * 50)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    assert len(np.unique(vectors, axis=0)) == 50
    assert np.all((vectors @ pool.T).max(axis=1) > 0.5)


def test_a_failing_process_is_reported_with_its_last_line(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"-m eval.probe ended with 1: .*'queries'"):
        probe({"mode": "warm", "home": str(tmp_path / "home"), "settings": {}})
