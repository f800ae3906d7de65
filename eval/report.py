"""`report.html`: all figures of a folder on one page that needs nothing else."""

from __future__ import annotations

from html import escape
from pathlib import Path

from eval import sections
from eval.machine import Machine
from eval.promises import promises
from eval.schema import (
    FILES,
    CalibrateFile,
    CompareFile,
    FusionFile,
    LatencyFile,
    MineFile,
    OrderFile,
    ResultFile,
    RunFile,
    read,
)
from indexes.errors import SourceError

REPORT = "report.html"
_CSS = Path(__file__).with_name("page.css")


def write_report(folder: Path) -> Path:
    """Render whatever the commands have written into a folder.

    Raises SourceError (there are no figures, a file is of another version, or the page cannot be written).
    """
    files = {name: found for name, model in FILES.items() if (found := read(folder, name, model)) is not None}
    if not files:
        raise SourceError(f"{folder} holds no figures. Run a command with --out {folder} first.")
    path = folder / REPORT
    try:
        path.write_text(page(files), encoding="utf-8")
    except OSError as error:
        raise SourceError(f"{path}: cannot be written ({error.strerror}). Give another folder by --out.") from error
    return path


def page(files: dict[str, ResultFile]) -> str:
    """The page of these files, by name."""
    facts = "".join(
        f"<li><b>{escape(value)}</b><span>{escape(what)}</span></li>" for value, what in sections.headline(files)
    )
    body = "".join(
        f'<section id="{name}">{_section(file)}{_source(name, file)}</section>' for name, file in files.items()
    )
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>gieok: figures</title><style>{_CSS.read_text(encoding='utf-8')}</style></head><body><main>"
        "<h1>gieok: what was measured</h1>"
        '<p class="soft">Quality, tokens and latency, from one machine and named data.</p>'
        f"{f'<ul class=facts>{facts}</ul>' if facts else ''}{body}"
        "</main></body></html>\n"
    )


def _section(file: ResultFile) -> str:
    match file:
        case RunFile():
            return sections.quality(file)
        case CompareFile():
            return sections.tokens(file)
        case LatencyFile():
            return sections.latency(file)
        case FusionFile():
            return sections.fusion(file)
        case OrderFile():
            return sections.order(file)
        case CalibrateFile():
            return promises(file)
        case MineFile():
            return sections.mine(file)
    raise TypeError(type(file).__name__)


def _source(name: str, file: ResultFile) -> str:
    busy = f", load {file.machine.load_average:.1f}" if file.machine.load_average is not None else ""
    return (
        f"<footer>{escape(name)}.json, {file.seconds:,.0f} s on {escape(str(file.machine))}{busy}; "
        f"{escape(_packages(file.machine))}</footer>"
    )


def _packages(machine: Machine) -> str:
    return ", ".join(f"{name} {version}" for name, version in machine.packages.items())
