"""The JSON files that the commands write: one model each. `docs/evaluation.md` explains every field."""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from eval.datasets import Problem
from eval.machine import Machine
from eval.significance import Comparison, Interval
from eval.tokens import EstimatorError
from indexes.errors import SourceError

Figures = dict[str, float]
"""A value per measure, by the names of `eval.measures.MEASURES`."""
Model = TypeVar("Model", bound="ResultFile")


class Part(BaseModel):
    """Base of everything in a file."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class ResultFile(Part):
    """Base of the files. `machine` is where the figures come from, `seconds` how long the command took."""

    machine: Machine
    seconds: float


class Corpus(Part):
    """What was searched. `index` is the key of the kept index, `indexing_seconds` what building it took (0: kept)."""

    documents: int
    queries: int
    index: str
    indexing_seconds: float


class Miss(Part):
    """A query on which the default did badly: what was asked, what should have come, what came."""

    set: str
    query_id: str
    query: str
    value: float
    relevant: list[str]
    ranks: dict[str, int | None]
    """Per system, the rank of the first relevant document; None: not in the run."""
    top: list[str]


class Bin(Part):
    """Top hits whose shown score lies in one interval: how many, their mean score, the share that was relevant."""

    count: int
    score: float
    relevant: float


class RunFile(ResultFile):
    """`run.json`: quality of each system on each set, over the queries of one split."""

    split: str
    settings: dict[str, str]
    sets: dict[str, dict[str, Figures]]
    macro: dict[str, Figures]
    intervals: dict[str, dict[str, Interval]]
    tests: dict[str, list[Comparison]]
    corpora: dict[str, Corpus]
    problems: dict[str, list[Problem]]
    reliability: list[Bin]
    worst: list[Miss]


class Side(Part):
    """One way of giving memories to an agent, over the same queries.

    `tokens` is the mean a query costs, in exact tokens. `evidence` is the share of queries in which a relevant memory
    was read in full, `recall` the mean share of the relevant memories that were.
    """

    tokens: float
    p95_tokens: float
    evidence: float
    recall: float


class Progressive(Side):
    """What `tokens` consists of, and what the first evidence costs.

    `schema_tokens` (the definitions of the tools that reading in layers needs) is part of `tokens`: every query pays
    for it.
    `tokens_to_evidence` is the mean over the queries that reach evidence; None if none does.
    """

    index_tokens: float
    call_tokens: float
    schema_tokens: float
    detail_tokens: float
    opened: float
    tokens_to_evidence: float | None


class TokenRow(Part):
    """Legacy beside progressive on the same queries with the same top `k`."""

    name: str
    k: int
    queries: int
    how: str
    legacy: Side
    progressive: Progressive
    claimed: tuple[int, int] | None = None
    """For a scenario of the user's documents: the tokens that they claim, legacy and progressive."""


class CompareFile(ResultFile):
    """`compare.json`: tokens and evidence of both ways, by set and k, and the scenarios."""

    split: str
    strategy: str
    encoding: str
    sets: dict[str, list[TokenRow]]
    scenarios: list[TokenRow]
    estimator: dict[str, EstimatorError]
    corpora: dict[str, Corpus]
    problems: dict[str, list[Problem]]


class Timing(Part):
    """Milliseconds over `calls` calls."""

    calls: int
    p50: float
    p95: float
    p99: float


class LayerTiming(Part):
    """One layer: its target for p95, and what was measured. `cold` is the first call of a fresh process."""

    layer: int
    target_ms: float
    cold: Timing
    miss: Timing
    hit: Timing


class LatencyRow(Part):
    """One corpus. `how` says how it came about; `cold_process` is the whole command line, start to end."""

    name: str
    memories: int
    passages: int
    how: str
    layers: list[LayerTiming]
    cold_process: Timing
    peak_rss_bytes: int
    disk_bytes: dict[str, int]


class LatencyFile(ResultFile):
    """`latency.json`."""

    corpora: list[LatencyRow]


class FusionPoint(Part):
    """A setting of plain RRF: score = words_weight/(k + rank) + vectors_weight/(k + rank), ranks up to depth."""

    k: float
    depth: int
    words_weight: float
    vectors_weight: float


class FusionFile(ResultFile):
    """`fusion.json`: the best setting on dev, and what it gains on test over plain RRF and over the present setting."""

    searched: int
    chosen: FusionPoint
    present: dict[str, str]
    """The settings under which the product made its own order, by dotted names."""
    dev: dict[str, dict[str, float]]
    """nDCG@10 on dev by set (and `macro`): `rrf` (the reference), `present` (the product's own order) and `chosen`."""
    held_out: dict[str, float]
    """nDCG@10 on a set's dev queries of the setting chosen without that set."""
    grid: list[tuple[FusionPoint, float]]
    test: dict[str, dict[str, float]]
    intervals: dict[str, Interval]
    tests: list[Comparison]
    problems: dict[str, list[Problem]]


