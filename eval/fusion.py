"""`fusion`: which constants of reciprocal rank fusion order best, chosen on dev and shown on test."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np

from eval.corpus import OnStep, indexed
from eval.datasets import Dataset, Problem
from eval.machine import this_machine
from eval.measures import MAIN, Run, Values, per_query
from eval.run import named_settings
from eval.schema import FusionFile, FusionPoint
from eval.significance import compare_all
from eval.systems import DEPTH, RRF, RRF_DEPTH, RRF_K, Legs, ask, fused
from pipeline import Settings
from pipeline.fusion import competition_ranks

CHOSEN, PRESENT, MACRO = "chosen", "present", "macro"
KS = (1.0, 2.0, 3.0, 5.0, 8.0, 12.0, 20.0, 40.0, 60.0, 100.0)
DEPTHS = (20, 30, 50, 75, DEPTH)
WORDS_WEIGHTS = (0.0, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.25, 1.5, 2.0, 3.0)
"""Beside a vectors weight of 1: only the proportion matters. 0 is the vector leg alone."""
REFERENCE = FusionPoint(k=RRF_K, depth=RRF_DEPTH, words_weight=1.0, vectors_weight=1.0)
_CUT = 10


@dataclass(frozen=True, slots=True)
class Grid:
    """The candidates of all queries of a set as padded arrays (queries, candidates), for scoring many settings fast.

    `words` and `vectors` are competition ranks (infinite: not ranked), `places` positions in the leg's list, to cut
    at a depth. Candidates stand in order of row number, by which the product breaks ties.
    """

    words: Values
    vectors: Values
    words_place: Values
    vectors_place: Values
    gains: Values
    ideal: Values

    def ndcg(self, point: FusionPoint) -> float:
        """Mean nDCG@10 of the set under a setting; equal to ir-measures' on the fused run."""
        score = point.words_weight / (point.k + np.where(self.words_place <= point.depth, self.words, np.inf))
        score += point.vectors_weight / (point.k + np.where(self.vectors_place <= point.depth, self.vectors, np.inf))
        top = np.argsort(-score, axis=1, kind="stable")[:, :_CUT]
        found = np.take_along_axis(self.gains, top, axis=1) * (np.take_along_axis(score, top, axis=1) > 0)
        return float(np.mean(found @ _discounts(found.shape[1]) / self.ideal))


def grid(
    legs: Mapping[str, Legs], relevant: Mapping[str, Mapping[int, int]], ideal: Mapping[str, Sequence[int]]
) -> Grid:
    """Lay out a set. `relevant` holds grades by row number, `ideal` all grades of a query, found or not."""
    each = [_candidates(leg, relevant[key]) for key, leg in legs.items()]
    width = max(_CUT, *(columns.shape[1] for columns in each))
    padded = np.full((5, len(each), width), np.inf)
    padded[4] = 0.0
    for i, columns in enumerate(each):
        padded[:, i, : columns.shape[1]] = columns
    best = np.array([_dcg(sorted(ideal[key], reverse=True)[:_CUT]) for key in legs])
    return Grid(padded[0], padded[1], padded[2], padded[3], padded[4], best)


def _candidates(legs: Legs, grades: Mapping[int, int]) -> Values:
    rids = np.union1d(legs.words.ids, legs.vectors.ids)
    columns = np.full((5, len(rids)), np.inf)
    for row, run in enumerate((legs.words, legs.vectors)):
        at = np.searchsorted(rids, run.ids)
        columns[row, at] = competition_ranks(run.scores)
        columns[row + 2, at] = np.arange(1, len(run.ids) + 1)
    columns[4] = [grades.get(int(rid), 0) for rid in rids]
    return columns


def _discounts(count: int) -> Values:
    """1 / log2(rank + 1) of Järvelin and Kekäläinen (2002), linear gains, as trec_eval does."""
    return np.asarray(1 / np.log2(np.arange(2, count + 2)), dtype=np.float64)


def _dcg(grades: Sequence[int]) -> float:
    return float(np.array(grades, dtype=np.float64) @ _discounts(len(grades)))


def points() -> list[FusionPoint]:
    """Every setting that is tried, the reference among them."""
    return [
        FusionPoint(k=k, depth=depth, words_weight=words, vectors_weight=1.0)
        for k, depth, words in product(KS, DEPTHS, WORDS_WEIGHTS)
    ]


