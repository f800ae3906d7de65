"""Small pieces of HTML."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

from eval.datasets import Problem


def fold(summary: str, inner: str) -> str:
    """Something to open by a click."""
    return f"<details><summary>{escape(summary)}</summary>{inner}</details>"


def table(
    head: Sequence[str], rows: Sequence[Sequence[str]], *, left: Sequence[int] = (), best: Sequence[set[int]] = ()
) -> str:
    """An HTML table; columns in `left` hold text, cells in `best` (a set of columns for each row) stand out."""

    def css(row: int, column: int) -> str:
        names = ["left"] * (column in left) + ["best"] * (row < len(best) and column in best[row])
        return f' class="{" ".join(names)}"' if names else ""

    headings = "".join(f"<th{css(len(rows), i)}>{escape(text)}</th>" for i, text in enumerate(head))
    lines = (
        "<tr>" + "".join(f"<td{css(r, c)}>{escape(cell)}</td>" for c, cell in enumerate(row)) + "</tr>"
        for r, row in enumerate(rows)
    )
    return f'<div class="scroll"><table><thead><tr>{headings}</tr></thead><tbody>{"".join(lines)}</tbody></table></div>'


def wrapped(name: str) -> str:
    """A long name on two lines, cut at an underscore or space."""
    for mark in ("_", " "):
        if len(name) > 10 and mark in name:
            before, _, after = name.rpartition(mark) if mark == "_" else name.partition(mark)
            return f"{before}{mark if mark == '_' else ''}\n{after}"
    return name


def problem_list(problems: Mapping[str, Sequence[Problem]]) -> str:
    """What was odd in each set, by name and count."""
    return "".join(
        f'<p class="problem">{escape(name)}: {escape(str(problem))}</p>'
        for name, each in problems.items()
        for problem in each
    )
