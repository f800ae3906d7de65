"""The bundled model without fastembed: the same vectors."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from fastembed import TextEmbedding
from fastembed.common.model_description import ModelSource, PoolingType

from indexes import ahead, bundled
from indexes.bundled import BundledModel
from indexes.embedder import FastEmbedder
from indexes.errors import EmbedderError

FOLDER = Path(bundled.__file__).parent / "models/e5-small-ko-en"
TEXTS = [
    "query: 배포 언제?",
    "passage: " + "긴 글 mixed text " * 400,
    "passage: <mask> <pad> 값 ",
    "",
    "passage: 😀 ㅋㅋ",
]


def test_vectors_and_counts_are_those_of_fastembed() -> None:
    TextEmbedding.add_custom_model(
        model="test/bundled",
        pooling=PoolingType.DISABLED,
        normalization=False,
        sources=ModelSource(hf="test/bundled"),
        dim=json.loads((FOLDER / "config.json").read_bytes())["hidden_size"],
        model_file="model.onnx",
    )
    theirs = TextEmbedding("test/bundled", specific_model_path=str(FOLDER))
    ours = BundledModel(None)
    expected = np.array(list(theirs.passage_embed(TEXTS, batch_size=len(TEXTS))))
    assert np.array_equal(np.array(list(ours.passage_embed(TEXTS, batch_size=len(TEXTS)))), expected)
    assert ours.token_count(TEXTS) == theirs.token_count(TEXTS)


@pytest.mark.parametrize(("model", "threads"), [("e5-small-ko-en", None), ("e5-small-ko-en", 1), ("other/model", None)])
def test_a_model_that_was_begun_ahead_gives_the_same_vectors(model: str, threads: int | None) -> None:
    expected = FastEmbedder().embed_query("배포 언제?")
    ahead.begin(model, threads)
    ahead.begin(model, threads)  # a second time is harmless
    assert np.array_equal(FastEmbedder().embed_query("배포 언제?"), expected)
    assert ahead.taken(threads) is None  # it is given once, and none is left over


def test_a_model_that_cannot_be_loaded_ahead_fails_where_it_is_needed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(ahead, "BUNDLED_FOLDER", tmp_path)
    ahead.begin("e5-small-ko-en", None)
    with pytest.raises(EmbedderError, match="Reinstall gieok"):
        FastEmbedder().embed_query("배포 언제?")
