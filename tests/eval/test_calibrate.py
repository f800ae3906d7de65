"""Calibration: bounds that can be checked by hand, trials that hide what they say, tiers that stay off unproven."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from eval import fitting, risk, trials
from eval.calibrate import ship
from eval.cli import app
from eval.datasets import load
from eval.fitting import Asked
from eval.measures import Values
from eval.trials import Trial
from indexes.analyzer import analyze_query
from indexes.types import DenseRanking, LexicalRanking
from pipeline import Settings
from pipeline.confidence import FEATURES, Logistic
from pipeline.order import Candidates
from pipeline.retriever import Rankings

MakeSet = Callable[..., Path]


@pytest.mark.parametrize("n", [1, 10, 36, 56])
def test_bounds_of_a_clean_record(n: int) -> None:
    # All of n right: the proportion p with p^n = delta. None of n fired: 1 - p with the same p.
    assert risk.lower_bound(n, n) == pytest.approx(0.05 ** (1 / n))
    assert risk.upper_bound(0, n) == pytest.approx(1 - 0.05 ** (1 / n))


def test_bounds_at_the_ends() -> None:
    assert risk.lower_bound(0, 5) == 0
    assert risk.lower_bound(0, 0) == 0
    assert risk.upper_bound(5, 5) == 1
    assert risk.lower_bound(36, 36) >= 0.92 > risk.lower_bound(35, 35)  # the fewest clean hits that certify .92 alone


@given(st.integers(0, 50), st.integers(0, 50))
def test_the_bounds_enclose_what_was_seen(hits: int, misses: int) -> None:
    of = hits + misses
    if of:
        assert risk.lower_bound(hits, of) <= hits / of <= risk.upper_bound(hits, of)


def test_the_lowest_threshold_that_holds_is_certified() -> None:
    # At .9: 100 of 100 right, bound .05^(1/100) = .970. At .5: 100 of 200, far below.
    p, right = np.r_[np.full(100, 0.9), np.full(100, 0.5)], np.r_[np.ones(100), np.zeros(100)]
    assert risk.certify(p, right, (0.5, 0.9), 0.92) == 0.9
    assert risk.certify(p, np.ones(200), (0.5, 0.9), 0.92) == 0.5
    assert risk.certify(p, right, (0.5, 0.9), 0.971) is None
    # What fails above ends it: nothing below is tried any more.
    assert risk.certify(p, 1 - right, (0.5, 0.9), 0.4) is None
    assert risk.certify(p[:10], right[:10], (0.5, 0.9), 0.92) is None  # ten clean hits prove nothing


def test_silence_is_certified() -> None:
    # Of 300, none reaches .9: at most 1 - .05^(1/300) = .0099. All reach .5.
    p = np.full(300, 0.6)
    assert risk.certify_silence(p, (0.5, 0.9), 0.01) == 0.9
    assert risk.certify_silence(p, (0.5, 0.9), 0.009) is None


def test_calibration_error_by_hand() -> None:
    # Ten bins of one query each: five are off by .2, five by .4.
    p = np.array([0.2] * 5 + [0.6] * 5)
    right = np.array([0.0] * 5 + [1.0] * 5)
    assert risk.calibration_error(p, right, np.ones(10)) == pytest.approx(0.3)
    # The latter weigh nothing.
    assert risk.calibration_error(p, right, np.array([1.0] * 5 + [1e-12] * 5)) == pytest.approx(0.2)


def test_risk_grows_by_the_least_sure() -> None:
    p, right = np.array([0.9, 0.1, 0.8, 0.2]), np.array([1.0, 0.0, 1.0, 1.0])
    assert risk.risk_coverage(p, right, (0.5, 0.75, 1.0)) == [(0.5, 0.0), (0.75, 0.0), (1.0, 0.25)]
    assert risk.risk_coverage(np.zeros(0), np.zeros(0), (1.0,)) == []


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trials, "SMALL", {1: 2, 3: 2})


@pytest.mark.usefixtures("small")
def test_trials_hold_and_hide_what_they_say(make_set: MakeSet, cache: Path) -> None:
    dataset = load(str(make_set("question_pair_ko")), "dev")  # a name with a domain of its own
    other = load(str(make_set("other")), "dev")
    made = trials.trials(dataset, [other], cache, Settings())
    whole = [trial for trial in made if trial.store == trials.WHOLE]
    assert {trial.kind for trial in whole} == set(trials.KINDS)
    for answerable, knockout in zip(whole[:8:2], whole[1:8:2], strict=True):
        assert (answerable.kind, knockout.kind) == ("answerable", "knockout")
        assert answerable.query == knockout.query
        (answer,) = answerable.relevant
        assert answer in {rid for rid, _ in answerable.rankings.fused}
        assert answer not in {rid for rid, _ in knockout.rankings.fused}
        assert knockout.relevant == frozenset()
        rest = [rid for rid, _ in answerable.rankings.fused if rid != answer]
        assert {rid for rid, _ in knockout.rankings.fused} >= set(rest)
    assert {trial.query for trial in whole if trial.kind == "offtopic"} <= set(other.queries.values())
    for trial in made:
        if trial.store != trials.WHOLE:
            assert len(trial.rankings.fused) <= int(trial.store)
    assert {trial.store for trial in made} == {trials.WHOLE, "1", "3"}
    again = trials.trials(dataset, [other], cache, Settings())
    assert [(t.kind, t.store, t.query, t.rankings.fused) for t in again] == [
        (t.kind, t.store, t.query, t.rankings.fused) for t in made
    ]


def test_spread_is_even_and_keeps_all_of_few() -> None:
    assert trials.spread(list(range(10)), 5) == [0, 2, 4, 6, 8]
    assert trials.spread([1, 2], 5) == [1, 2]


def make_asked(name: str, query: str, kind: trials.Kind, features: Values, right: Values) -> Asked:
    """A trial of a whole store whose hits have these features."""
    rids, none, counts = np.zeros(0, np.int64), np.zeros(0, np.float32), np.zeros(0, np.int32)
    empty = Rankings(
        query=analyze_query(query),
        words=LexicalRanking(rids, none, none, 1.0),
        vectors=DenseRanking(rids, none, np.zeros((0, 2), np.int32), counts, 0.0, 0.0),
        candidates=Candidates(
            rids=rids,
            words_rank=none.astype(np.float64),
            vectors_rank=none.astype(np.float64),
            bm25=none,
            coverage=none,
            cosine=none,
            passages=counts,
            background=0.0,
        ),
        fused=[],
        evidence={},
    )
    trial = Trial(name, kind, trials.WHOLE, query, empty, frozenset(), "rrf")
    return Asked(trial, features, right, tuple(range(len(right))), features, right)


def world(strength: float, queries: int = 1500) -> list[Asked]:
    """Queries whose first hit is right with the odds of its margin times `strength`; knock-outs have low margins."""
    chance = np.random.default_rng(3)
    made = []
    for number in range(queries):
        features = np.zeros((1, len(FEATURES)))
        margin = float(chance.uniform(-0.3, 0.6))
        features[0, FEATURES.index("margin")] = margin
        right = np.array([float(chance.uniform() < 1 / (1 + np.exp(-strength * margin)))])
        made.append(make_asked("one", f"q{number}", "answerable", features, right))
        hidden = np.zeros((1, len(FEATURES)))
        hidden[0, FEATURES.index("margin")] = float(chance.uniform(-0.6, 0.0))
        made.append(make_asked("one", f"q{number}", "knockout", hidden, np.zeros(1)))
    return made


def test_a_fit_finds_the_world_and_promises_what_holds() -> None:
    asked = world(strength=30.0)
    found = fitting.fit(asked)
    assert found.model is not None
    assert found.certified == (0.80, 0.85, 0.92)
    by_name = dict(zip(FEATURES, found.model.weights, strict=True))
    assert by_name["margin"] > 10
    assert max(abs(weight) for name, weight in by_name.items() if name != "margin") < 1e-6  # they never vary
    fresh = [each for each in asked if not each.fits and each.trial.kind == "answerable"]
    scores = found.model.score(fitting.first_p(found.model, fresh))
    right = np.array([each.right[0] for each in fresh])
    for anchor in found.certified:
        assert right[scores >= anchor].mean() >= anchor


def test_what_holds_not_is_not_promised() -> None:
    found = fitting.fit(world(strength=0.0))  # right by chance, whatever the margin
    assert found.certified == ()
    assert found.model is not None
    assert found.model.score(np.array([1.0])).tolist() == [pytest.approx(0.79)]


def test_knockouts_that_look_right_keep_the_upper_tiers_off() -> None:
    model = Logistic(0.0, tuple(30.0 * (name == "margin") for name in FEATURES), ((0.0, 0.0), (1.0, 1.0)))
    quiet = world(strength=30.0)
    loud = np.zeros((1, len(FEATURES)))
    loud[0, FEATURES.index("margin")] = 0.6
    noisy = [
        make_asked("one", each.trial.query, "knockout", loud, np.zeros(1)) if each.trial.kind == "knockout" else each
        for each in quiet
    ]
    assert None not in fitting.thresholds(model, quiet).values()
    assert [anchor for anchor, p in fitting.thresholds(model, noisy).items() if p is None] == [0.85, 0.92]


@pytest.mark.usefixtures("small")
def test_the_command_reports_and_ships(
    make_set: MakeSet, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shipped = tmp_path / "confidence.json"
    monkeypatch.setattr("eval.cli.ship_confidence", lambda file: ship(file, shipped))
    sets = [str(make_set(name)) for name in ("question_pair_ko", "tydiqa_ko")]
    figures = tmp_path / "figures"
    result = CliRunner().invoke(
        app, ["calibrate", *sets, "--ship", "--out", str(figures), "--cache", str(cache)], catch_exceptions=False
    )
    assert result.exit_code == 0
    file = json.loads((figures / "calibrate.json").read_text(encoding="utf-8"))
    assert set(file["sets"]) == {"question_pair_ko", "tydiqa_ko"}
    assert {(row["kind"], row["store"]) for row in file["fired"]} >= {("knockout", "whole"), ("nonsense", "1")}
    assert [row["threshold"] for row in file["promises"]] == [None, None, None]  # eight queries prove nothing
    data = json.loads(shipped.read_text(encoding="utf-8"))
    assert (data["model"], data["order"]) == (file["model"], file["order"])
    assert data["knots"][-1] == [1.0, pytest.approx(0.79)]
    assert "What a score means" in (figures / "report.html").read_text(encoding="utf-8")


def test_without_a_model_there_is_nothing_to_calibrate(make_set: MakeSet, cache: Path, tmp_path: Path) -> None:
    config = tmp_path / "config.toml"
    config.write_text('[embedder]\nmodel = "none"\n', encoding="utf-8")
    result = CliRunner().invoke(app, ["calibrate", str(make_set()), "--cache", str(cache), "--config", str(config)])
    assert "embedder.model is 'none'" in str(result.exception)
