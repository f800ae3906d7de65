"""JSON Lines with broken lines."""

from __future__ import annotations

import tracemalloc

from pipeline.sources.lines import JsonLines, name_lines


def test_broken_lines_cost_only_themselves() -> None:
    lines = JsonLines('{"a": 1}\n{"a": \n\n[1, 2]\n7\n{"a": 2}\n{"a": 3')
    assert list(lines) == [(1, {"a": 1}), (6, {"a": 2})]
    assert lines.notices() == [
        "line 2 skipped: not valid JSON",
        "lines 4, 5 skipped: JSON, but not an object",
        "line 7, the last one, skipped: it is not complete",
    ]


def test_only_line_feeds_end_a_line() -> None:
    assert list(JsonLines('{"a": "x\u2028y\x0cz"}\r\n{"b": 1}'.replace("\x0c", ""))) == [
        (1, {"a": "x\u2028yz"}),
        (2, {"b": 1}),
    ]


def test_depth_and_constants() -> None:
    lines = JsonLines("[" * 100_000 + '\n{"a": NaN}\n')
    assert list(lines) == [(2, {"a": "NaN"})]


def test_a_large_line_is_let_go() -> None:
    text = "\n".join(['{"a": "' + "x" * 4_000_000 + '"}'] * 8)
    tracemalloc.start()
    assert sum(1 for _ in JsonLines(text)) == 8
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 4 * 4_000_000  # the line, its value and the one before; not all eight


def test_line_numbers() -> None:
    assert name_lines([3]) == "line 3"
    assert name_lines(range(1, 13)) == "lines 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 and 2 more"
