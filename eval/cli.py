"""`python -m eval`: measure gieok on labelled sets, on your machine, or on your own memories."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, NoReturn

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bars

from eval import schema, summary
from eval.calibrate import calibrate as fit_confidence
from eval.calibrate import ship as ship_confidence
from eval.compare import compare as measure_compare
from eval.datasets import SAMPLE_NAME, Dataset, data_folder, found, load
from eval.fusion import fusion as measure_fusion
from eval.latency import SIZES
from eval.latency import latency as measure_latency
from eval.mine import mine as measure_mine
from eval.order import order as fit_order
from eval.order import ship as ship_order
from eval.report import write_report
from eval.run import run as measure_run
from indexes.errors import GieokError, UsageError
from pipeline import Gieok, Settings
from pipeline.progress import OnProgress, Progress

PIPED = 160
"""Columns of tables that go into a file, where nobody can widen the window."""

app = typer.Typer(
    name="python -m eval", help=__doc__, no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False
)
out = Console(width=None if sys.stdout.isatty() else PIPED)
err = Console(stderr=True)

Sets = Annotated[
    list[str] | None,
    typer.Argument(metavar="DATASET…", help="Names or folders; all that are found, if none is given."),
]
Out = Annotated[Path | None, typer.Option("--out", help="Folder for the JSON and report.html.")]
Cache = Annotated[Path, typer.Option("--cache", help="Folder in which indexes are kept between runs.")]
Config = Annotated[
    Path | None, typer.Option("--config", help="Settings to measure; the product's defaults, if not given.")
]
Split = Annotated[str, typer.Option("--split", help="Which judged queries: qrels/SPLIT.tsv.")]
CACHE = Path(".eval")


@app.command()
def datasets() -> None:
    """List the sets at hand with their splits and problems, and how to get public ones."""
    summary.datasets(out)


@app.command()
def run(
    sets: Sets = None,
    split: Split = "test",
    worst: Annotated[int, typer.Option(min=0, help="List so many of the default's worst queries per set.")] = 0,
    plain: Annotated[bool, typer.Option("--plain", help="Also measure BM25 without an analyzer.")] = False,
    folder: Out = None,
    cache: Cache = CACHE,
    config: Config = None,
) -> None:
    """Quality of words, vectors, plain fusion and the product's default, with tests and intervals."""
    loaded = _load(sets, split)
    with _Steps() as steps:
        result = measure_run(loaded, cache, _settings(config), plain=plain, worst=worst, on_step=steps)
    summary.run(out, result)
    _finish(folder, "run", result)


@app.command()
def compare(
    sets: Sets = None, split: Split = "test", folder: Out = None, cache: Cache = CACHE, config: Config = None
) -> None:
    """Tokens and evidence: the full text of the top k at once, or an index and then details."""
    loaded = _load(sets, split)
    with _Steps() as steps:
        result = measure_compare(loaded, cache, _settings(config), on_step=steps)
    summary.compare(out, result)
    _finish(folder, "compare", result)


@app.command()
def latency(
    sets: Sets = None,
    split: Split = "test",
    size: Annotated[
        list[int] | None, typer.Option("--size", min=1, help="Memories to grow to; 10000 and 100000 if not given.")
    ] = None,
    cold: Annotated[int, typer.Option(min=1, help="Fresh processes per layer.")] = 10,
    folder: Out = None,
    cache: Cache = CACHE,
    config: Config = None,
) -> None:
    """Percentiles of each layer, cold and warm, at the sets' own size and grown; memory and disk."""
    loaded = _load(sets, split)
    with _Steps() as steps:
        result = measure_latency(loaded, cache, _settings(config), sizes=size or SIZES, cold=cold, on_step=steps)
    summary.latency(out, result)
    _finish(folder, "latency", result)


@app.command()
def fusion(sets: Sets = None, folder: Out = None, cache: Cache = CACHE, config: Config = None) -> None:
    """Search k, depth and leg weights on the dev splits, and show the gain on test."""
    pairs = list(zip(_load(sets, "dev"), _load(sets, "test"), strict=True))
    with _Steps() as steps:
        result = measure_fusion(pairs, cache, _settings(config), on_step=steps)
    summary.fusion(out, result)
    _finish(folder, "fusion", result)


