"""Charts as SVG text: no library, no script, no network. Colours are CSS variables of the page (light and dark)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

WIDTH = 960
"""Drawing width of every chart; the page scales it to its column."""
_ROW, _GAP = 17, 10


@dataclass(frozen=True, slots=True)
class Bar:
    """One value of a series. `low` and `high` are its interval; `label` replaces the printed value."""

    series: str
    value: float
    low: float | None = None
    high: float | None = None
    label: str | None = None


@dataclass(frozen=True, slots=True)
class Group:
    """Bars that are read against each other."""

    name: str
    bars: Sequence[Bar]


def columns(title: str, groups: Sequence[Group], *, top: float = 1.0) -> str:
    """Standing bars in groups, values from 0 to `top`, intervals as whiskers, the last bar of a group labelled."""
    left, right, above, plot, below = 44, 8, 22, 260, 44
    height = above + plot + below
    room = (WIDTH - left - right) / max(1, len(groups))
    parts = [_grid_lines(left, right, above, plot, top)]
    for g, group in enumerate(groups):
        width = min(26.0, (room - 18) / max(1, len(group.bars)))
        x = left + g * room + (room - width * len(group.bars)) / 2
        for b, bar in enumerate(group.bars):
            size = plot * max(0.0, min(1.0, bar.value / top))
            at = x + b * width
            tip = f"{group.name}, {bar.series}: {bar.value:.3f}{_range(bar)}"
            parts.append(
                f'<rect class="mark {_css(bar.series)}" x="{at + 1:.1f}" y="{above + plot - size:.1f}" '
                f'width="{width - 2:.1f}" height="{size:.1f}" rx="1.5"><title>{escape(tip)}</title></rect>'
            )
            peak = bar.value
            if bar.low is not None and bar.high is not None:
                middle, peak = at + width / 2, max(peak, bar.high)
                ys = [above + plot * (1 - min(top, v) / top) for v in (bar.low, bar.high)]
                parts.append(f'<path class="whisker" d="M{middle:.1f} {ys[0]:.1f}V{ys[1]:.1f}"/>')
            if b == len(group.bars) - 1:
                y = above + plot * (1 - min(top, peak) / top) - 5
                label = bar.label or f"{bar.value:.3f}".lstrip("0")
                parts.append(
                    f'<text class="value" x="{at + width / 2:.1f}" y="{y:.1f}" {_MIDDLE}>{escape(label)}</text>'
                )
        parts.append(_group_name(group.name, left + (g + 0.5) * room, above + plot + 18))
    return _svg(title, height, parts)


def rows(title: str, groups: Sequence[Group], *, unit: str) -> str:
    """Lying bars in groups, one scale for all, every bar labelled at its end. `unit` names the axis."""
    left, right, above = 250, 300, 8
    most = max((bar.value for group in groups for bar in group.bars), default=1.0) or 1.0
    scale = (WIDTH - left - right) / most
    y, parts = float(above), []
    for group in groups:
        tall = _ROW * len(group.bars)
        parts.append(
            f'<text class="name" x="{left - 12}" y="{y + tall / 2 + 4:.1f}" {_END}>{escape(group.name)}</text>'
        )
        for bar in group.bars:
            end = bar.value * scale
            tip = f"{group.name}, {bar.series}: {bar.value:,.0f} {unit}"
            parts.append(
                f'<rect class="mark {_css(bar.series)}" x="{left}" y="{y + 1:.1f}" width="{max(1.0, end):.1f}" '
                f'height="{_ROW - 3}" rx="1.5"><title>{escape(tip)}</title></rect>'
            )
            label = bar.label or f"{bar.value:,.0f}"
            parts.append(f'<text class="value" x="{left + end + 6:.1f}" y="{y + _ROW - 5:.1f}">{escape(label)}</text>')
            y += _ROW
        y += _GAP
    parts.append(f'<text class="axis" x="{left}" y="{y + 8:.1f}">{escape(unit)}</text>')
    return _svg(title, y + 16, parts)


@dataclass(frozen=True, slots=True)
class Span:
    """A row of `spans`: median, 95th and 99th percentile, and the target that the 95th has."""

    name: str
    p50: float
    p95: float
    p99: float
    target: float


def spans(title: str, items: Sequence[Span], *, unit: str) -> str:
    """Percentiles on a logarithmic axis: a bar from p50 to p99, a dot at p95, the target as a line of its own row."""
    left, right, above, step = 250, 130, 26, 26
    values = [v for item in items for v in (item.p50, item.p99, item.target) if v > 0] or [1.0]
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    high = max(high, low + 1)

    def x(value: float) -> float:
        return left + (math.log10(max(value, 10**low)) - low) / (high - low) * (WIDTH - left - right)

    bottom = above + step * len(items)
    parts = []
    end = WIDTH - right + 12
    for power in range(low, high + 1):
        at = x(10**power)
        parts.append(f'<path class="grid" d="M{at:.1f} {above - 6}V{bottom}"/>')
        parts.append(f'<text class="axis" x="{at:.1f}" y="{above - 11}" {_MIDDLE}>{10**power:g} {escape(unit)}</text>')
    for i, item in enumerate(items):
        y = above + step * i + step / 2
        met = "met" if item.p95 <= item.target else "missed"
        tip = f"{item.name}: p50 {item.p50:.2f}, p95 {item.p95:.2f}, p99 {item.p99:.2f}, target {item.target:g} {unit}"
        width = max(3.0, x(item.p99) - x(item.p50))
        parts.append(
            f'<text class="name" x="{left - 12}" y="{y + 4:.1f}" {_END}>{escape(item.name)}</text>'
            f'<rect class="mark {met}" x="{x(item.p50):.1f}" y="{y - 6:.1f}" width="{width:.1f}" height="12" rx="6">'
            f"<title>{escape(tip)}</title></rect>"
            f'<circle class="dot" cx="{x(item.p95):.1f}" cy="{y:.1f}" r="4.5"><title>{escape(tip)}</title></circle>'
            f'<path class="target" d="M{x(item.target):.1f} {y - 11:.1f}v22"/>'
            f'<text class="value {met}" x="{end}" y="{y + 4:.1f}">p95 {_short(item.p95)} {escape(unit)}</text>'
        )
    return _svg(title, bottom + 8, parts)


@dataclass(frozen=True, slots=True)
class Point:
    """What was promised, what was kept, on how many."""

    promised: float
    kept: float
    count: int


def reliability(title: str, points: Sequence[Point], *, promised: str = "shown score of the top hit") -> str:
    """Kept against promised, both 0 to 1, with the diagonal of a truthful score; area grows with the count."""
    left, above, side = 330, 12, 300
    most = max((point.count for point in points), default=1)
    parts = []
    for tick in (0, 0.25, 0.5, 0.75, 1):
        x, y = left + side * tick, above + side * (1 - tick)
        parts.append(f'<path class="grid" d="M{left} {y}h{side}M{x} {above}v{side}"/>')
        parts.append(f'<text class="axis" x="{left - 8}" y="{y + 4}" {_END}>{tick:g}</text>')
        parts.append(f'<text class="axis" x="{x}" y="{above + side + 16}" {_MIDDLE}>{tick:g}</text>')
    parts.append(f'<path class="target" d="M{left} {above + side}L{left + side} {above}"/>')
    for point in points:
        radius = 3 + 11 * math.sqrt(point.count / most)
        tip = f"score {point.promised:.2f}: {point.kept:.2f} relevant of {point.count} top hits"
        parts.append(
            f'<circle class="mark default" cx="{left + side * point.promised:.1f}" '
            f'cy="{above + side * (1 - point.kept):.1f}" r="{radius:.1f}"><title>{escape(tip)}</title></circle>'
        )
    parts.append(
        f'<text class="name" x="{left + side / 2}" y="{above + side + 38}" {_MIDDLE}>{escape(promised)}</text>'
    )
    parts.append(f'<text class="name" x="{left - 44}" y="{above + side / 2}" {_END}>share relevant</text>')
    return _svg(title, above + side + 48, parts)


def legend(series: Sequence[str]) -> str:
    """The colours of the series, in order, as HTML."""
    return '<p class="legend">' + "".join(f'<span class="key {_css(s)}">{escape(s)}</span>' for s in series) + "</p>"


_MIDDLE, _END = 'text-anchor="middle"', 'text-anchor="end"'


def _svg(title: str, height: float, parts: Sequence[str]) -> str:
    return (
        f'<svg viewBox="0 0 {WIDTH} {height:.0f}" role="img" aria-label="{escape(title, quote=True)}">'
        f"{''.join(parts)}</svg>"
    )


def _grid_lines(left: int, right: int, above: int, plot: int, top: float) -> str:
    parts = []
    for step in range(6):
        y = above + plot * (1 - step / 5)
        parts.append(f'<path class="grid" d="M{left} {y:.1f}H{WIDTH - right}"/>')
        parts.append(f'<text class="axis" x="{left - 6}" y="{y + 4:.1f}" {_END}>{top * step / 5:.1f}</text>')
    return "".join(parts)


def _group_name(name: str, x: float, y: float) -> str:
    lines = name.split("\n")
    tspans = "".join(
        f'<tspan x="{x:.1f}" dy="{0 if i == 0 else 14}">{escape(line)}</tspan>' for i, line in enumerate(lines)
    )
    return f'<text class="name" y="{y}" {_MIDDLE}>{tspans}</text>'


def _range(bar: Bar) -> str:
    return f" ({bar.low:.3f} to {bar.high:.3f})" if bar.low is not None and bar.high is not None else ""


def _css(series: str) -> str:
    return "".join(c if c.isalnum() else "-" for c in series.lower())


def _short(value: float) -> str:
    return f"{value:.2f}" if value < 10 else f"{value:,.0f}"
