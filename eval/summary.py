"""What the commands print: the figures in short, with what they rest on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from eval.compare import saving
from eval.datasets import Problem, data_folder, found, load, splits
from eval.measures import MAIN, MEASURES
from eval.promises import of
from eval.run import MACRO
from eval.schema import (
    CalibrateFile,
    CompareFile,
    FusionFile,
    LatencyFile,
    MineFile,
    OrderFile,
    ResultFile,
    RunFile,
    Timing,
)
from eval.significance import Comparison
from eval.systems import DEFAULT, RRF
from indexes.errors import GieokError

PUBLIC = """\
Public sets in this layout (get them yourself; nothing is downloaded here):
  BEIR (scifact, nfcorpus, …)   github.com/beir-cellar/beir: zip files that unpack to this layout
  MIRACL-ko                     huggingface.co/datasets/miracl/miracl and miracl-corpus, language ko
  Ko-StrategyQA                 huggingface.co/datasets/taeminlee/Ko-StrategyQA
  LoCoMo                        github.com/snap-research/locomo: turns as documents, evidence ids as qrels
  TyDi QA, Korean               github.com/google-research-datasets/tydiqa: gold passages
Unpack a set as FOLDER/corpus.jsonl, FOLDER/queries.jsonl and FOLDER/qrels/SPLIT.tsv, put the folder into the data
folder, or give its path to a command."""


def datasets(out: Console) -> None:
    """The sets at hand. A set that cannot be scored is listed with the reason."""
    table = Table(
        "set", "split", "documents", "queries", "remarks", title=f"Sets in {data_folder()}", title_justify="left"
    )
    for name, folder in found().items():
        for split in splits(folder) or [""]:
            try:
                loaded = load(str(folder), split)
            except GieokError as error:
                table.add_row(name, split, "", "", f"refused: {error}")
            else:
                remarks = "; ".join(str(problem) for problem in loaded.problems) or "none"
                table.add_row(name, split, f"{len(loaded.documents):,}", f"{len(loaded.queries):,}", remarks)
    if table.row_count:
        out.print(table)
    else:
        out.print(f"No sets in {data_folder()}. Name another folder by GIEOK_DATA.")
    out.print(PUBLIC, highlight=False, soft_wrap=True)


def run(out: Console, file: RunFile) -> None:
    """For each set the systems, with the default's lead over each; and problems by name."""
    short = [measure.replace("Success", "S") for measure in MEASURES]
    table = Table("set, system", *short, "default's lead (p, Holm)", box=SIMPLE_HEAD, pad_edge=False)
    for name, figures in [*file.sets.items(), (MACRO, file.macro)]:
        bounds = file.intervals[name][DEFAULT]
        interval = f"default {MAIN} {bounds.low:.3f} to {bounds.high:.3f}"
        table.add_row(f"[bold]{'mean of sets' if name == MACRO else name}", *[""] * len(MEASURES), interval)
        leads = {c.b if c.a == DEFAULT else c.a: c for c in file.tests[name] if DEFAULT in (c.a, c.b)}
        for system, values in figures.items():
            lead = leads.get(system)
            sign = 1 if lead is None or lead.a == DEFAULT else -1
            difference = "" if lead is None else f"{sign * lead.difference.mean:+.3f} ({lead.p_holm:.4f})"
            cells = (f"{values[measure]:.3f}" for measure in MEASURES)
            table.add_row(f"  {system}", *cells, difference, end_section=system == list(figures)[-1])
    out.print(table)
    for miss in file.worst:
        ranks = ", ".join(f"{system} {rank or 'none'}" for system, rank in miss.ranks.items())
        query = " ".join(miss.query.split())
        out.print(f"{miss.set} {miss.query_id} {miss.value:.3f} ({ranks}): {query}", markup=False, soft_wrap=True)
    _close(out, file, file.problems)


def compare(out: Console, file: CompareFile) -> None:
    """Savings, each with the evidence of both sides."""
    table = Table("what", "queries", "claimed", "legacy → progressive")
    for rows in [*file.sets.values(), file.scenarios]:
        for row in rows:
            claimed = f"{row.claimed[0]:,} → {row.claimed[1]:,}" if row.claimed else ""
            table.add_row(row.name, f"{row.queries:,}", claimed, saving(row), end_section=row is rows[-1])
    out.print(table)
    for name, error in file.estimator.items():
        out.print(f"Estimate against exact count, {name}: {error.total:+.1%} in all, {error.mean_absolute:.1%} a text")
    _close(out, file, file.problems)


def latency(out: Console, file: LatencyFile) -> None:
    """p50/p95/p99 of each layer, and whether p95 meets its target."""
    table = Table(
        "corpus", "memories", "layer", "target p95", "cold", "miss", "hit", title="ms: p50/p95/p99, * over target"
    )
    for row in file.corpora:
        for layer in row.layers:
            cells = [_percentiles(timing, layer.target_ms) for timing in (layer.cold, layer.miss, layer.hit)]
            table.add_row(row.name, f"{row.memories:,}", str(layer.layer), f"{layer.target_ms:g}", *cells)
        table.add_row(row.name, "", "command", "", _percentiles(row.cold_process, None), "", "", end_section=True)
    out.print(table)
    for row in file.corpora:
        disk = ", ".join(f"{name} {size / 1e6:.1f} MB" for name, size in row.disk_bytes.items())
        out.print(f"{row.name}: peak memory {row.peak_rss_bytes / 1e6:.0f} MB; {disk}; {row.how}", soft_wrap=True)
    _close(out, file, {})


