"""`calibrate`: what a score means, fitted and certified on dev, and whether test keeps the promise."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from eval.corpus import OnStep
from eval.datasets import Dataset
from eval.fitting import Asked, asked, certifying, fit, thresholds
from eval.machine import Machine, this_machine
from eval.measures import Values
from eval.risk import calibration_error, lower_bound, risk_coverage
from eval.run import bins
from eval.schema import CalibrateFile, Fired, LogisticPart, Promise, SetScores
from eval.trials import KINDS, SMALL, WHOLE, trials
from indexes.analyzer import ANALYZER_VERSION
from indexes.embedder import FastEmbedder
from indexes.errors import UsageError
from pipeline import Settings
from pipeline.confidence import ANCHORS, FALLBACK_FEATURES, FEATURES, FILE, FLOOR, Confidence, Logistic
from pipeline.legs import NO_MODEL

COVERAGES = (0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1.0)
"""Shares of queries at which the risk is reported."""


def calibrate(
    pairs: Sequence[tuple[Dataset, Dataset]], cache: Path, settings: Settings, *, on_step: OnStep = lambda _: None
) -> CalibrateFile:
    """Fit and certify on the first of each pair (dev), report on the second (test).

    Raises UsageError (no model is set: a search by words alone is judged by the fallback, which is not certified).
    """
    if settings.embedder.model == NO_MODEL:
        raise UsageError("Scores are calibrated for an embedding model, and embedder.model is 'none'. Set a model.")
    began, machine = time.perf_counter(), this_machine()
    dev, test = (
        [
            asked(trial, settings)
            for each in sets
            for trial in trials(each, [other for other in sets if other is not each], cache, settings, on_step)
        ]
        for sets in zip(*pairs, strict=True)
    )
    return figures(dev, test, settings, machine, began)


def figures(
    dev: Sequence[Asked], test: Sequence[Asked], settings: Settings, machine: Machine, began: float
) -> CalibrateFile:
    """The fit to the dev trials, and its figures on the test trials."""
    confidence = fit(dev)
    if confidence.model is None:
        raise TypeError("a fit has a model")
    judged = [_judge(each, confidence, settings) for each in test]
    first = [each for each in judged if each.asked.trial.store == WHOLE and each.asked.listed]
    answerable = [each for each in first if each.asked.trial.kind == "answerable"]
    return CalibrateFile(
        machine=machine,
        model=FastEmbedder(settings.embedder.model).name,
        analyzer=ANALYZER_VERSION,
        order=dev[0].trial.order,
        fitted=_part(confidence.model, FEATURES),
        fallback=_part(confidence.fallback, FALLBACK_FEATURES),
        promises=_promises(confidence.model, dev, first),
        fired=[row for store in (WHOLE, *map(str, SMALL)) for kind in KINDS for row in _fired(judged, kind, store)],
        sets={
            name: _set(name, judged, dev, settings) for name in dict.fromkeys(each.asked.trial.name for each in judged)
        },
        calibration_error=_error(first),
        answerable_error=_error(answerable),
        relevant_below=_below(judged),
        reliability=bins([(float(each.p[0]), bool(each.asked.listed_right[0])) for each in answerable]),
        seconds=time.perf_counter() - began,
    )


@dataclass(frozen=True, slots=True)
class _Judged:
    """A trial with the p and the score of each listed hit, and how many are shown."""

    asked: Asked
    p: Values
    scores: Values
    shown: int
    expanded: bool

    @property
    def top(self) -> float:
        """The score of the first hit; 0 where none is shown."""
        return float(self.scores[0]) if self.shown else 0.0

    @property
    def right(self) -> bool:
        """Whether the first listed hit is relevant."""
        return bool(self.asked.listed and self.asked.listed_right[0])


def _judge(each: Asked, confidence: Confidence, settings: Settings) -> _Judged:
    p = confidence.probability(each.trial.rankings, each.listed)
    scores = np.array(confidence.scores(each.trial.rankings, each.listed))
    shown = int((scores >= FLOOR).sum())
    rules = settings.auto_expand
    gap = scores[0] - (scores[1] if shown > 1 else 0.0) if shown else 0.0
    return _Judged(each, p, scores, shown, bool(shown and scores[0] >= rules.winner_score and gap >= rules.winner_gap))


def _promises(model: Logistic, dev: Sequence[Asked], first: Sequence[_Judged]) -> list[Promise]:
    made = []
    held = [each for each in certifying(dev)[0] if each.listed]
    for anchor, threshold in thresholds(model, dev).items():
        sure = [e for e in held if threshold is not None and model.probability(e.listed_features[:1])[0] >= threshold]
        right = sum(bool(each.listed_right[0]) for each in sure)
        kept = [each for each in first if each.top >= anchor]
        answerable = [each for each in kept if each.asked.trial.kind == "answerable"]
        others = sum(each.asked.weight for each in kept) - len(answerable)
        found = sum(each.right for each in answerable)
        made.append(
            Promise(
                score=anchor,
                threshold=threshold,
                bound=lower_bound(right, len(sure)),
                dev=(len(sure), right),
                test=(len(answerable), found),
                mixed=found / (len(answerable) + others) if kept else None,
            )
        )
    return made


def _fired(judged: Sequence[_Judged], kind: str, store: str) -> list[Fired]:
    mine = [each for each in judged if (each.asked.trial.kind, each.asked.trial.store) == (kind, store)]
    if not mine:
        return []
    return [
        Fired(
            kind=kind,
            store=store,
            queries=len(mine),
            answered=_share([each.shown > 0 for each in mine]),
            sure=_share([each.top >= ANCHORS[1] for each in mine]),
            expanded=_share([each.expanded for each in mine]),
            right=_share([each.expanded and each.right for each in mine]),
        )
    ]


def _set(name: str, judged: Sequence[_Judged], dev: Sequence[Asked], settings: Settings) -> SetScores:
    mine = [
        each
        for each in judged
        if (each.asked.trial.name, each.asked.trial.store, each.asked.trial.kind) == (name, WHOLE, "answerable")
    ]
    others = [each for each in dev if each.trial.name != name]
    stranger = fit(others) if others else None
    strange = [_judge(each.asked, stranger, settings) for each in mine] if stranger is not None else []
    p = np.array([each.p[0] if each.asked.listed else 0.0 for each in mine])
    right = np.array([float(each.right) for each in mine])
    return SetScores(
        queries=len(mine),
        first=float(right.mean()),
        expanded=_share([each.expanded for each in mine]),
        right=_share([each.expanded and each.right for each in mine]),
        transfer=(_share([e.expanded for e in strange]), _share([e.expanded and e.right for e in strange]))
        if strange
        else None,
        calibration_error=calibration_error(p, right, np.ones(len(mine))),
        risk=risk_coverage(p, right, COVERAGES),
    )


def _error(first: Sequence[_Judged]) -> float:
    p = np.array([each.p[0] for each in first])
    right = np.array([float(each.right) for each in first])
    return calibration_error(p, right, np.array([each.asked.weight for each in first]))


def _below(judged: Sequence[_Judged]) -> float:
    scores = [
        each.scores[each.asked.listed_right > 0]
        for each in judged
        if (each.asked.trial.store, each.asked.trial.kind) == (WHOLE, "answerable") and each.asked.listed
    ]
    return _share(list(np.concatenate(scores) < FLOOR)) if scores else 0.0


def _share(flags: Sequence[bool]) -> float:
    return float(np.mean(flags)) if len(flags) else 0.0


def _part(model: Logistic, names: Sequence[str]) -> LogisticPart:
    weights = dict(zip(names, model.weights, strict=True))
    return LogisticPart(intercept=model.intercept, weights=weights, knots=list(model.knots), answer=model.answer)


def ship(file: CalibrateFile, path: Path = FILE) -> None:
    """Write the fitted models into the package."""
    data = {"model": file.model, "analyzer": file.analyzer, "order": file.order}
    data |= file.fitted.model_dump() | {"fallback": file.fallback.model_dump()}
    path.write_text(json.dumps(data, indent=2) + "\n", encoding="utf-8")
