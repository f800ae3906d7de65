"""Evidence: nonsense is told from questions, in Korean and English, in a store of any size."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from indexes.embedder import FastEmbedder
from pipeline import Gieok
from pipeline.evidence import Evidence, noise_texts, noise_vectors

Open = Callable[..., Gieok]
Notes = Callable[..., Path]


@pytest.mark.parametrize(
    ("coverage", "margin", "enough"),
    [(0.2, -1, True), (0.1, 0.03, True), (0.1, 0.02, False), (0.01, math.nan, True), (0, math.nan, False)],
)
def test_words_or_meaning_are_enough(coverage: float, margin: float, enough: bool) -> None:
    assert Evidence(coverage, margin).supports(min_coverage=0.2, min_margin=0.03) is enough


def test_noise_is_always_the_same_and_kept(tmp_path: Path) -> None:
    assert noise_texts() == noise_texts()
    model, kept = FastEmbedder(), tmp_path / "noise.npz"
    first = noise_vectors(model, kept)
    assert np.array_equal(first, noise_vectors(model, kept))
    kept.write_bytes(b"broken")
    assert np.array_equal(first, noise_vectors(model, kept))
    other = noise_vectors(FastEmbedder(centred=False), kept)  # another model: made anew
    assert not np.array_equal(first, other)


@pytest.mark.parametrize("size", [1, 5])
def test_small_stores_answer_questions_and_not_nonsense(open_gieok: Open, notes: Notes, size: int) -> None:
    texts = {
        "a.md": "금요일 배포는 되돌릴 사람이 없어서 금지했다.",
        "b.md": "The retry limit is five attempts with exponential backoff.",
        "c.md": "점심은 국수를 먹었다.",
        "d.md": "데이터베이스 인덱스를 추가했다.",
        "e.md": "Raised the cache size to 512 entries.",
    }
    memory = open_gieok()
    memory.index([notes(dict(list(texts.items())[:size]))])
    for question in ("왜 주말 직전에 릴리스를 막았나?", "why is deploying on Friday forbidden?"):
        assert memory.find(question).result.index[0].summary == texts["a.md"]
    for nonsense in ("쀍뛣 훩쮁 뀱", "zxqv wplk jjfh", "뚫꿸쫡 낢", "grwbk tsvq"):
        assert memory.find(nonsense).result.index == []
