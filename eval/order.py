"""`order`: the weights of the evidence order, fitted on dev and shown on test.

A listwise fit: for each query, the softmax over its candidates' values should give its relevant ones the mass (Cao et
al., "Learning to Rank: From Pairwise Approach to Listwise Approach", ICML 2007). Sets count alike, whatever their size.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.optimize import minimize

from eval.corpus import OnStep, indexed
from eval.datasets import Dataset, Problem
from eval.fusion import CHOSEN, PRESENT, with_macro
from eval.machine import this_machine
from eval.measures import MAIN, Run, Values, per_query
from eval.schema import OrderFile
from eval.significance import compare_all
from eval.systems import DEPTH, RRF, RRF_DEPTH, RRF_K
from indexes.analyzer import ANALYZER_VERSION
from indexes.embedder import FastEmbedder
from pipeline import Settings, fusion
from pipeline.order import FEATURES, FILE, Candidates, Order
from pipeline.retriever import Rankings

PENALTY = 0.02
"""Of squared weights, features scaled to deviation 1: chosen between .002 and .02 on dev, which hardly differ."""


@dataclass(frozen=True, slots=True)
class _Asked:
    """A split of a set after its queries were asked."""

    dataset: Dataset
    rankings: Mapping[str, Rankings]
    names: Mapping[int, str]
    problems: tuple[Problem, ...]

    def lists(self) -> list[tuple[Values, Values]]:
        """Features and target mass of each query that has a relevant candidate."""
        made = []
        for key, ranking in self.rankings.items():
            grades = self.dataset.qrels[key]
            gains = np.array([grades.get(self.names[rid], 0) for rid in ranking.candidates.rids.tolist()], float)
            if gains.sum() > 0:
                made.append((ranking.candidates.features(), gains / gains.sum()))
        return made

    def ndcg(self, order: Order | None) -> Values:
        """The main measure of each query; None: in the product's present order."""
        run: Run = {
            key: [self.names[rid] for rid in _ordered(ranking, order)] for key, ranking in self.rankings.items()
        }
        return per_query(run, self.dataset.qrels)[MAIN]

    def rrf(self) -> Values:
        """The main measure of each query under the reference fusion."""
        run: Run = {key: [self.names[rid] for rid in _fused(ranking)] for key, ranking in self.rankings.items()}
        return per_query(run, self.dataset.qrels)[MAIN]


def _ordered(ranking: Rankings, order: Order | None) -> list[int]:
    if order is None:
        return [rid for rid, _ in ranking.fused]
    candidates: Candidates = ranking.candidates
    places = np.lexsort((candidates.rids, -order.values(candidates)))
    return [int(rid) for rid in candidates.rids[places]]


def _fused(ranking: Rankings) -> list[int]:
    legs = [leg for leg in (ranking.words, ranking.vectors) if leg is not None]
    runs = [fusion.Run(leg.ids, leg.scores, 1.0) for leg in legs]
    return [rid for rid, _ in fusion.reciprocal_rank_fusion(runs, k=RRF_K, depth=RRF_DEPTH)]


def _ask(dataset: Dataset, cache: Path, settings: Settings, on_step: OnStep) -> _Asked:
    with indexed(dataset, cache, settings, on_step) as here:
        rankings = {key: here.gieok.rank(text, depth=DEPTH) for key, text in dataset.queries.items() if text.strip()}
        rids = list(dict.fromkeys(rid for ranking in rankings.values() for rid in ranking.candidates.rids.tolist()))
        return _Asked(dataset, rankings, dict(zip(rids, here.keys(rids), strict=True)), here.problems)


def fit(sets: Sequence[Sequence[tuple[Values, Values]]]) -> Order:
    """The weights for lists of features and target mass, one sequence of lists for each set."""
    scale = np.concatenate([features for lists in sets for features, _ in lists]).std(axis=0) + 1e-12
    scaled = [(features / scale, mass, 1 / len(lists) / len(sets)) for lists in sets for features, mass in lists]

    def loss(weights: Values) -> tuple[float, Values]:
        total, gradient = PENALTY * float(weights @ weights) / 2, PENALTY * weights
        for features, mass, share in scaled:
            value = features @ weights
            value -= value.max()
            odds = np.exp(value)
            total -= share * float(mass @ (value - np.log(odds.sum())))
            gradient = gradient - share * ((mass - odds / odds.sum()) @ features)
        return total, gradient

    found = minimize(loss, np.zeros(len(FEATURES)), jac=True, method="L-BFGS-B")
    return Order(dict(zip(FEATURES, (found.x / scale).round(3).tolist(), strict=True)))


def order(
    pairs: Sequence[tuple[Dataset, Dataset]], cache: Path, settings: Settings, *, on_step: OnStep = lambda _: None
) -> OrderFile:
    """Fit on the first of each pair (dev), report on the second (test)."""
    began, machine = time.perf_counter(), this_machine()
    dev = [_ask(each, cache, settings, on_step) for each, _ in pairs]
    lists = [asked.lists() for asked in dev]
    chosen = fit(lists)
    test = [_ask(each, cache, settings, on_step) for _, each in pairs]
    held_out = {
        asked.dataset.name: float(asked.ndcg(fit([*lists[:i], *lists[i + 1 :]])).mean())
        for i, asked in enumerate(test)
        if len(test) > 1
    }
    values = {asked.dataset.name: _systems(asked, chosen) for asked in test}
    intervals, tests = compare_all(list(values.values()))
    return OrderFile(
        machine=machine,
        seconds=time.perf_counter() - began,
        model=FastEmbedder(settings.embedder.model).name,
        analyzer=ANALYZER_VERSION,
        weights=dict(chosen.weights),
        dev=with_macro({asked.dataset.name: _means(_systems(asked, chosen)) for asked in dev}),
        test=with_macro({name: _means(each) for name, each in values.items()}),
        held_out=held_out,
        intervals=intervals,
        tests=tests,
        problems={asked.dataset.name: list(asked.problems) for asked in test},
    )


def _systems(asked: _Asked, chosen: Order) -> dict[str, Values]:
    return {RRF: asked.rrf(), PRESENT: asked.ndcg(None), CHOSEN: asked.ndcg(chosen)}


def _means(values: Mapping[str, Values]) -> dict[str, float]:
    return {system: float(each.mean()) for system, each in values.items()}


def ship(file: OrderFile, path: Path = FILE) -> None:
    """Write the weights into the package."""
    data = {"model": file.model, "analyzer": file.analyzer, "weights": file.weights}
    path.write_text(json.dumps(data, indent=2) + "\n", encoding="utf-8")
