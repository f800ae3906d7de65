"""`run`: how well each system finds what was judged relevant."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from eval.corpus import IndexedSet, OnStep, indexed
from eval.datasets import Dataset
from eval.machine import this_machine
from eval.measures import MAIN, Run, Values, means, per_query
from eval.schema import Bin, Corpus, Miss, RunFile
from eval.significance import compare_all
from eval.systems import DEFAULT, ask_one, runs
from pipeline import Settings

MACRO = "macro"
BINS = 10


def run(
    datasets: Sequence[Dataset],
    cache: Path,
    settings: Settings,
    *,
    plain: bool = False,
    worst: int = 0,
    on_step: OnStep = lambda _: None,
) -> RunFile:
    """Measure every system on every set. `worst` asks for so many of the default's worst queries per set."""
    began, machine = time.perf_counter(), this_machine()
    values: dict[str, dict[str, dict[str, Values]]] = {}
    corpora: dict[str, Corpus] = {}
    problems = {}
    misses: list[Miss] = []
    shown: list[tuple[float, bool]] = []
    for dataset in datasets:
        with indexed(dataset, cache, settings, on_step) as here:
            legs = {}
            for key, text in dataset.queries.items():
                legs[key] = ask_one(here, text)
                shown += _top_score(here, key, text)  # at once, while the query's vector is remembered
            made = runs(here, legs, plain=plain)
            values[dataset.name] = {system: per_query(run, dataset.qrels) for system, run in made.items()}
            misses += _worst(dataset, made, values[dataset.name][DEFAULT][MAIN], worst)
            problems[dataset.name] = list(here.problems)
            corpora[dataset.name] = corpus_of(here)
    figures = {name: {system: means(value) for system, value in each.items()} for name, each in values.items()}
    main = {name: {system: value[MAIN] for system, value in each.items()} for name, each in values.items()}
    strata = {name: [each] for name, each in main.items()} | {MACRO: list(main.values())}
    tested = {name: compare_all(each) for name, each in strata.items()}
    return RunFile(
        machine=machine,
        seconds=time.perf_counter() - began,
        split=_one({dataset.split for dataset in datasets}),
        settings=named_settings(settings),
        sets=figures,
        macro=macro(figures),
        intervals={name: intervals for name, (intervals, _) in tested.items()},
        tests={name: comparisons for name, (_, comparisons) in tested.items()},
        corpora=corpora,
        problems=problems,
        reliability=bins(shown),
        worst=misses,
    )


def macro(figures: Mapping[str, Mapping[str, Mapping[str, float]]]) -> dict[str, dict[str, float]]:
    """The plain mean over sets: each set counts the same, however many queries it has."""
    first = next(iter(figures.values()))
    return {
        system: {name: float(np.mean([each[system][name] for each in figures.values()])) for name in measured}
        for system, measured in first.items()
    }


def corpus_of(here: IndexedSet) -> Corpus:
    """What was searched, for the record."""
    return Corpus(
        documents=len(here.dataset.documents),
        queries=len(here.dataset.queries),
        index=here.key,
        indexing_seconds=here.seconds,
    )


def named_settings(settings: Settings) -> dict[str, str]:
    """The settings that change an order, by their dotted names."""
    fusion = settings.fusion.model_dump()
    return {f"fusion.{name}": str(value) for name, value in fusion.items()} | {
        "embedder.model": settings.embedder.model
    }


def bins(shown: Sequence[tuple[float, bool]]) -> list[Bin]:
    """Top hits by their shown score, in `BINS` equal parts of 0..1; empty parts are left out."""
    parts: dict[int, list[tuple[float, bool]]] = {}
    for score, relevant in shown:
        parts.setdefault(min(BINS - 1, int(score * BINS)), []).append((score, relevant))
    return [
        Bin(count=len(part), score=float(np.mean([s for s, _ in part])), relevant=float(np.mean([r for _, r in part])))
        for _, part in sorted(parts.items())
    ]


def _top_score(here: IndexedSet, key: str, query: str) -> Iterator[tuple[float, bool]]:
    """Score and relevance of the first hit that the product shows, if it shows one."""
    for hit in here.gieok.search_index(query, top_k=1) if query.strip() else []:
        yield hit.score, here.keys_of([hit.id])[0] in here.dataset.qrels[key]


def _worst(dataset: Dataset, made: Mapping[str, Run], value: Values, count: int) -> list[Miss]:
    queries = list(dataset.queries)
    return [
        Miss(
            set=dataset.name,
            query_id=queries[i],
            query=dataset.queries[queries[i]],
            value=float(value[i]),
            relevant=list(dataset.qrels[queries[i]]),
            ranks={system: _rank(run[queries[i]], dataset.qrels[queries[i]]) for system, run in made.items()},
            top=list(made[DEFAULT][queries[i]][:3]),
        )
        for i in np.argsort(value, kind="stable")[:count]
    ]


def _rank(ids: Sequence[str], relevant: Mapping[str, int]) -> int | None:
    return next((rank for rank, document in enumerate(ids, 1) if document in relevant), None)


def _one(splits: set[str]) -> str:
    return ", ".join(sorted(splits))
