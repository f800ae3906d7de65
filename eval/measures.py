"""Retrieval measures by ir-measures, one value per query."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from indexes.errors import MissingExtraError

Values: TypeAlias = NDArray[np.float64]
Run: TypeAlias = Mapping[str, Sequence[str]]
"""Document ids per query id, best first."""

MEASURES = ("nDCG@10", "R@5", "R@10", "Success@1", "RR")
MAIN = "nDCG@10"


def per_query(run: Run, qrels: Mapping[str, Mapping[str, int]]) -> dict[str, Values]:
    """Each measure of `MEASURES` for every query of `qrels`, in the order of `qrels`.

    Grades are gains (relevance above 0 for the binary measures). A query that the run does not answer scores 0.
    `RR` looks as deep as the run goes. A document listed twice counts where it stands first.

    Raises MissingExtraError (ir-measures is not installed).
    """
    try:
        import ir_measures
    except ImportError as error:
        raise MissingExtraError("ir-measures", "eval") from error
    measures = [ir_measures.parse_measure(name) for name in MEASURES]
    # The tools behind ir-measures order by score and break ties by id; falling whole numbers keep the run's order.
    scored = {query: _falling(run.get(query, ())) for query in qrels}
    judged = {query: dict(grades) for query, grades in qrels.items()}
    row = {query: i for i, query in enumerate(qrels)}
    values = {name: np.zeros(len(row)) for name in MEASURES}
    for metric in ir_measures.iter_calc(measures, judged, scored):
        values[str(metric.measure)][row[metric.query_id]] = metric.value
    return values


def means(values: Mapping[str, Values]) -> dict[str, float]:
    """The mean of each measure over all queries."""
    return {name: float(value.mean()) for name, value in values.items()}


def _falling(ids: Sequence[str]) -> dict[str, float]:
    unique = dict.fromkeys(ids)
    return {document: float(len(unique) - rank) for rank, document in enumerate(unique)}
