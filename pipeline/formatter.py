"""What people read in a terminal. Views turn results into lines; `write` puts lines on a stream.

On a terminal lines are coloured and wrapped at its width (a Hangul syllable is two columns wide), elsewhere they are
plain and whole. Text of memories is cleaned and never taken for markup, so that it can't colour, move or link
anything. JSON is the form for programs: nothing here is meant to be parsed.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, tzinfo
from typing import TYPE_CHECKING, TextIO, TypeAlias

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from pipeline.plaintext import clean, fold, shown

if TYPE_CHECKING:  # the results are made of pydantic, which a view has no need to load
    from pipeline.explain import Explanation
    from pipeline.results import (
        Answer,
        Failure,
        FullDetail,
        IndexReport,
        LegacyHit,
        LegStatus,
        SearchIndexItem,
        Status,
        TimelineItem,
    )

ShortId: TypeAlias = Callable[[str], str]

NOTICES_SHOWN = 5
"""Notices of one indexing that are printed; the rest are counted. A screen has room for these and the summary."""

_STYLES = {"id": "cyan", "dim": "dim", "mark": "bold", "good": "bold green", "fair": "yellow", "bad": "red"}


@dataclass(frozen=True, slots=True)
class Line:
    """A line of output. Where it has to be wrapped, `body` hangs beside `lead`."""

    lead: str
    body: Text


def write(lines: Iterable[Line], stream: TextIO, *, color: bool | None = None, width: int | None = None) -> None:
    """Put `lines` on `stream`: wrapped and, by default, coloured if it is a terminal and `NO_COLOR` is not set."""
    terminal = stream.isatty()
    if not terminal and width is None and not color:
        stream.writelines(f"{line.lead}{line.body.plain}\n" if line.body.plain else "\n" for line in lines)
        return
    colored = terminal and not os.environ.get("NO_COLOR") if color is None else color
    console = Console(
        file=stream,
        color_system="auto" if colored else None,
        force_terminal=terminal or colored,
        width=width,
        highlight=False,
        markup=False,
        emoji=False,
    )
    for line in lines:
        room = max(console.width - cell_len(line.lead), 1)
        for number, part in enumerate(line.body.wrap(console, room)):
            part.rstrip()
            lead = line.lead if number == 0 else " " * cell_len(line.lead)
            console.print(Text(lead) + part if part.plain else Text(), soft_wrap=True)


# --- Views ----------------------------------------------------------------------------------------------------------


def search_view(
    query: str,
    answer: Answer,
    short: ShortId,
    *,
    layer: int | None,
    budget: int | None = None,
    zone: tzinfo | None = None,
) -> Iterator[Line]:
    """A search: a header, one line a hit (its snippet below it), timeline, details, and the next step.

    Without a layer it is a smart search, of which the header shows how much of the `budget` it took.
    """
    result = answer.result
    for notice in answer.notices:
        yield _line(("Note: ", "fair"), _flat(notice))
    if not result.index:
        yield _line(_flat(answer.reason or f'Nothing found for "{query}".'))
        yield from _hint(answer.advice)
        return
    count = result.meta.total_matches
    matches = _counted(count, "match", "matches")
    tokens = f"{result.meta.estimated_tokens:,}"
    if layer is None:
        size = f"  (progressive, {tokens} of {budget or 0:,} tokens)" if budget else f"  (progressive, {tokens} tokens)"
    else:
        size = f"  (layer {layer}, about {tokens} tokens)"
    yield _line((f'{matches} for "{shown(query)}"', "mark"), (size, "dim"))
    for rank, item in enumerate(result.index, 1):
        yield from _hit(rank, item, short, zone)
    if result.timeline:
        yield Line("", Text())
        yield from timeline_view(result.timeline, short, reason=result.meta.expansion_reason, zone=zone)
    for detail in result.details or ():
        yield Line("", Text())
        yield from _detail(detail, short, zone)
    yield from _hint(answer.advice if layer is None or not result.details else None)


def timeline_view(
    items: Sequence[TimelineItem], short: ShortId, *, reason: str | None = None, zone: tzinfo | None = None
) -> Iterator[Line]:
    """Memories around the targets by local time, the targets marked, with a line for each new day."""
    targets = ", ".join(short(item.id) for item in items if item.is_target)
    yield _line(("Timeline around ", "mark"), (targets, "id"), (f" (expanded: {reason})" if reason else "", "dim"))
    day = ""
    for item in items:
        moment = _local(item.timestamp, zone)
        if day != (day := f"{moment:%Y-%m-%d}"):
            yield _line((day, "dim"))
        lead = f"{moment:%H:%M}  {'▶' if item.is_target else ' '} "
        style = "mark" if item.is_target else ""
        name = (f"[{short(item.id)}]", "id")
        yield Line(lead, Text.assemble(*_styled(name, " ", (_flat(item.preview), style), (f"  {item.type}", "dim"))))


def details_view(details: Sequence[FullDetail], short: ShortId, *, zone: tzinfo | None = None) -> Iterator[Line]:
    """Whole memories, a blank line between them."""
    for number, detail in enumerate(details):
        if number:
            yield Line("", Text())
        yield from _detail(detail, short, zone)


def legacy_view(query: str, hits: Sequence[LegacyHit], short: ShortId, *, zone: tzinfo | None = None) -> Iterator[Line]:
    """Whole contents of the hits, best first."""
    matches = _counted(len(hits), "match", "matches")
    yield _line((f'{matches} for "{shown(query)}"', "mark"), ("  (legacy)", "dim"))
    for rank, hit in enumerate(hits, 1):
        yield Line("", Text())
        about = f"  {hit.type} · {_local(hit.timestamp, zone):%Y-%m-%d %H:%M}"
        yield _line(f"#{rank} ", (f"[{short(hit.id)}]", "id"), f" ({hit.score:.2f})", (about, "dim"))
        for text in clean(hit.content).strip("\n").split("\n"):
            yield Line("", Text(text))


def explain_view(told: Explanation, short: ShortId) -> Iterator[Line]:
    """A search taken apart: what was searched for, a line of figures for each hit, the rule, the expected memory."""
    for notice in told.notices:
        yield _line(("Note: ", "fair"), _flat(notice))
    rows = {
        "searched": shown(told.searched) or "nothing: the query names ids",
        "words": ", ".join(f"{_flat(term.text)} {term.weight:g}" for term in told.terms),
        "scores": told.scores,
        "rule": told.rule
        + "".join(
            f"; {name}: {', '.join(map(short, ids))}"
            for name, ids in (("timeline", told.timeline), ("details", told.details))
            if ids
        ),
    }
    for name, value in rows.items():
        if value:
            yield Line(f"{name:<9} ", Text(value))
    for hit in told.hits:
        yield Line(f"#{hit.place} ", Text.assemble(*_styled((f"[{short(hit.id)}]", "id"), f" {_flat(hit.summary)}")))
        figures = {
            "words": f"#{hit.words_rank}" if hit.words_rank else "–",
            "meaning": f"#{hit.vectors_rank}" if hit.vectors_rank else "–",
            "bm25": f"{hit.bm25:.2f}",
            "coverage": f"{hit.coverage:.2f}",
            "cosine": _figure(hit.cosine, ".3f"),
            "margin": _figure(hit.margin, "+.3f"),
            "order": f"{hit.order:.3f}",
            "p": _figure(hit.probability, ".2f"),
            "score": _figure(hit.score, ".2f"),
        }
        told_of = "  ".join(f"{name} {value}" for name, value in figures.items())
        yield Line("   ", Text.assemble(*_styled((told_of, "dim"), "" if hit.stage == "shown" else f"  {hit.stage}")))
    if told.expected is not None:
        yield _line((f"Expected [{_flat(told.expected.id)}]: ", "mark"), f"{told.expected.stage}. {told.expected.why}")


def _figure(value: float | None, how: str) -> str:
    return "–" if value is None else format(value, how)


def report_view(report: IndexReport) -> Iterator[Line]:
    """What an indexing did: counts, one line for each failure, the first notices, what is still to do."""
    counts = [f"{getattr(report, name):,} {name}" for name in ("indexed", "updated", "skipped", "removed")]
    moved = f" ({report.moved:,} moved)" if report.moved else ""
    counts[2] += moved
    failed = (f"{len(report.failed):,} failed", "bad" if report.failed else "")
    yield _line(("Files: ", "mark"), ", ".join(counts) + ", ", failed)
    yield from _problems("Failed: ", "bad", report.failed)
    yield from _problems("Note: ", "fair", report.notices[:NOTICES_SHOWN])
    if len(report.notices) > NOTICES_SHOWN:
        yield _line((f"… and {_counted(len(report.notices) - NOTICES_SHOWN, 'more note', 'more notes')}", "dim"))
    if report.passed_over:
        other = _counted(report.passed_over, "other file in these folders is", "other files in these folders are")
        yield _line((f"{other} no notes by name; to index one, name it.", "dim"))
    yield _line(("Memories: ", "mark"), f"{report.memories:,}")
    if report.forgotten:
        kept_out = _counted(report.forgotten, "memory stays out: it was", "memories stay out: they were")
        yield _line((f"{kept_out} forgotten on purpose (undo: gieok forget --undo).", "dim"))
    if report.vectors_pending:
        yield _line(f"{report.vectors_pending:,} without vectors so far; words find them already.")
        yield from _hint("gieok index (finishes the vectors)")


def status_view(status: Status) -> Iterator[Line]:
    """A store's size, what its two indexes hold, and what is wrong with them."""
    types = ", ".join(f"{count:,} {name}" for name, count in sorted(status.by_type.items()) if count)
    rows: Mapping[str, str] = {
        "home": _flat(status.home),
        "memories": f"{status.memories:,}" + (f" ({types})" if types else ""),
        "from": f"{_counted(status.sources, 'file', 'files')}, {_counted(status.sessions, 'session', 'sessions')}",
        "size": _bytes(status.bytes),
        "model": _flat(status.model),
        "order": status.order,
        "scores": status.scores,
        "version": f"{status.version} (analyzer {status.analyzer})",
    }
    for name, value in rows.items():
        yield Line(f"{name:<9} ", Text(value))
    for name, leg in (("words", status.words), ("vectors", status.vectors)):
        yield Line(f"{name:<9} ", _leg(leg))
    asked = ", ".join(
        f"{name} {cache.hits:,} of {cache.hits + cache.misses:,}" for name, cache in status.caches.items()
    )
    if asked:
        yield Line(f"{'caches':<9} ", Text(f"hits: {asked}"))
    if not status.memories:
        yield from _hint("gieok index PATH")
    elif status.vectors.pending and not status.vectors.problem:
        yield from _hint("gieok index (finishes the vectors)")


