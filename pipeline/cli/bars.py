"""Progress bars on stderr, where somebody is looking."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pipeline.progress import OnProgress, Progress

_LABELS = {"read": "Reading files", "words": "Indexing words", "vectors": "Embedding"}


@contextmanager
def bars(*, color: bool) -> Iterator[OnProgress | None]:
    """A function that draws progress, one bar a stage; None if stderr is not a terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich import progress
    from rich.console import Console

    console = Console(stderr=True, no_color=not color)
    columns = (
        progress.TextColumn("{task.description:<14}"),
        progress.BarColumn(),
        progress.MofNCompleteColumn(),
        progress.TimeRemainingColumn(),
    )
    with progress.Progress(*columns, console=console, transient=True) as drawn:
        tasks: dict[str, progress.TaskID] = {}

        def on_progress(now: Progress) -> None:
            if not now.total:
                return  # nothing to do is nothing to show
            if now.stage not in tasks:
                tasks[now.stage] = drawn.add_task(_LABELS[now.stage], total=now.total)
            drawn.update(tasks[now.stage], completed=now.done, total=now.total)

        yield on_progress
