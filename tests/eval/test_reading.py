from __future__ import annotations

from datetime import UTC, datetime

import pytest

from eval.compare import saving, scenarios
from eval.reading import Reading, ScoreOrder, row, schema_tokens, separator_tokens
from pipeline.results import SearchIndexItem


def reading(hits: str, *, k: int = 5, size: int = 1000, relevant: int = 1) -> Reading:
    """Hits as a line: `x` relevant, `.` not; each a text of `size` tokens, a detail of 10 more, a call of 5."""
    n = len(hits)
    flags = tuple(mark == "x" for mark in hits)
    return Reading(k, 100, (size,) * n, (size + 10,) * n, (5,) * n, flags, relevant)


def test_legacy_pays_for_every_text() -> None:
    assert reading(".x...").legacy == 5 * 1000 + 4 * separator_tokens()


def test_progressive_pays_until_the_evidence_is_read() -> None:
    made = row("set", [reading(".x...")], how="")
    assert made.progressive.opened == 2
    assert made.progressive.tokens == schema_tokens() + 100 + 2 * (1010 + 5)
    assert made.progressive.tokens_to_evidence == made.progressive.tokens
    assert (made.legacy.evidence, made.progressive.evidence) == (1, 1)


def test_without_evidence_everything_is_opened_and_nothing_reached() -> None:
    made = row("set", [reading(".....")], how="")
    assert made.progressive.opened == 5
    assert made.progressive.tokens == schema_tokens() + 100 + 5 * 1015
    assert made.progressive.tokens > made.legacy.tokens
    assert made.progressive.tokens_to_evidence is None
    assert (made.legacy.evidence, made.progressive.evidence) == (0, 0)


def test_stopping_early_costs_recall_and_that_is_said() -> None:
    made = row("set", [reading("x..x.", relevant=2)], how="")
    assert (made.legacy.recall, made.progressive.recall) == (1.0, 0.5)
    assert "recall 100% → 50%" in saving(made)


def test_a_saving_always_names_the_evidence_of_both_sides() -> None:
    text = saving(row("set", [reading("x...."), reading(".....")], how=""))
    assert "evidence 50% → 50%" in text
    assert "recall 50% → 50%" in text


def test_no_hits_cost_the_answer_only() -> None:
    made = row("set", [reading("")], how="")
    assert (made.legacy.tokens, made.progressive.tokens) == (0, schema_tokens() + 100)
    assert saving(made).startswith("0 → ")


def test_parts_add_up() -> None:
    p = row("set", [reading(".x..."), reading("x....", size=37), reading("....")], how="").progressive
    assert p.tokens == pytest.approx(p.index_tokens + p.call_tokens + p.schema_tokens + p.detail_tokens)


def test_a_scenario_takes_what_fits_and_reads_all_its_relevant() -> None:
    pool = {
        5: [reading(".x..."), reading("xx..."), reading("..x"), reading(".....")],
        10: [reading("x" + "." * 8 + "x", k=10, relevant=2)],
        20: [],
    }
    five, _, ten, _ = scenarios(pool)
    assert (five.queries, five.progressive.opened, five.claimed) == (1, 2, (5_000, 600))
    assert (ten.queries, ten.progressive.opened, ten.progressive.recall) == (1, 10, 1.0)


def test_a_scenario_without_a_fit_takes_the_nearest_and_says_so() -> None:
    made = list(scenarios({5: [], 10: [], 20: [reading("x" + "." * 19, k=20, size=10)]}))
    (only,) = made
    assert (only.name, only.queries) == ("20 results, 3 relevant (nearest: 1)", 1)
    assert "exactly 1 relevant, texts of any length; none has 3, the nearest count was taken" in only.how


def test_short_texts_are_kept_apart_from_texts_of_the_claimed_size() -> None:
    pool = {5: [reading("x....", size=20), reading("x....", size=1000)], 10: [], 20: []}
    anything, long = scenarios(pool)
    assert (anything.queries, long.queries) == (2, 1)
    assert long.legacy.tokens > 5 * 1000


def test_score_order_opens_the_best_first() -> None:
    items = [
        SearchIndexItem(
            id=name,
            summary="",
            score=score,
            type="insight",
            timestamp=datetime(2026, 1, 30, tzinfo=UTC),
            session_id="s",
        )
        for name, score in (("b", 0.5), ("a", 0.9), ("c", 0.5))
    ]
    assert list(ScoreOrder().order(items)) == ["a", "b", "c"]