def fusion(out: Console, file: FusionFile) -> None:
    """The chosen setting and its gain on test."""
    chosen = file.chosen
    out.print(
        f"Best of {file.searched} settings on dev: k={chosen.k:g} depth={chosen.depth} "
        f"words_weight={chosen.words_weight:g} vectors_weight={chosen.vectors_weight:g}"
    )
    systems = [RRF, "present", "chosen"]
    table = Table("set", *(f"dev {s}" for s in systems), "dev, chosen without it", *(f"test {s}" for s in systems))
    for name, test in file.test.items():
        held = file.held_out.get(name)
        table.add_row(
            name,
            *(f"{file.dev[name][s]:.3f}" for s in systems),
            "" if held is None else f"{held:.3f}",
            *(f"{test[s]:.3f}" for s in systems),
        )
    out.print(table)
    _differences(out, file.tests)
    _close(out, file, file.problems)


def order(out: Console, file: OrderFile) -> None:
    """The fitted weights and their gain on test."""
    out.print("Fitted on dev: " + " ".join(f"{name}={weight:g}" for name, weight in file.weights.items()))
    systems = [RRF, "present", "chosen"]
    table = Table("set", *(f"dev {s}" for s in systems), *(f"test {s}" for s in systems), "test, fitted without it")
    for name, test in file.test.items():
        held = file.held_out.get(name)
        cells = [*(file.dev[name][s] for s in systems), *(test[s] for s in systems)]
        table.add_row(name, *(f"{cell:.3f}" for cell in cells), "" if held is None else f"{held:.3f}")
    out.print(table)
    _differences(out, file.tests)
    _close(out, file, file.problems)


def calibrate(out: Console, file: CalibrateFile) -> None:
    """What each score promises and keeps, and how often queries without an answer open something."""
    weights = " ".join(f"{name}={weight:g}" for name, weight in file.fitted.weights.items())
    out.print(f"Fitted on dev for {file.model}, analyzer {file.analyzer}, order {file.order}:", soft_wrap=True)
    out.print(f"intercept={file.fitted.intercept:g} {weights}", soft_wrap=True)
    table = Table("score", "from p", "dev right", "certified", "test right", "with unanswerable queries")
    for row in file.promises:
        mixed = "" if row.mixed is None else f"{row.mixed:.3f}"
        p = "off" if row.threshold is None else f"{row.threshold:g}"
        table.add_row(f"{row.score:g}", p, of(row.dev), f"{row.bound:.3f}", of(row.test), mixed)
    out.print(table)
    table = Table("store", "query", "asked", "any hit", "first ≥ .85", "detail opened", "right detail")
    for fired in file.fired:
        cells = (f"{share:.1%}" for share in (fired.answered, fired.sure, fired.expanded, fired.right))
        table.add_row(fired.store, fired.kind, f"{fired.queries:,}", *cells)
    out.print(table)
    table = Table(
        "set", "queries", "first right", "detail opened", "right detail", "right, fitted without it", "error of p"
    )
    for name, each in file.sets.items():
        shares = (f"{share:.1%}" for share in (each.first, each.expanded, each.right))
        strange = "" if each.transfer is None else f"{each.transfer[1]:.1%}"
        table.add_row(name, f"{each.queries:,}", *shares, strange, f"{each.calibration_error:.3f}")
    out.print(table)
    out.print(
        f"Calibration error of p on first hits: {file.calibration_error:.3f}; without unanswerable queries "
        f"{file.answerable_error:.3f}. Relevant hits of the first ten below the floor: {file.relevant_below:.1%}"
    )
    _close(out, file, {})


def mine(out: Console, file: MineFile) -> None:
    """Found first and in ten, by kind of query and tool."""
    table = Table("query", "tool", "queries", "first", "in ten", "ms p50/p95/p99")
    for kind, tools in file.kinds.items():
        for tool, row in tools.items():
            cells = (f"{row.queries}", f"{row.first:.0%}", f"{row.in_ten:.0%}", _percentiles(row.ms, None))
            table.add_row(kind, tool, *cells, end_section=tool == list(tools)[-1])
    out.print(table)
    whole = f"{file.memories} memories of {file.home} ({file.with_vectors} with vectors)"
    out.print(f"{file.sampled} of {whole}, seed {file.seed}", soft_wrap=True)
    _close(out, file, {})


def _differences(out: Console, tests: Sequence[Comparison]) -> None:
    for c in tests:
        bounds = f"{c.difference.low:+.4f} to {c.difference.high:+.4f}"
        out.print(f"Test, mean of sets, {c.a} − {c.b}: {c.difference.mean:+.4f} ({bounds}), p {c.p_holm:.4f} (Holm)")


def _percentiles(timing: Timing, target: float | None) -> str:
    mark = "*" if target is not None and timing.p95 > target else ""
    return f"{timing.p50:.1f}/{timing.p95:.1f}/{timing.p99:.1f}{mark}"


def _close(out: Console, file: ResultFile, problems: Mapping[str, Sequence[Problem]]) -> None:
    for name, each in problems.items():
        for problem in each:
            out.print(f"{name}: {problem}", style="yellow", markup=False, soft_wrap=True)
    out.print(f"{file.seconds:.0f} s on {file.machine}", style="dim", markup=False, soft_wrap=True)