# --- Parts ----------------------------------------------------------------------------------------------------------

_Part: TypeAlias = str | tuple[str, str]


def _line(*parts: _Part) -> Line:
    return Line("", Text.assemble(*_styled(*parts)))


def _styled(*parts: _Part) -> list[str | tuple[str, str]]:
    return [part if isinstance(part, str) else (part[0], _STYLES.get(part[1], "")) for part in parts]


def _hit(rank: int, item: SearchIndexItem, short: ShortId, zone: tzinfo | None) -> Iterator[Line]:
    lead = f"#{rank} "
    grade = "good" if item.score >= 0.8 else "fair"  # where the scale of the rules begins: design, "Rules"
    body = _styled(
        (f"[{short(item.id)}]", "id"),
        f" {_flat(item.summary)} (",
        (f"{item.score:.2f}", grade),
        ")",
        (f"  {item.type} · {_local(item.timestamp, zone):%Y-%m-%d %H:%M}", "dim"),
    )
    yield Line(lead, Text.assemble(*body))
    if item.snippet:
        yield Line(" " * len(lead), Text(_flat(item.snippet)))


def _detail(detail: FullDetail, short: ShortId, zone: tzinfo | None) -> Iterator[Line]:
    meta, relations = detail.metadata, detail.relations
    code = ", code" if meta.has_code else ""
    yield _line((f"[{short(detail.id)}]", "id"), (f"  {detail.type}, about {meta.token_count:,} tokens{code}", "dim"))
    rows: Mapping[str, Sequence[str]] = {
        "session": [detail.session_id],
        "date": [f"{_local(detail.timestamp, zone):%Y-%m-%d %H:%M}"],
        "from": detail.sources,
        "files": meta.files or [],
        "tools": meta.tools or [],
        "parent": [short(relations.parent_id)] if relations.parent_id else [],
        "children": [short(name) for name in relations.child_ids],
        "related": [short(name) for name in relations.related_ids],
    }
    for name, values in rows.items():
        if values:
            yield Line(f"{name:<9} ", Text(", ".join(map(_flat, values))))
    yield Line("", Text())
    for text in clean(detail.content).strip("\n").split("\n"):
        yield Line("", Text(text))


