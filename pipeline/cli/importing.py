"""`gieok import` takes over the memories of other tools."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from indexes.errors import NoStoreError
from pipeline.cli.lazy import module_app
from pipeline.cli.options import AsJson, Common, Config, Home, NoColor, common, print_json
from pipeline.cli.run import FAILED, FOUND, NOTHING, ends_well

if TYPE_CHECKING:
    from pipeline.formatter import Line
    from pipeline.imports.importer import ImportReport
    from pipeline.results import Failure

app = module_app()

SHOWN = 5
"""Failures and notices that are printed; the rest are counted, and all of them are in --json."""


class Kind(StrEnum):
    """Whose store it is."""

    claude_mem = "claude-mem"
    claude_memory_layer = "claude-memory-layer"
    memory_index = "memory-index"


@app.command("import")
@ends_well
def import_(
    ctx: typer.Context,
    kind: Annotated[
        Kind,
        typer.Argument(metavar="KIND", help="claude-mem, claude-memory-layer or memory-index.", show_choices=False),
    ],
    path: Annotated[Path, typer.Argument(metavar="PATH", help="The store's file, or the folder that holds it.")],
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Count and show samples; write nothing.")] = False,
    no_vectors: Annotated[bool, typer.Option("--no-vectors", help="Words only; vectors can follow later.")] = False,
    as_json: AsJson = False,
    home: Home = None,
    config: Config = None,
    no_color: NoColor = False,
) -> int:
    """Take over the memories of another tool. Its store is only read; a second run takes what is new.

    Example: gieok import claude-mem ~/.claude-mem --dry-run
    """
    chosen = common(ctx, home, config, no_color)
    report = _imported(chosen, kind.value, path, dry_run=dry_run, vectors=not no_vectors)
    if as_json:
        print_json(report.to_json())
    else:
        chosen.show(_view(report))
    if report.failed and not report.indexed + report.updated + report.skipped:
        return FAILED
    return FOUND if report.found else NOTHING


def _imported(chosen: Common, kind: str, path: Path, *, dry_run: bool, vectors: bool) -> ImportReport:
    from pipeline.cli.bars import bars
    from pipeline.imports.importer import preview_import

    try:
        with chosen.open(create=not dry_run) as memory, bars(color=not chosen.no_color) as on_progress:
            return memory.import_from(kind, path, dry_run=dry_run, vectors=vectors, on_progress=on_progress)
    except NoStoreError:  # a dry run makes none
        return preview_import(kind, path)


def _view(report: ImportReport) -> Iterator[Line]:
    from rich.text import Text

    from pipeline.formatter import Line
    from pipeline.plaintext import clean, fold

    def line(lead: str, body: str) -> Line:
        return Line(lead, Text(fold(clean(body))))

    def several(lead: str, failures: list[Failure]) -> Iterator[Line]:
        for failure in failures[:SHOWN]:
            yield line(lead, f"{failure.path}: {failure.reason}")
        if len(failures) > SHOWN:
            yield line(lead, f"… and {len(failures) - SHOWN:,} more; --json lists all")

    for store in report.stores:
        yield line("Store: ", f"{store.path} ({store.layout})")
    rows = ", ".join(f"{count:,} {name}" for name, count in report.rows.items()) or "nothing"
    yield line("Read: ", f"{report.sessions:,} sessions, {rows}")
    counts = [f"{getattr(report, name):,} {name}" for name in ("indexed", "updated", "skipped", "empty")]
    yield line(
        "Sessions: ",
        f"{', '.join(counts)}, {len(report.failed):,} failed"
        + (" (dry run: nothing was written)" if report.dry_run else ""),
    )
    yield from several("Failed: ", report.failed)
    yield from several("Note: ", report.notices)
    for sample in report.samples:
        about = ", ".join(filter(None, (sample.project, sample.title)))
        yield line("Sample: ", f"{sample.timestamp:%Y-%m-%d %H:%M} {sample.type} [{about}] {sample.preview}")
    if not report.dry_run:
        kept_out = f" ({report.forgotten:,} more stay out: they were forgotten on purpose)" if report.forgotten else ""
        yield line("Memories: ", f"{report.memories:,}{kept_out}")
        if report.vectors_pending:
            yield line(
                "", f"{report.vectors_pending:,} without vectors so far; words find them already. Finish: gieok index"
            )