class OrderFile(ResultFile):
    """`order.json`: the weights of the evidence order fitted on dev, and what they gain on test.

    `dev` and `test` hold nDCG@10 by set (and `macro`): `rrf` (the reference), `present` (the product's own order) and
    `chosen`. `held_out` is a set's figure on test with weights that were fitted without that set.
    """

    model: str
    analyzer: str
    weights: dict[str, float]
    dev: dict[str, dict[str, float]]
    test: dict[str, dict[str, float]]
    held_out: dict[str, float]
    intervals: dict[str, Interval]
    tests: list[Comparison]
    problems: dict[str, list[Problem]]


class Promise(Part):
    """A score that is a promise: the p that it stands for (None: it is never given), and whether it was kept.

    `dev` and `test` are first hits that score so much, and how many of them are relevant, for answerable queries of
    whole stores; `bound` is the share that is certified. `mixed` is the share on test when queries without an answer
    are asked as well, a knock-out counting a quarter (None: no hit scores so much).
    """

    score: float
    threshold: float | None
    bound: float
    dev: tuple[int, int]
    test: tuple[int, int]
    mixed: float | None


class Fired(Part):
    """Test queries of a kind, asked of stores of one size.

    `answered` is the share that shows any hit, `sure` the share whose first hit reaches 0.85, `expanded` the share that
    would open a detail, `right` the share that would open a right one.
    """

    kind: str
    store: str
    queries: int
    answered: float
    sure: float
    expanded: float
    right: float


class SetScores(Part):
    """A set's answerable test queries on its whole store.

    `transfer` is `expanded` and `right` under a fit that never saw the set (None: there is no other). `risk` pairs
    shares of queries, surest first, with the share of wrong first hits among them.
    """

    queries: int
    first: float
    expanded: float
    right: float
    transfer: tuple[float, float] | None
    calibration_error: float
    risk: list[tuple[float, float]]


class LogisticPart(Part):
    """A fitted model, its map from p to the score, and the p that a first hit needs for an answer."""

    intercept: float
    weights: dict[str, float]
    knots: list[tuple[float, float]]
    answer: float


class CalibrateFile(ResultFile):
    """`calibrate.json`: the confidence fitted on dev, and what it is worth on test.

    `calibration_error` is that of p on first hits, `answerable_error` the same without queries that have no answer.
    `relevant_below` is the share of relevant hits among the first ten that fall below the floor.
    """

    model: str
    analyzer: str
    order: str
    fitted: LogisticPart
    fallback: LogisticPart
    promises: list[Promise]
    fired: list[Fired]
    sets: dict[str, SetScores]
    calibration_error: float
    answerable_error: float
    relevant_below: float
    reliability: list[Bin]


class MineRow(Part):
    """One kind of query, for one tool: queries asked, share found first, share found in ten, milliseconds."""

    queries: int
    first: float
    in_ten: float
    ms: Timing


class MineFile(ResultFile):
    """`mine.json`: known-item queries on the user's own store, the product beside plain grep."""

    home: str
    memories: int
    with_vectors: int
    sampled: int
    seed: int
    kinds: dict[str, dict[str, MineRow]]


FILES: dict[str, type[ResultFile]] = {
    "run": RunFile,
    "compare": CompareFile,
    "latency": LatencyFile,
    "fusion": FusionFile,
    "order": OrderFile,
    "calibrate": CalibrateFile,
    "mine": MineFile,
}


def write(folder: Path, name: str, content: ResultFile) -> Path:
    """Write `name`.json into a folder, which is made.

    Raises SourceError (the folder cannot be written).
    """
    path = folder / f"{name}.json"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        path.write_text(content.model_dump_json(indent=1) + "\n", encoding="utf-8")
    except OSError as error:
        raise SourceError(f"{path}: cannot be written ({error.strerror}). Give another folder by --out.") from error
    return path


def read(folder: Path, name: str, model: type[Model]) -> Model | None:
    """What a command wrote into a folder before; None where it did not.

    Raises SourceError (the file is there, but was not written by this version).
    """
    path = folder / f"{name}.json"
    if not path.is_file():
        return None
    try:
        return model.model_validate_json(path.read_bytes())
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise SourceError(
            f"{path}: not a file of this version ({where}: {first['msg']}). Delete it, or run its command again."
        ) from error
