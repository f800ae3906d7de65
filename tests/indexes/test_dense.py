from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from indexes.dense import FlatDense
from indexes.errors import EmbedderError, GieokError, IndexMismatchError
from indexes.types import Filter, Floats, VectorEntry

EAST, NORTH = (1.0, 0.0), (0.0, 1.0)
BETWEEN = (0.6, 0.8)


def vector(*numbers: float) -> Floats:
    return np.array(numbers, np.float32)


def entry(rid: int, *vectors: Sequence[float], facets: tuple[str, ...] = ()) -> VectorEntry:
    """A memory whose passage number n covers the characters 10n to 10n + 10."""
    starts = 10 * np.arange(len(vectors), dtype=np.int32)
    return VectorEntry(
        rid, np.array(vectors, np.float32).reshape(len(vectors), -1), np.stack([starts, starts + 10], 1), facets, 0
    )


def opened(folder: Path, dimensions: int = 2, model: str = "m") -> FlatDense:
    return FlatDense(folder, store_id="s", model=model, dimensions=dimensions)


def test_a_memory_scores_by_its_best_passage_and_names_it(tmp_path: Path) -> None:
    leg = opened(tmp_path)
    leg.apply([entry(1, NORTH, BETWEEN), entry(2, EAST), entry(3, NORTH, NORTH, EAST)], [], 1)
    found = leg.search(vector(*EAST), 10)
    assert found.ids.tolist() == [2, 3, 1]
    assert found.scores.tolist() == pytest.approx([1.0, 1.0, 0.6])
    assert found.spans.tolist() == [[0, 10], [20, 30], [10, 20]]


def test_the_background_is_over_all_that_was_searched(tmp_path: Path) -> None:
    leg = opened(tmp_path)
    leg.apply([entry(1, EAST, facets=("a=1",)), entry(2, NORTH, facets=("a=1",)), entry(3, BETWEEN)], [], 1)
    found = leg.search(vector(*EAST), 1)
    # 1.0, 0.0 and 0.6: mean 8/15, variance (1 + 0 + 0.36) / 3 - mean².
    assert found.mean == pytest.approx(8 / 15)
    assert found.deviation == pytest.approx((1.36 / 3 - (8 / 15) ** 2) ** 0.5)
    part = leg.search(vector(*EAST), 1, Filter(groups=(frozenset({"a=1"}),)))
    assert (part.mean, part.deviation) == (0.5, 0.5)


def test_score_gives_spans_and_leaves_out_what_has_no_vector(tmp_path: Path) -> None:
    leg = opened(tmp_path)
    leg.apply([entry(5, NORTH, EAST), entry(1, BETWEEN)], [], 1)
    found = leg.score(vector(*EAST), np.array([1, 9, 5]))
    assert found.ids.tolist() == [1, 9, 5]
    assert found.scores.tolist() == pytest.approx([0.6, np.nan, 1.0], nan_ok=True)
    assert found.spans.tolist() == [[0, 10], [0, 0], [10, 20]]
    assert found.mean == pytest.approx(0.8)


def test_a_mean_of_vectors_keeps_its_length(tmp_path: Path) -> None:
    leg = opened(tmp_path)
    leg.apply([entry(1, (0.5, 0.5))], [], 1)
    assert leg.search(vector(*EAST), 1).scores.tolist() == [0.5]


def test_an_entry_without_vectors_drops_its_memory(tmp_path: Path) -> None:
    leg = opened(tmp_path)
    leg.apply([entry(1, EAST), entry(2, EAST)], [], 1)
    empty = VectorEntry(1, np.empty((0, 2), np.float32), np.empty((0, 2), np.int32), (), 0)
    leg.apply([empty], [], 2)
    assert (len(leg), leg.search(vector(*EAST), 9).ids.tolist()) == (1, [2])


@pytest.mark.parametrize("bad", [(np.nan, 0.0), (np.inf, 0.0), (1.0, 1.0)])
def test_vectors_that_are_no_unit_vectors_are_refused(tmp_path: Path, bad: tuple[float, float]) -> None:
    leg = opened(tmp_path)
    with pytest.raises(EmbedderError, match="memory 7"):
        leg.apply([entry(1, EAST), entry(7, EAST, bad)], [], 1)
    with pytest.raises(EmbedderError, match="the query"):
        leg.search(vector(*bad), 1)
    assert (len(leg), leg.sequence) == (0, 0)


def test_other_dimensions_are_refused(tmp_path: Path) -> None:
    leg = opened(tmp_path)
    for call in (lambda: leg.apply([entry(1, (1.0, 0.0, 0.0))], [], 1), lambda: leg.search(vector(1.0), 1)):
        with pytest.raises(IndexMismatchError, match="2 dimensions"):
            call()


