"""The part of the report about scores: what they promise, what they keep, and what queries without an answer do."""

from __future__ import annotations

from html import escape

from eval import charts
from eval.html import fold, table, wrapped
from eval.schema import CalibrateFile


def promises(file: CalibrateFile) -> str:
    """Figures of `calibrate`."""
    groups = [
        charts.Group(
            wrapped(name),
            [charts.Bar("detail opened", each.expanded), charts.Bar("right detail", each.right)],
        )
        for name, each in file.sets.items()
    ]
    points = [charts.Point(b.score, b.relevant, b.count) for b in file.reliability]
    kept = [
        [
            f"{row.score:g}",
            "off" if row.threshold is None else f"{row.threshold:g}",
            of(row.dev),
            f"{row.bound:.3f}",
            of(row.test),
            "" if row.mixed is None else f"{row.mixed:.3f}",
        ]
        for row in file.promises
    ]
    fired = [
        [f.store, f.kind, f"{f.queries:,}", *(f"{share:.1%}" for share in (f.answered, f.sure, f.expanded, f.right))]
        for f in file.fired
    ]
    steps = [f"{step:.0%}" for step, _ in next(iter(file.sets.values())).risk] if file.sets else []
    risks = [
        [
            name,
            f"{each.first:.1%}",
            *("" if each.transfer is None else f"{share:.1%}" for share in each.transfer or (0, 0)),
            *(f"{r:.1%}" for _, r in each.risk),
        ]
        for name, each in file.sets.items()
    ]
    head = [
        "set",
        "first right",
        "opened, fitted without it",
        "right, fitted without it",
        *(f"wrong at {s}" for s in steps),
    ]
    return "".join(
        [
            "<h2>What a score means</h2><p class='soft'>How often a first hit that scores so much is right: certified "
            "on dev queries that took no part in the fit, and counted on test. The last column asks queries without "
            "an answer as well.</p>",
            table(["score", "from p", "dev: right", "certified", "test: right", "test, mixed"], kept),
            "<h3>Details that open by themselves</h3><p class='soft'>Share of the answerable test queries whose first "
            "hit is opened, and is right.</p>",
            charts.legend(["detail opened", "right detail"]),
            charts.columns("Details opened by set", groups),
            "<h3>Is p the share that is right?</h3><p class='soft'>First hits of answerable test queries. With queries "
            f"without an answer the expected calibration error is {file.calibration_error:.3f}, without them "
            f"{file.answerable_error:.3f}.</p>",
            charts.reliability("Share of relevant first hits by p", points, promised="p of the first hit"),
            fold(
                "Queries without an answer, small stores",
                table(["store", "query", "asked", "any hit", "first ≥ .85", "opened", "right"], fired, left=(0, 1)),
            ),
            fold("Risk at each coverage, surest queries first", table(head, risks, left=(0,))),
            f"<p class='note'>{escape(file.model)}, analyzer {escape(file.analyzer)}, order {escape(file.order)}.</p>",
        ]
    )


def of(counts: tuple[int, int]) -> str:
    """Right ones of all, with their share."""
    return f"{counts[1]} of {counts[0]}" + (f" ({counts[1] / counts[0]:.3f})" if counts[0] else "")
