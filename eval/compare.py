"""`compare`: what an agent pays for the same evidence, all at once or in layers."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from eval.corpus import OnStep, indexed
from eval.datasets import Dataset
from eval.machine import this_machine
from eval.reading import Reading, ScoreOrder, Strategy, read, row
from eval.run import corpus_of
from eval.schema import CompareFile, TokenRow
from eval.tokens import ENCODING, estimator_error
from pipeline import Settings

TOP_KS = (5, 10, 20)
SCENARIOS = ((5, 1, 5_000, 600), (10, 2, 10_000, 1_200), (20, 3, 20_000, 2_000))
"""Results, relevant ones among them, tokens claimed for legacy and for progressive: the user's documents."""
LONG = 0.5
"""A hit list counts as "of the size claimed" from this share of the claimed legacy tokens on."""


def compare(
    datasets: Sequence[Dataset],
    cache: Path,
    settings: Settings,
    *,
    strategy: Strategy | None = None,
    on_step: OnStep = lambda _: None,
) -> CompareFile:
    """Price every query of every set both ways."""
    began, machine = time.perf_counter(), this_machine()
    strategy = strategy or ScoreOrder()
    rows: dict[str, list[TokenRow]] = {}
    everything: dict[int, list[Reading]] = {k: [] for k in TOP_KS}
    estimator, corpora, problems = {}, {}, {}
    for dataset in datasets:
        with indexed(dataset, cache, settings, on_step) as here:
            rows[dataset.name] = []
            for k, readings in read(here, TOP_KS, strategy).items():
                everything[k] += readings
                rows[dataset.name].append(row(f"{dataset.name}, top {k}", readings, how="every query of the split"))
            corpora[dataset.name] = corpus_of(here)
            problems[dataset.name] = list(here.problems)
        error = estimator_error(document.text for document in dataset.documents)
        if error is not None:
            estimator[dataset.name] = error
    return CompareFile(
        machine=machine,
        seconds=time.perf_counter() - began,
        split=", ".join(sorted({dataset.split for dataset in datasets})),
        strategy=strategy.name,
        encoding=ENCODING,
        sets=rows,
        scenarios=list(scenarios(everything)),
        estimator=estimator,
        corpora=corpora,
        problems=problems,
    )


def scenarios(readings: Mapping[int, Sequence[Reading]]) -> Iterator[TokenRow]:
    """The rows of the user's documents: over whatever fits, and over hit lists of about the size that they assume."""
    for k, wanted, legacy, progressive in SCENARIOS:
        full = [reading for reading in readings[k] if len(reading.hits) == k and any(reading.hits)]
        long = [reading for reading in full if reading.legacy >= LONG * legacy]
        least = f"texts of at least {LONG * legacy:,.0f} tokens in all"
        for label, size, pool in (("", "texts of any length", full), (", long texts", least, long)):
            if pool:
                yield _scenario(pool, k, wanted, label, size, (legacy, progressive))


def _scenario(
    pool: Sequence[Reading], k: int, wanted: int, label: str, size: str, claimed: tuple[int, int]
) -> TokenRow:
    nearest = min({sum(reading.hits) for reading in pool}, key=lambda count: (abs(count - wanted), count))
    fitting = [reading for reading in pool if sum(reading.hits) == nearest]
    exact, flag = "", ""
    if nearest != wanted:
        exact, flag = f"; none has {wanted}, the nearest count was taken", f" (nearest: {nearest})"
    how = f"queries whose {k} hits hold exactly {nearest} relevant, {size}{exact}; read until all {nearest} are found"
    return row(f"{k} results, {wanted} relevant{flag}{label}", fitting, wanted=nearest, how=how, claimed=claimed)


def saving(item: TokenRow) -> str:
    """The saving of a row, never without the evidence of both sides."""
    change = item.progressive.tokens / item.legacy.tokens - 1 if item.legacy.tokens else 0.0
    return (
        f"{item.legacy.tokens:,.0f} → {item.progressive.tokens:,.0f} tokens ({change:+.0%}), "
        f"evidence {item.legacy.evidence:.0%} → {item.progressive.evidence:.0%}, "
        f"recall {item.legacy.recall:.0%} → {item.progressive.recall:.0%}"
    )