def test_spans_must_match_vectors(tmp_path: Path) -> None:
    bad = VectorEntry(1, np.array([EAST], np.float32), np.zeros((2, 2), np.int32), (), 0)
    with pytest.raises(GieokError, match="Memory 1 has 1 vectors"):
        opened(tmp_path).apply([bad], [], 1)


@pytest.mark.parametrize(("model", "dimensions", "named"), [("other", 2, "model"), ("m", 3, "dimensions")])
def test_vectors_of_two_models_are_never_mixed(tmp_path: Path, model: str, dimensions: int, named: str) -> None:
    opened(tmp_path).close()
    with pytest.raises(IndexMismatchError, match=f"{named} .*gieok rebuild"):
        opened(tmp_path, dimensions, model)


def test_stored_gives_copies_of_what_is_kept(tmp_path: Path) -> None:
    leg = opened(tmp_path)
    assert leg.stored(1) is None
    leg.apply([entry(1, EAST), entry(2, NORTH, BETWEEN)], [], 1)
    leg.apply([entry(1, NORTH)], [], 2)
    found = leg.stored(2)
    assert found is not None
    vectors, spans = found
    assert vectors == pytest.approx(np.array([NORTH, BETWEEN]))
    assert spans.tolist() == [[0, 10], [10, 20]]
    vectors[:] = 0.0
    assert leg.search(vector(*NORTH), 1, Filter()).scores.tolist() == [1.0]
    leg.apply([], [1, 2], 3)
    assert leg.stored(2) is None


def size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.glob("vectors.*"))


def test_bytes_that_were_never_acknowledged_are_ignored_and_cut_off(tmp_path: Path) -> None:
    leg = opened(tmp_path)
    leg.apply([entry(1, EAST)], [], 1)
    for name in ("vectors", "spans", "entries", "facets", "dead"):
        with (tmp_path / f"{name}.0").open("ab") as file:
            file.write(b"\xff" * 37)
    again = opened(tmp_path)
    assert again.search(vector(*EAST), 9).ids.tolist() == [1]
    again.apply([entry(2, EAST, facets=("a=1",))], [], 2)
    assert again.search(vector(*EAST), 9).ids.tolist() == [1, 2]
    assert size(tmp_path) == 2 * 2 * 4


def test_the_file_is_rewritten_when_more_than_a_quarter_is_dead(tmp_path: Path) -> None:
    leg = opened(tmp_path)
    leg.apply([entry(rid, EAST, facets=(f"n={rid}",)) for rid in range(8)], [], 1)
    leg.apply([], [0, 1], 2)
    assert size(tmp_path) == 8 * 8  # two of eight: not more than a quarter
    leg.apply([], [2], 3)
    assert size(tmp_path) == 5 * 8
    assert leg.search(vector(*EAST), 9).ids.tolist() == [3, 4, 5, 6, 7]
    assert leg.search(vector(*EAST), 9, Filter(groups=(frozenset({"n=6"}),))).ids.tolist() == [6]
    leg.apply([], range(8), 4)
    assert (size(tmp_path), len(leg)) == (0, 0)


def test_a_compaction_that_died_does_not_disturb_the_next(tmp_path: Path) -> None:
    leg = opened(tmp_path)
    leg.apply([entry(rid, EAST) for rid in range(4)], [], 1)
    (tmp_path / "vectors.1").write_bytes(b"\xff" * 999)
    leg.apply([], [0, 1], 2)
    assert leg.search(vector(*EAST), 9).ids.tolist() == [2, 3]
    assert size(tmp_path) == 2 * 8


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 2**32 - 1), memories=st.integers(1, 60), depth=st.integers(1, 70), kept=st.integers(0, 9))
def test_search_is_exact(
    seed: int, memories: int, depth: int, kept: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Against the definition, in double precision; filtered or not, so with and without gathering rows first."""
    chance = np.random.default_rng(seed)
    leg = opened(tmp_path_factory.mktemp("exact"), dimensions=8)
    unit = chance.normal(size=(memories, 3, 8))
    unit /= np.linalg.norm(unit, axis=2, keepdims=True)
    leg.apply([entry(rid, *unit[rid], facets=(f"digit={rid % 10}",)) for rid in range(memories)], [], 1)
    query = unit[0, 0].astype(np.float32)
    best = (unit @ query).max(axis=1)
    for where, chosen in (
        (Filter(), np.arange(memories)),
        (Filter(groups=(frozenset({f"digit={kept}"}),)), np.arange(kept, memories, 10)),
    ):
        found = leg.search(query, depth, where)
        order = chosen[np.argsort(-best[chosen])][:depth]
        assert found.scores == pytest.approx(best[order], abs=1e-6)
        assert found.ids.tolist() == order.tolist()
        assert (found.spans[:, 0] // 10).tolist() == (unit[order] @ query).argmax(axis=1).tolist()
