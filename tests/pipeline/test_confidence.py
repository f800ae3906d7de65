"""Confidence: absolute features, a score that never rises, and no promise outside of what it was fitted for."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from indexes.analyzer import ANALYZER_VERSION, analyze_query
from indexes.embedder import FastEmbedder
from indexes.types import DenseRanking, LexicalRanking
from pipeline import Gieok
from pipeline.confidence import (
    ANCHORS,
    ENOUGH,
    FALLBACK_FEATURES,
    FEATURES,
    FILE,
    FLOOR,
    NO_MARGIN,
    Confidence,
    Logistic,
)
from pipeline.evidence import Evidence
from pipeline.order import Candidates, Order
from pipeline.retriever import Rankings

Open = Callable[..., Gieok]
Notes = Callable[..., Path]
IDENTITY = ((0.0, 0.0), (1.0, 1.0))


def rankings(
    hits: Sequence[tuple[float, float]], query: str = "배포 금지 요일", passages: int = 1, *, words: bool = True
) -> Rankings:
    """What a search found: pairs of coverage and margin, in rows 1, 2, …; a margin of NaN is a hit without a vector."""
    rids = np.arange(1, len(hits) + 1)
    coverage, margin = (np.array(column, np.float32) for column in zip(*hits, strict=True))
    ranks = np.arange(1.0, len(hits) + 1)
    candidates = Candidates(
        rids=rids,
        words_rank=ranks,
        vectors_rank=ranks,
        bm25=coverage,
        coverage=coverage,
        cosine=margin,
        passages=np.full(len(hits), passages, np.int32),
        background=0.0,
    )
    return Rankings(
        query=analyze_query(query),
        words=LexicalRanking(rids, coverage, coverage, 1.0) if words else None,
        vectors=DenseRanking(rids, margin, np.zeros((len(hits), 2), np.int32), candidates.passages, 0.0, 0.1),
        candidates=candidates,
        fused=[(int(rid), 1 / rid) for rid in rids],
        evidence={int(rid): Evidence(float(c), float(m)) for rid, c, m in zip(rids, coverage, margin, strict=True)},
    )


@pytest.fixture
def shipped() -> Confidence:
    model = FastEmbedder().name
    order = Order.load(model=model, analyzer=ANALYZER_VERSION)
    assert order is not None
    return Confidence.load(model=model, analyzer=ANALYZER_VERSION, order=f"evidence:{order.fingerprint}")


def feature(confidence: Confidence, found: Rankings, name: str) -> list[float]:
    rids = [rid for rid, _ in found.fused]
    return [round(float(v), 4) for v in confidence.features(found, rids)[:, FEATURES.index(name)]]


def test_what_is_shipped_belongs_to_what_is_shipped(shipped: Confidence) -> None:
    """Fails after a new model, analyzer or order: run `python -m eval calibrate --ship`."""
    assert shipped.calibrated


def test_features_by_hand(shipped: Confidence) -> None:
    found = rankings([(0.9, 0.30), (0.5, 0.25), (0.2, math.nan)], query="deploy on friday", passages=3)
    assert feature(shipped, found, "coverage") == [0.9, 0.5, 0.2]
    assert feature(shipped, found, "margin") == [0.3, 0.25, NO_MARGIN]
    assert feature(shipped, found, "coverage_lead") == [0.4, -0.4, -0.7]  # 0.9 - 0.5, 0.5 - 0.9, 0.2 - 0.9
    assert feature(shipped, found, "margin_lead") == [0.05, -0.05, -0.35]
    # Fewer than eleven candidates: the tail is nothing, and what a cosine needs at least to say something.
    assert feature(shipped, found, "coverage_tail") == [0.9, 0.5, 0.2]
    assert feature(shipped, found, "margin_tail") == [0.35, 0.3, 0.0]
    assert feature(shipped, found, "words") == [pytest.approx(math.log(4), abs=1e-4)] * 3
    assert feature(shipped, found, "passages") == [pytest.approx(math.log(3), abs=1e-4)] * 3


def test_the_tail_is_the_eleventh(shipped: Confidence) -> None:
    found = rankings([(0.9 - 0.05 * i, 0.5 - 0.02 * i) for i in range(12)])
    assert feature(shipped, found, "coverage_tail")[0] == pytest.approx(0.5)  # 0.9 - 0.4
    assert feature(shipped, found, "margin_tail")[0] == pytest.approx(0.2)  # 0.5 - 0.3


def test_a_memory_that_is_alone_leads_nothing_but_noise(shipped: Confidence) -> None:
    found = rankings([(0.6, 0.02)])
    assert feature(shipped, found, "coverage_lead") == [0.6]
    assert feature(shipped, found, "margin_lead") == [0.07]  # 0.02 - (-0.05)
    assert feature(shipped, rankings([(0.6, 0.4)]), "margin_lead") == [ENOUGH]


@given(st.lists(st.tuples(st.floats(0, 1), st.floats(-0.5, 0.8) | st.just(math.nan)), min_size=1, max_size=30))
def test_scores_lie_in_range_and_never_rise(hits: list[tuple[float, float]]) -> None:
    data = json.loads(FILE.read_text(encoding="utf-8"))
    confidence = Confidence.load(model=data["model"], analyzer=data["analyzer"], order=data["order"])
    found = rankings(hits)
    scores = confidence.scores(found, [rid for rid, _ in found.fused])
    assert len(scores) == len(hits)
    assert all(0 <= score <= 1 for score in scores)
    assert scores == sorted(scores, reverse=True)


def test_no_hits_no_scores(shipped: Confidence) -> None:
    assert shipped.scores(rankings([(1.0, 0.5)]), []) == []


def test_more_evidence_never_lowers_p(shipped: Confidence) -> None:
    weak, more_words, nearer = (rankings([hit, (0.1, 0.0)]) for hit in ((0.4, 0.1), (0.8, 0.1), (0.4, 0.3)))
    p = [shipped.probability(found, [1])[0] for found in (weak, more_words, nearer)]
    assert p[0] < p[1]
    assert p[0] < p[2]


def test_a_rival_lowers_p(shipped: Confidence) -> None:
    alone, beside = rankings([(0.8, 0.3), (0.1, 0.0)]), rankings([(0.8, 0.3), (0.8, 0.3)])
    assert shipped.probability(beside, [1])[0] < shipped.probability(alone, [1])[0]


def test_the_map_meets_its_anchors() -> None:
    model = Logistic(0.0, (1.0,), ((0.0, 0.0), (0.1, 0.7), (0.6, 0.8), (0.9, 0.85), (1.0, 0.91)))
    assert model.score(np.array([0.0, 0.05, 0.1, 0.35, 0.6, 0.9, 1.0])).tolist() == pytest.approx(
        [0.0, 0.35, 0.7, 0.75, 0.8, 0.85, 0.91]
    )
    assert Confidence(model, model).certified == (0.80, 0.85)  # 0.92 is off


def test_nothing_is_shown_if_the_first_hit_is_not_worth_an_answer() -> None:
    weights = tuple(float(name == "margin") for name in FEATURES)
    knots = ((0.0, 0.0), (0.1, 0.7), (1.0, 1.0))
    found = rankings([(0.0, 0.0), (0.0, -0.1)])  # p of the first: 1 / (1 + e^0) = .5
    for answer, shown in ((0.49, True), (0.51, False)):
        confidence = Confidence(Logistic(0.0, weights, knots, answer), Logistic(0.0, (0.0, 0.0), IDENTITY))
        assert [score >= FLOOR for score in confidence.scores(found, [1, 2])] == [shown, shown]


@pytest.mark.parametrize("changed", ["model", "analyzer", "order"])
def test_another_combination_is_judged_by_the_fallback(changed: str) -> None:
    data = json.loads(FILE.read_text(encoding="utf-8"))
    given_ = {name: data[name] for name in ("model", "analyzer", "order")}
    assert Confidence.load(**given_).calibrated
    other = Confidence.load(**given_ | {changed: "other"})
    assert not other.calibrated
    assert other.certified == ()


@given(st.floats(0, 1), st.floats(-0.05, 1))
def test_the_fallback_shows_what_has_evidence_and_expands_nothing(coverage: float, margin: float) -> None:
    scores = Confidence.load(model="?", analyzer="?", order="?").scores(rankings([(coverage, margin)]), [1])
    assert FLOOR - 1e-6 <= scores[0] < ANCHORS[0]


def test_a_hit_without_a_vector_and_an_answer_without_a_leg_are_judged_by_the_fallback(shipped: Confidence) -> None:
    fallback = Confidence(None, shipped.fallback)
    lagging = rankings([(1.0, math.nan), (0.3, 0.1)])
    assert shipped.probability(lagging, [1]) == fallback.probability(lagging, [1])
    assert shipped.probability(lagging, [2]) != fallback.probability(lagging, [2])
    assert shipped.scores(lagging, [1])[0] >= FLOOR  # words without vectors are shown
    wordless = rankings([(0.0, 0.5)], words=False)
    assert shipped.probability(wordless, [1]) == fallback.probability(wordless, [1])


def test_the_shipped_maps_rise(shipped: Confidence) -> None:
    assert shipped.model is not None
    for model, features in ((shipped.model, FEATURES), (shipped.fallback, FALLBACK_FEATURES)):
        assert len(model.weights) == len(features)
        p, score = (list(column) for column in zip(*model.knots, strict=True))
        assert p == sorted(set(p))
        assert score == sorted(set(score))
        assert (p[0], p[-1]) == (0, 1)


def test_it_takes_less_than_a_millisecond(shipped: Confidence) -> None:
    found = rankings([(1 - i / 200, 0.5 - i / 300) for i in range(110)])  # 50 + 60 candidates, no two the same
    rids = [rid for rid, _ in found.fused]
    times = []
    for _ in range(30):
        began = time.perf_counter()
        shipped.scores(found, rids)
        times.append(time.perf_counter() - began)
    assert min(times) < 0.001


QUESTIONS = {
    "왜 금요일에는 배포를 안 하지?": "friday.md",
    "why is deploying on Friday forbidden?": "friday.md",
    "how often do we retry?": "retry.md",
    "재시도는 몇 번까지 하나?": "retry.md",
}


@pytest.mark.parametrize("question", QUESTIONS)
def test_an_answer_is_surer_than_what_is_left_without_it(
    open_gieok: Open, notes: Notes, shipped: Confidence, question: str
) -> None:
    """In a store of five memories, in both languages and across them."""
    texts = {
        "friday.md": "금요일 배포는 되돌릴 사람이 없어서 금지했다.",
        "retry.md": "The retry limit is five attempts with exponential backoff.",
        "lunch.md": "점심은 국수를 먹었다.",
        "index.md": "데이터베이스 인덱스를 추가했다.",
        "cache.md": "Raised the cache size to 512 entries.",
    }
    answer = QUESTIONS[question]
    top = {}
    for name, files in (("with", texts), ("without", {k: v for k, v in texts.items() if k != answer})):
        memory = open_gieok(name)
        memory.index([notes(files, name)])
        found = memory.rank(question)
        first = found.fused[0][0]
        if name == "with":
            assert memory.memories([first])[0].content == texts[answer]
        top[name] = shipped.probability(found, [first])[0]
    assert top["with"] > 2 * top["without"]
