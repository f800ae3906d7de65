"""The bundled model without fastembed: the same vectors."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from fastembed import TextEmbedding
from fastembed.common.model_description import ModelSource, PoolingType

from indexes import bundled
from indexes.bundled import BundledModel

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
    ours = BundledModel(FOLDER, None)
    expected = np.array(list(theirs.passage_embed(TEXTS, batch_size=len(TEXTS))))
    assert np.array_equal(np.array(list(ours.passage_embed(TEXTS, batch_size=len(TEXTS)))), expected)
    assert ours.token_count(TEXTS) == theirs.token_count(TEXTS)