def search(grids: Mapping[str, Grid], tried: Sequence[FusionPoint]) -> tuple[Values, int]:
    """nDCG@10 (settings, sets), and the row with the best plain mean over sets; the first of equals."""
    table = np.array([[each.ndcg(point) for each in grids.values()] for point in tried])
    return table, int(np.argmax(table.mean(axis=1)))


@dataclass(frozen=True, slots=True)
class _Asked:
    """A split of a set after all its queries were asked."""

    legs: Mapping[str, Legs]
    names: Mapping[int, str]
    dataset: Dataset
    problems: tuple[Problem, ...]

    def grid(self) -> Grid:
        qrels = self.dataset.qrels
        relevant = {
            key: {rid: grade for rid in _rids(leg) if (grade := qrels[key].get(self.names[rid]))}
            for key, leg in self.legs.items()
        }
        return grid(self.legs, relevant, {key: list(qrels[key].values()) for key in self.legs})

    def values(self, point: FusionPoint | None) -> Values:
        """The main measure of each query under a setting; None: in the product's own order."""
        run: Run = {
            key: [self.names[rid] for rid in (leg.order if point is None else _ordered(leg, point))]
            for key, leg in self.legs.items()
        }
        return per_query(run, self.dataset.qrels)[MAIN]


def _ordered(legs: Legs, point: FusionPoint) -> list[int]:
    return fused(legs, k=point.k, depth=point.depth, words=point.words_weight, vectors=point.vectors_weight)


def _rids(legs: Legs) -> Iterable[int]:
    return dict.fromkeys((*legs.words.ids.tolist(), *legs.vectors.ids.tolist(), *legs.order))


def _ask(dataset: Dataset, cache: Path, settings: Settings, on_step: OnStep) -> _Asked:
    with indexed(dataset, cache, settings, on_step) as here:
        legs = ask(here)
        rids = list(dict.fromkeys(rid for leg in legs.values() for rid in _rids(leg)))
        return _Asked(legs, dict(zip(rids, here.keys(rids), strict=True)), dataset, here.problems)


def fusion(
    pairs: Sequence[tuple[Dataset, Dataset]], cache: Path, settings: Settings, *, on_step: OnStep = lambda _: None
) -> FusionFile:
    """Choose on the first of each pair (dev), report on the second (test), which is asked only after the choice."""
    began, machine = time.perf_counter(), this_machine()
    dev = {each.name: _ask(each, cache, settings, on_step) for each, _ in pairs}
    grids = {name: asked.grid() for name, asked in dev.items()}
    tried = points()
    table, best = search(grids, tried)
    chosen = tried[best]
    named = {RRF: REFERENCE, PRESENT: None, CHOSEN: chosen}
    on_dev = {
        name: {system: float(asked.values(point).mean()) for system, point in named.items()}
        for name, asked in dev.items()
    }
    test = {each.name: _ask(each, cache, settings, on_step) for _, each in pairs}
    values = {name: {system: asked.values(point) for system, point in named.items()} for name, asked in test.items()}
    on_test = {name: {system: float(value.mean()) for system, value in each.items()} for name, each in values.items()}
    intervals, tests = compare_all(list(values.values()))
    return FusionFile(
        machine=machine,
        seconds=time.perf_counter() - began,
        searched=len(tried),
        chosen=chosen,
        present=named_settings(settings),
        dev=with_macro(on_dev),
        held_out=_held_out(table, list(grids)),
        grid=[(point, float(mean)) for point, mean in zip(tried, table.mean(axis=1), strict=True)],
        test=with_macro(on_test),
        intervals=intervals,
        tests=tests,
        problems={name: [*dev[name].problems, *asked.problems] for name, asked in test.items()},
    )


def _held_out(table: Values, names: Sequence[str]) -> dict[str, float]:
    """What each set's dev queries get from the setting that is best for the other sets: a choice not made on them."""
    if len(names) < 2:
        return {}
    return {name: float(table[np.argmax(np.delete(table, i, axis=1).mean(axis=1)), i]) for i, name in enumerate(names)}


def with_macro(figures: Mapping[str, Mapping[str, float]]) -> dict[str, dict[str, float]]:
    """Add the plain mean over sets."""
    systems = next(iter(figures.values()))
    mean = {system: float(np.mean([each[system] for each in figures.values()])) for system in systems}
    return {name: dict(each) for name, each in figures.items()} | {MACRO: mean}
