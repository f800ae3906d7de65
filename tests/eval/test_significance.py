from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eval import significance


def test_small_samples_are_tested_exactly() -> None:
    # Of the 2^5 sign assignments of five equal differences only all-plus and all-minus reach the observed mean.
    assert significance.randomisation_p([np.full(5, 0.1)]) == pytest.approx(2 / 32)


def test_no_difference_has_p_one() -> None:
    assert significance.randomisation_p([np.zeros(400)]) == 1.0


def test_a_large_sample_agrees_with_the_normal_approximation() -> None:
    # 400 differences of +-1, 220 up and 180 down: z = 40 / 20 = 2. The statistic moves in steps of 2, so half a step
    # is added to the tail: two-sided p of z = 1.95 is .0512.
    differences = np.r_[np.ones(220), -np.ones(180)]
    assert significance.randomisation_p([differences]) == pytest.approx(0.0512, abs=0.008)


def test_strata_weigh_the_same_however_many_queries_they_have() -> None:
    # The small set's +1 outweighs a hundred times -.001: of the 2^1 signs that matter both reach it.
    strata = [np.full(100, -0.001), np.ones(1)]
    assert significance.randomisation_p(strata) > 0.4


@given(st.lists(st.floats(-1, 1, allow_nan=False), min_size=1, max_size=8))
def test_p_is_a_probability_and_does_not_depend_on_the_side(values: list[float]) -> None:
    differences = np.array(values)
    p = significance.randomisation_p([differences])
    assert 0 < p <= 1
    assert significance.randomisation_p([-differences]) == pytest.approx(p)


def test_holm_by_hand() -> None:
    # Sorted .01 x 3, .02 x 2, .04 x 1 = .03, .04, .04; given in another order.
    assert significance.holm([0.04, 0.01, 0.02]) == pytest.approx([0.04, 0.03, 0.04])


@given(st.lists(st.floats(0, 1), max_size=8))
def test_holm_never_lowers_a_p_and_keeps_their_order(values: list[float]) -> None:
    corrected = significance.holm(values)
    assert all(p <= c <= 1 for p, c in zip(values, corrected, strict=True))
    ranked = sorted(range(len(values)), key=lambda i: values[i])
    assert [corrected[i] for i in ranked] == sorted(corrected)


def test_the_interval_of_a_mean_is_about_two_standard_errors_wide() -> None:
    # 400 zeros and ones, half each: the standard error of the mean is .5 / 20 = .025.
    values = np.tile([0.0, 1.0], 200)
    intervals, _ = significance.compare_all([{"a": values}])
    assert intervals["a"].mean == 0.5
    assert intervals["a"].low == pytest.approx(0.5 - 1.96 * 0.025, abs=0.004)
    assert intervals["a"].high == pytest.approx(0.5 + 1.96 * 0.025, abs=0.004)


def test_a_constant_lead_has_no_width() -> None:
    base = np.linspace(0, 0.5, 50)
    _, (only,) = significance.compare_all([{"worse": base, "better": base + 0.25}])
    assert (only.a, only.b) == ("better", "worse")
    assert (only.difference.low, only.difference.high) == pytest.approx((0.25, 0.25))
    assert only.p_holm < 0.001


def test_every_pair_is_corrected_together() -> None:
    rng = np.random.default_rng(0)
    _, comparisons = significance.compare_all([{name: rng.random(30) for name in "abc"}])
    assert [(c.a, c.b) for c in comparisons] == [("b", "a"), ("c", "a"), ("c", "b")]
    assert [c.p_holm for c in comparisons] == significance.holm([c.p for c in comparisons])


def test_the_same_values_give_the_same_figures() -> None:
    values = {"a": np.random.default_rng(1).random(40), "b": np.random.default_rng(2).random(40)}
    assert significance.compare_all([values]) == significance.compare_all([values])
