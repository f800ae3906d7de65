"""The parts of the report, one function for each file of figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

from eval import charts
from eval.compare import saving
from eval.html import fold, problem_list, table, wrapped
from eval.measures import MAIN, MEASURES
from eval.run import MACRO
from eval.schema import CompareFile, FusionFile, LatencyFile, MineFile, OrderFile, ResultFile, RunFile, TokenRow
from eval.systems import DEFAULT, RRF


def quality(file: RunFile) -> str:
    """Figures of `run`."""
    systems = list(file.macro)
    order = [*file.sets, *([MACRO] if len(file.sets) > 1 else [])]
    groups = [
        charts.Group(
            wrapped("mean of sets" if name == MACRO else name),
            [charts.Bar(s, v.mean, v.low, v.high) for s, v in ((s, file.intervals[name][s]) for s in systems)],
        )
        for name in order
    ]
    figures = {**file.sets, "mean of sets": file.macro}
    parts = [
        f"<h2>Quality</h2><p class='soft'>{MAIN} on the {escape(file.split)} queries; whiskers are 95 % bootstrap "
        "intervals over queries. The figure stands over the product's default.</p>",
        charts.legend(systems),
        charts.columns(f"{MAIN} by set and system", groups),
        _quality_table(figures, systems),
        _tests(file),
        problem_list(file.problems),
    ]
    if file.reliability:
        points = [charts.Point(b.score, b.relevant, b.count) for b in file.reliability]
        parts.append(
            "<h3>Does the score mean what it says?</h3><p class='soft'>First hits by the score that the product shows: "
            "on the dashed line a score of .8 would be right eight times in ten. Size is the number of queries.</p>"
            + charts.reliability("Share of relevant first hits by shown score", points)
        )
    if file.worst:
        rows = [[m.set, m.query, f"{m.value:.3f}", _ranks(m.ranks), ", ".join(m.relevant[:3])] for m in file.worst]
        parts.append(
            fold(
                f"{len(rows)} worst queries",
                table(["set", "query", MAIN, "rank of the first relevant", "relevant"], rows, left=(0, 1, 3, 4)),
            )
        )
    return "".join(parts)


def _quality_table(figures: Mapping[str, Mapping[str, Mapping[str, float]]], systems: Sequence[str]) -> str:
    rows, best = [], []
    for name, by_system in figures.items():
        for system in systems:
            rows.append([name, system, *(f"{by_system[system][measure]:.3f}" for measure in MEASURES)])
            best.append(
                {
                    2 + i
                    for i, measure in enumerate(MEASURES)
                    if by_system[system][measure] >= max(other[measure] for other in by_system.values())
                }
            )
    inner = table(["set", "system", *MEASURES], rows, left=(0, 1), best=best)
    return fold("All measures", inner)


def _tests(file: RunFile) -> str:
    rows = [
        [
            "mean of sets" if name == MACRO else name,
            f"{c.a} − {c.b}",
            f"{c.difference.mean:+.3f}",
            f"{c.difference.low:+.3f} to {c.difference.high:+.3f}",
            f"{c.p_holm:.4f}",
        ]
        for name, comparisons in file.tests.items()
        for c in comparisons
        if DEFAULT in (c.a, c.b)
    ]
    note = "Paired randomisation test, Holm-corrected over the pairs of a set; bootstrap interval of the difference."
    head = ["set", "systems", "difference", "95 % interval", "p"]
    return fold("Is it more than luck?", f"<p class='note'>{note}</p>{table(head, rows, left=(0, 1))}")


def tokens(file: CompareFile) -> str:
    """Figures of `compare`."""
    middle = [row for rows in file.sets.values() for row in rows if row.k == 10]
    rest = [row for rows in file.sets.values() for row in rows if row not in middle]
    estimator = [
        [name, f"{e.texts:,}", f"{e.total:+.1%}", f"{e.mean_absolute:.1%}", f"{e.p95_absolute:.1%}"]
        for name, e in file.estimator.items()
    ]
    return "".join(
        [
            f"<h2>Tokens</h2><p class='soft'>Mean tokens ({escape(file.encoding)}) that a query costs: the full text "
            f"of the top k at once (legacy), or the index and then details in {escape(file.strategy)} until a relevant "
            "one is read (progressive; index, hints, calls and tool definitions included). Beside each the share of "
            "queries that reached evidence.</p>",
            charts.legend(["legacy", "progressive"]),
            charts.rows(
                "Tokens, legacy and progressive, by set", [_pair(row) for row in middle], unit="tokens a query"
            ),
            "<h3>The scenarios of the specification, measured</h3>",
            charts.rows("Tokens in the scenarios", [_pair(row) for row in file.scenarios], unit="tokens a query"),
            _scenario_table(file.scenarios),
            fold("Other top k, and what progressive consists of", _token_table([*middle, *rest])),
            fold(
                "Error of the fast estimate",
                table(["set", "texts", "all together", "mean of a text", "95 % of texts within"], estimator, left=(0,)),
            ),
            problem_list(file.problems),
        ]
    )


def _pair(row: TokenRow) -> charts.Group:
    legacy, progressive = row.legacy, row.progressive
    change = f" ({progressive.tokens / legacy.tokens - 1:+.0%})" if legacy.tokens else ""
    return charts.Group(
        row.name,
        [
            charts.Bar("legacy", legacy.tokens, label=f"{legacy.tokens:,.0f} · evidence {legacy.evidence:.0%}"),
            charts.Bar(
                "progressive",
                progressive.tokens,
                label=f"{progressive.tokens:,.0f}{change} · evidence {progressive.evidence:.0%}",
            ),
        ],
    )


def _scenario_table(rows: Sequence[TokenRow]) -> str:
    cells = [
        [
            row.name,
            f"{row.claimed[0]:,} → {row.claimed[1]:,}" if row.claimed else "",
            saving(row),
            f"{row.queries:,}",
            row.how,
        ]
        for row in rows
    ]
    return table(["scenario", "claimed", "measured", "queries", "how they were picked"], cells, left=(0, 1, 2, 4))


def _token_table(rows: Sequence[TokenRow]) -> str:
    cells = [
        [
            row.name,
            f"{row.queries:,}",
            saving(row),
            *(f"{v:,.0f}" for v in (p.index_tokens, p.schema_tokens, p.call_tokens, p.detail_tokens)),
            f"{p.opened:.1f}",
            f"{p.tokens_to_evidence:,.0f}" if p.tokens_to_evidence is not None else "none",
        ]
        for row in rows
        for p in (row.progressive,)
    ]
    head = [
        "set",
        "queries",
        "legacy → progressive",
        "index",
        "tools",
        "calls",
        "details",
        "opened",
        "to first evidence",
    ]
    return table(head, cells, left=(0, 2))


def latency(file: LatencyFile) -> str:
    """Figures of `latency`."""
    parts = [
        "<h2>Latency</h2><p class='soft'>Each bar runs from the median to the 99th percentile, the dot is the 95th, "
        "the dashed line its target. Cold: the first call of a fresh process, loading included. Miss and hit: a warm "
        "process, asked for the first time and again.</p>",
        charts.legend(["met", "missed"]),
    ]
    for row in file.corpora:
        items = [
            charts.Span(f"layer {layer.layer}, {label}", timing.p50, timing.p95, timing.p99, layer.target_ms)
            for layer in row.layers
            for label, timing in (("cold", layer.cold), ("miss", layer.miss), ("hit", layer.hit))
        ]
        disk = ", ".join(f"{name} {size / 1e6:,.1f} MB" for name, size in row.disk_bytes.items())
        parts.append(
            f"<h3>{escape(row.name)}: {row.memories:,} memories, {row.passages:,} passages</h3>"
            + charts.spans(f"Latency by layer, {row.name}", items, unit="ms")
            + f"<p class='note'>{escape(row.how)}. Whole command line, cold: p50 {row.cold_process.p50:,.0f} ms, p95 "
            f"{row.cold_process.p95:,.0f} ms. Peak memory {row.peak_rss_bytes / 1e6:,.0f} MB; on disk {disk}.</p>"
        )
    return "".join(parts)


def fusion(file: FusionFile) -> str:
    """Figures of `fusion`."""
    chosen = file.chosen
    return "".join(
        [
            f"<h2>Fusion</h2><p class='soft'>Of {file.searched:,} settings the best on dev: k {chosen.k:g}, depth "
            f"{chosen.depth}, words {chosen.words_weight:g} to vectors {chosen.vectors_weight:g}. {MAIN} on test, "
            "which took no part in the choice:</p>",
            *_choice(file),
            fold("On dev, and chosen without the set", _with_held_out(file.dev, file.held_out)),
            problem_list(file.problems),
        ]
    )


def order(file: OrderFile) -> str:
    """Figures of `order`."""
    weights = ", ".join(f"{name} {weight:g}" for name, weight in file.weights.items())
    return "".join(
        [
            f"<h2>Order</h2><p class='soft'>Weights fitted on dev: {escape(weights)}. {MAIN} on test, which took no "
            "part in the fit:</p>",
            *_choice(file),
            fold("On test, fitted without the set", _with_held_out(file.test, file.held_out)),
            problem_list(file.problems),
        ]
    )


_SYSTEMS = [RRF, "present", "chosen"]


def _choice(file: FusionFile | OrderFile) -> list[str]:
    groups = [
        charts.Group(wrapped(name), [charts.Bar(system, each[system]) for system in _SYSTEMS])
        for name, each in file.test.items()
    ]
    rows = [
        [
            f"{c.a} − {c.b}",
            f"{c.difference.mean:+.4f}",
            f"{c.difference.low:+.4f} to {c.difference.high:+.4f}",
            f"{c.p_holm:.4f}",
        ]
        for c in file.tests
    ]
    return [
        charts.legend(_SYSTEMS),
        charts.columns(f"{MAIN} on test", groups),
        table(["settings", "difference", "95 % interval", "p (Holm)"], rows, left=(0,)),
    ]


def _with_held_out(figures: Mapping[str, Mapping[str, float]], held_out: Mapping[str, float]) -> str:
    rows = [
        [name, *(f"{each[s]:.3f}" for s in _SYSTEMS), f"{held_out[name]:.3f}" if name in held_out else ""]
        for name, each in figures.items()
    ]
    return table(["set", *_SYSTEMS, "without it"], rows, left=(0,))


def mine(file: MineFile) -> str:
    """Figures of `mine`."""
    tools = ["grep", "gieok"]
    groups = [
        charts.Group(wrapped(kind), [charts.Bar(tool, each[tool].in_ten) for tool in tools])
        for kind, each in file.kinds.items()
    ]
    rows = [
        [kind, tool, f"{r.queries}", f"{r.first:.0%}", f"{r.in_ten:.0%}", f"{r.ms.p50:.1f}", f"{r.ms.p95:.1f}"]
        for kind, each in file.kinds.items()
        for tool, r in each.items()
    ]
    return "".join(
        [
            f"<h2>Your memories</h2><p class='soft'>{file.sampled:,} of {file.memories:,} memories "
            f"({file.with_vectors:,} with vectors), asked for by queries made from them: the share found among the "
            "first ten. grep: what holds most of the words, newest first.</p>",
            charts.legend(tools),
            charts.columns("Found in ten by kind of query", groups),
            table(["query", "tool", "queries", "first", "in ten", "ms p50", "ms p95"], rows, left=(0, 1)),
        ]
    )


def headline(files: Mapping[str, ResultFile]) -> list[tuple[str, str]]:
    """The few figures that stand on top, with what they are."""
    facts = []
    run, compare, latency_file = files.get("run"), files.get("compare"), files.get("latency")
    if isinstance(run, RunFile):
        value = run.intervals[MACRO][DEFAULT]
        facts.append((f"{value.mean:.3f}".lstrip("0"), f"{MAIN} of the default, mean of {len(run.sets)} sets"))
    if isinstance(compare, CompareFile):
        rows = [row for each in compare.sets.values() for row in each if row.k == 10 and row.legacy.tokens]
        if rows:
            before, after = (
                [sum(values) / len(rows) for values in zip(*((s.tokens, s.evidence) for s in side), strict=True)]
                for side in ([row.legacy for row in rows], [row.progressive for row in rows])
            )
            what = f"tokens for the top 10, mean of sets; evidence {before[1]:.0%} → {after[1]:.0%}"
            facts.append((f"{before[0]:,.0f} → {after[0]:,.0f}", what))
    if isinstance(latency_file, LatencyFile):
        row = max(latency_file.corpora, key=lambda row: row.memories)
        facts.append((f"{row.layers[0].miss.p95:,.0f} ms", f"layer 1, warm p95, {row.memories:,} memories"))
    return facts


def _ranks(ranks: Mapping[str, int | None]) -> str:
    return ", ".join(f"{system} {rank if rank is not None else '–'}" for system, rank in ranks.items())
