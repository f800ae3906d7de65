"""The labelled pairs: what is one pattern and what only looks like one."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path

import pytest

from indexes.embedder import FastEmbedder
from pipeline.reflect.clusters import clusters
from pipeline.reflect.cues import cues_of
from pipeline.reflect.likeness import Likeness

with Path(__file__).with_name("pairs.tsv").open(encoding="utf-8") as file:
    PAIRS = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))


def measured(split: str, said: Callable[[int, int], bool]) -> tuple[float, float]:
    """Precision and recall on one half; rows of pair n are 2n and 2n + 1."""
    hits = [
        (pair["label"] == "same", said(2 * number, 2 * number + 1))
        for number, pair in enumerate(PAIRS)
        if pair["split"] == split
    ]
    right = sum(same and found for same, found in hits)
    return right / sum(found for _, found in hits), right / sum(same for same, _ in hits)


@pytest.fixture(scope="module")
def texts() -> list[str]:
    return [pair[side] for pair in PAIRS for side in ("a", "b")]


@pytest.mark.parametrize(
    ("model", "dev", "test"),
    [(True, (1.0, 0.70), (0.90, 0.90)), (False, (1.0, 0.50), (0.90, 0.70))],
    ids=["vectors", "words"],
)
def test_precision_and_recall(
    texts: list[str], model: bool, dev: tuple[float, float], test: tuple[float, float]
) -> None:
    likeness = Likeness(texts, FastEmbedder() if model else None)
    for split, (precision, recall) in (("dev", dev), ("test", test)):
        got = measured(split, lambda left, right: likeness.score(left, right) >= likeness.threshold)
        assert got[0] >= precision, split
        assert got[1] >= recall, split


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("테스트를 먼저 쓴다", "테스트를 나중에 쓴다"),
        ("로그를 남긴다", "로그를 남기지 않는다"),
        ("Deploy on Friday", "Deploy on Monday"),
        ("PR은 300줄 이하", "PR은 500줄 이하"),
        ("설치는 uv로 한다", "설치는 poetry로 한다"),
        ("Prefer classes over functions", "Prefer functions over classes"),
    ],
)
def test_cues_tell_apart(left: str, right: str) -> None:
    assert cues_of(left).clash(cues_of(right))
    assert cues_of(right).clash(cues_of(left))
    assert not cues_of(left).clash(cues_of(left))


def test_no_chain_joins_strangers() -> None:
    class Chain(Likeness):
        """Neighbours are alike, all others are not."""

        def __init__(self) -> None:
            self.threshold = 0.9

        def score(self, left: int, right: int) -> float:
            return {1: 0.95}.get(abs(left - right), 0.1)

    found = clusters(Chain(), [(0, 1), (1, 2), (2, 3)])
    assert found == [[0, 1], [2, 3]]
