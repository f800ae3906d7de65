"""Centring: languages meet, lengths stay one, and the share of Korean is what a reader would count."""

from __future__ import annotations

import unicodedata

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from indexes.centre import Centre, korean_share
from indexes.embedder import FastEmbedder


@pytest.mark.parametrize(
    ("text", "share"),
    [
        ("배포 금지", 1),
        ("deploy freeze", 0),
        ("배포 test", 0.5),  # two syllables weigh four letters
        ("API 키", 2 / 5),
        ("1234 🙂", 0.5),
        ("", 0.5),
    ],
)
def test_the_share_of_korean(text: str, share: float) -> None:
    assert korean_share(text) == pytest.approx(share)


@given(st.text())
def test_the_share_is_one(text: str) -> None:
    assert 0 <= korean_share(text) <= 1


def test_decomposed_hangul_is_korean_too() -> None:
    assert korean_share(unicodedata.normalize("NFD", "배포 금지")) == 1


def test_the_mean_of_the_texts_language_is_taken_away() -> None:
    means = np.array([[[0.5, 0, 0], [0, 0.5, 0]], [[0, 0, 0.5], [0, 0, 0]]], np.float32)
    centre = Centre(means)
    vectors = np.array([[1, 0, 0], [1, 0, 0]], np.float32)
    # Korean passage: (1, 0, 0) - (.5, 0, 0); English passage: (1, 0, 0) - (0, .5, 0); both of unit length again
    expected = np.array([[1, 0, 0], [2 / 5**0.5, -1 / 5**0.5, 0]])
    assert centre.apply(vectors, ["한글", "latin"], "passage") == pytest.approx(expected)
    assert centre.apply(vectors[:1], ["latin"], "query") == pytest.approx(vectors[:1])


def test_an_english_question_finds_the_korean_answer_among_english_memories() -> None:
    question = "why is deploying on Friday forbidden?"
    answer = "금요일 배포는 되돌릴 사람이 없어서 금지했다."
    others = [
        "Deploying takes ten minutes on the new server.",
        "The Friday meeting moved to three o'clock.",
        "Friday's release notes were forgotten.",
    ]
    for centred in (False, True):
        model = FastEmbedder(centred=centred)
        cosines = model.embed_passages([answer, *others]) @ model.embed_query(question)
        assert bool(cosines.argmax() == 0) is centred