def _problems(label: str, style: str, problems: Iterable[Failure]) -> Iterator[Line]:
    for problem in problems:
        yield _line((label, style), f"{_flat(problem.path)}: {_flat(problem.reason)}")


def _hint(advice: str | None) -> Iterator[Line]:
    if advice:
        yield _line(("Hint: ", "mark"), _flat(advice))


def _leg(leg: LegStatus) -> Text:
    pending = f", {leg.pending:,} pending" if leg.pending else ""
    problem = f"  {_flat(leg.problem)}" if leg.problem else ""
    return Text.assemble(
        *_styled(f"{_counted(leg.memories, 'memory', 'memories')}{pending}, {_bytes(leg.bytes)}", (problem, "bad"))
    )


def _flat(text: str) -> str:
    return fold(clean(text))


def _local(moment: datetime, zone: tzinfo | None) -> datetime:
    try:
        return moment.astimezone(zone)
    except (OverflowError, ValueError):  # at the ends of the calendar a zone's offset leads out of it
        return moment


def _counted(number: int, one: str, many: str) -> str:
    return f"{number:,} {one if number == 1 else many}"


def _bytes(size: int) -> str:
    value = float(size)
    for unit in ("bytes", "kB", "MB"):
        if value < 1000:
            return f"{value:.0f} {unit}" if unit == "bytes" else f"{value:.1f} {unit}"
        value /= 1000
    return f"{value:.1f} GB"