@app.command()
def order(
    sets: Sets = None,
    ship: Annotated[bool, typer.Option("--ship", help="Write the weights into the package.")] = False,
    folder: Out = None,
    cache: Cache = CACHE,
    config: Config = None,
) -> None:
    """Fit the weights of the evidence order on the dev splits, and show the gain on test."""
    pairs = list(zip(_load(sets, "dev"), _load(sets, "test"), strict=True))
    with _Steps() as steps:
        result = fit_order(pairs, cache, _settings(config), on_step=steps)
    summary.order(out, result)
    if ship:
        ship_order(result)
    _finish(folder, "order", result)


@app.command()
def calibrate(
    sets: Sets = None,
    ship: Annotated[bool, typer.Option("--ship", help="Write the fitted model into the package.")] = False,
    folder: Out = None,
    cache: Cache = CACHE,
    config: Config = None,
) -> None:
    """Fit what a score means on the dev splits, certify it, and show on test whether it keeps its promise."""
    names = sets or [*(name for name in found() if name != SAMPLE_NAME), SAMPLE_NAME]
    pairs = list(zip(_load(names, "dev"), _load(names, "test"), strict=True))
    with _Steps() as steps:
        result = fit_confidence(pairs, cache, _settings(config), on_step=steps)
    summary.calibrate(out, result)
    if ship:
        ship_confidence(result)
    _finish(folder, "calibrate", result)


@app.command()
def mine(
    home: Annotated[Path | None, typer.Option("--home", help="Your store; the usual one, if not given.")] = None,
    sample: Annotated[int, typer.Option(min=1, help="Memories to make queries from.")] = 100,
    seed: Annotated[int, typer.Option(min=0, help="Another seed samples other memories.")] = 1,
    folder: Out = None,
    config: Config = None,
) -> None:
    """Known-item queries on your own store: the product beside grep. No text leaves the store."""
    with Gieok.open(home, config) as gieok:
        result = measure_mine(gieok, sample=sample, seed=seed)
    summary.mine(out, result)
    _finish(folder, "mine", result)


def main() -> NoReturn:
    """Run the command line; a `GieokError` is one line on stderr and exit code 2."""
    try:
        app()
    except GieokError as error:
        err.print(f"error: {error}", style="red", markup=False, highlight=False, soft_wrap=True)
        sys.exit(2)
    except KeyboardInterrupt:
        err.print("Stopped. What was indexed is kept; the next run goes on from there.")
        sys.exit(130)
    sys.exit(0)


def _load(names: Sequence[str] | None, split: str) -> list[Dataset]:
    """The sets asked for; by default all of the data folder, or the built-in sample where there is none."""
    if not names and os.environ.get("GIEOK_DATA") and not data_folder().is_dir():
        raise UsageError(f"GIEOK_DATA names {data_folder()}, which is no folder. Correct it, or name a DATASET.")
    chosen = list(dict.fromkeys(names or [name for name in found() if name != SAMPLE_NAME] or [SAMPLE_NAME]))
    return [load(name, split) for name in chosen]


def _settings(config: Path | None) -> Settings:
    """The product's defaults, so that a figure does not depend on whose machine it was; or the file's."""
    return Settings.load(config) if config is not None else Settings()


def _finish(folder: Path | None, name: str, result: schema.ResultFile) -> None:
    if folder is not None:
        path = schema.write(folder, name, result)
        out.print(f"\nWritten: {path} and {write_report(folder)}", soft_wrap=True, highlight=False)


class _Steps:
    """Progress bars on stderr, one for each stage of a set's indexing; nothing where stderr is no terminal."""

    def __init__(self) -> None:
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        self._bars = Bars(*columns, console=err, disable=not err.is_terminal, transient=True)

    def __enter__(self) -> _Steps:
        self._bars.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bars.stop()

    def __call__(self, name: str) -> OnProgress:
        """What is told of the indexing of `name`."""
        tasks = {task.description: task.id for task in self._bars.tasks}

        def tell(progress: Progress) -> None:
            label = f"{name}: {progress.stage}"
            if label not in tasks:
                tasks[label] = self._bars.add_task(label)
            self._bars.update(tasks[label], completed=progress.done, total=progress.total)

        return tell
