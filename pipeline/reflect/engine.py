"""From diary entries to a reflection: lines, clusters, patterns, and which of them are still to be answered."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from indexes.errors import EmbedderError, GieokError, SourceError, UsageError
from pipeline.install.files import read_bytes
from pipeline.reflect.categories import category_of
from pipeline.reflect.clusters import clusters
from pipeline.reflect.likeness import Likeness
from pipeline.reflect.memory import State, Target, is_done, locked, processed
from pipeline.reflect.reading import Diary, Line, diary_names, read_diary
from pipeline.reflect.results import Evidence, Pattern, Reflection, TeamCount
from pipeline.reflect.rules_file import RulesFile
from pipeline.reflect.wording import gives_orders
from pipeline.results import Failure

if TYPE_CHECKING:
    from indexes.embedder import Embedder

MAX_ENTRIES = 1_000
"""Newest entries that are looked at: ten thousand lines, which take about a minute to embed."""


@dataclass(frozen=True, slots=True)
class Said:
    """A line and the entry it stands in."""

    diary: Diary
    line: Line


@dataclass(frozen=True, slots=True)
class Ask:
    """What to reflect on. `every` takes processed entries for new ones and proposes declined rules again."""

    folder: Path
    target: Path
    min_count: int
    team: str | None = None
    every: bool = False


def reflect(ask: Ask, embedder: Embedder | None, on_done: Callable[[int], None] | None = None) -> Reflection:
    """Find what repeats. Remembers what the rules file holds now and what is open; consumes no entry.

    Raises UsageError, SourceError (no diary folder, a damaged log or state) and HostError (the rules file).
    """
    if ask.min_count < 2:
        raise UsageError(f"min_count is {ask.min_count}; what stands in one entry doesn't repeat. Give at least 2")
    diaries, skipped, notices = _read(ask)
    done = {} if ask.every else processed(ask.folder)
    new = {diary.path.name for diary in diaries if not is_done(diary, done)}
    file = RulesFile(str(ask.target), read_bytes(ask.target))
    state = State.load(ask.folder)
    seen = state.targets.get(str(ask.target.resolve()), Target())

    rules = file.rules()
    lines = _distinct(diaries)
    texts = [*(node[0].line.text for node in lines), *file.lines(), *seen.known, *seen.declined]
    likeness = _likeness(texts, embedder, notices, on_done)
    matches = _matched(likeness, len(lines), len(file.lines()), seen)
    # What stood in our section and is in the file no more was taken out by the user.
    gone = {} if file.data is None else {rule: rows for rule, rows in matches.known.items() if rule not in rules}
    gone = {rule: rows for rule, rows in gone.items() if rule not in matches.kept}
    turned_down = set() if ask.every else matches.declined.union(*gone.values())

    proposals: list[Pattern] = []
    watch: list[Pattern] = []
    already: list[str] = []
    refused: list[str] = []
    for group in _groups(likeness, matches.inner, lines):
        members = [one for row in group for one in lines[row]]
        entries = _occasions(members)
        if entries < 2 or not any(one.diary.path.name in new for one in members):
            continue
        pattern = _pattern(_medoid(likeness, lines, group), members, entries, new)
        if not matches.standing.isdisjoint(group):
            already.append(pattern.rule)
        elif not turned_down.isdisjoint(group):
            refused.append(pattern.rule)
        else:
            (proposals if entries >= ask.min_count else watch).append(pattern)
    reflection = Reflection(
        folder=str(ask.folder),
        target=str(ask.target),
        team=ask.team,
        min_count=ask.min_count,
        entries=len(diaries),
        new_files=[diary.path.name for diary in diaries if diary.path.name in new],
        new_digests=[diary.digest for diary in diaries if diary.path.name in new],
        proposals=sorted(proposals, key=_rank),
        watch=sorted(watch, key=_rank),
        standing=sorted(already),
        declined=sorted(refused),
        skipped=skipped,
        notices=notices,
    )
    return _remembered(ask, reflection, file, list(gone))


@dataclass(slots=True)
class _Matches:
    """Which rows of diary lines are alike among themselves, and to what.

    `known` holds for each rule that stood in the section the rows that are like it, `kept` those of these rules that
    are still in the file, perhaps in other words.
    """

    inner: list[tuple[int, int]] = field(default_factory=list)
    standing: set[int] = field(default_factory=set)
    declined: set[int] = field(default_factory=set)
    known: dict[str, set[int]] = field(default_factory=dict)
    kept: set[str] = field(default_factory=set)


def _matched(likeness: Likeness, lines: int, standing: int, seen: Target) -> _Matches:
    """Sort all alike pairs; rows are diary lines, then the file's, then known rules, then declined ones."""
    found = _Matches(known={rule: set() for rule in seen.known})
    known_from = lines + standing
    declined_from = known_from + len(seen.known)
    for left, right in likeness.alike():
        if right < lines:
            found.inner.append((left, right))
        elif left < lines:
            if right < known_from:
                found.standing.add(left)
            elif right < declined_from:
                found.known[seen.known[right - known_from]].add(left)
            else:
                found.declined.add(left)
        elif left < known_from <= right < declined_from:
            found.kept.add(seen.known[right - known_from])
    return found


def _distinct(diaries: Sequence[Diary]) -> list[list[Said]]:
    """The lines of all entries, those of one wording together."""
    nodes: defaultdict[str, list[Said]] = defaultdict(list)
    for diary in diaries:
        for line in diary.lines:
            nodes[line.text.casefold().rstrip(" .!?")].append(Said(diary, line))
    return list(nodes.values())


def _groups(
    likeness: Likeness, pairs: Sequence[tuple[int, int]], lines: Sequence[Sequence[Said]]
) -> Iterator[list[int]]:
    """Clusters, and the lines that repeat word for word and are like no other."""
    found = clusters(likeness, pairs)
    grouped = {row for group in found for row in group}
    yield from found
    yield from ([row] for row in range(len(lines)) if row not in grouped and _occasions(lines[row]) > 1)


def _rank(pattern: Pattern) -> tuple[int, str]:
    return -pattern.entries, pattern.rule


def _read(ask: Ask) -> tuple[list[Diary], list[Failure], list[str]]:
    paths = diary_names(ask.folder)
    notices = []
    if len(paths) > MAX_ENTRIES:
        notices.append(f"Only the newest {MAX_ENTRIES:,} of {len(paths):,} entries were looked at")
    diaries, skipped = [], []
    for path in paths[-MAX_ENTRIES:]:
        try:
            diary = read_diary(path)
        except SourceError as error:
            skipped.append(Failure(path=path.name, reason=str(error)))
            continue
        if ask.team is None or diary.team == ask.team:
            diaries.append(diary)
    return diaries, skipped, notices


def _likeness(
    texts: Sequence[str], embedder: Embedder | None, notices: list[str], on_done: Callable[[int], None] | None
) -> Likeness:
    by_words = "lines are compared by their words alone: the same thing in other words is not seen"
    if embedder is not None and texts:
        try:
            return Likeness(texts, embedder, on_done)
        except EmbedderError as error:
            notices.append(f"{error} So {by_words}")
    elif embedder is None:
        notices.append(f"No embedding model (embedder.model is none), so {by_words}")
    return Likeness(texts, None)


def _occasions(members: Sequence[Said]) -> int:
    return len({one.diary.occasion for one in members})


def _medoid(likeness: Likeness, lines: Sequence[Sequence[Said]], group: Sequence[int]) -> str:
    """The wording that is nearest to all of the group; of equals the newest."""

    def nearness(row: int) -> tuple[float, str]:
        score = sum(len(lines[other]) * (1.2 if other == row else likeness.score(row, other)) for other in group)
        return round(score, 6), max(one.diary.path.name for one in lines[row])

    return max(lines[max(group, key=nearness)], key=lambda one: one.diary.path.name).line.text


def _pattern(rule: str, members: Sequence[Said], entries: int, new: set[str]) -> Pattern:
    teams: defaultdict[str, set[str]] = defaultdict(set)
    for one in members:
        teams[one.diary.team].add(one.diary.occasion)
    ordered = sorted(members, key=lambda one: (one.diary.date, one.diary.path.name, one.line.number))
    return Pattern(
        id="r-" + hashlib.sha256(rule.casefold().encode()).hexdigest()[:8],
        rule=rule,
        category=category_of([one.line for one in members]),
        entries=entries,
        teams=[TeamCount(team=team, entries=len(found)) for team, found in sorted(teams.items()) if team],
        across_teams=len([team for team in teams if team]) > 1,
        gives_orders=gives_orders(rule) or any(gives_orders(one.line.text) for one in members),
        evidence=[
            Evidence(
                file=one.diary.path.name,
                date=one.diary.date,
                line=one.line.number,
                section=one.line.section,
                text=one.line.text,
                team=one.diary.team or None,
                new=one.diary.path.name in new,
            )
            for one in ordered
        ],
    )


def _remembered(ask: Ask, reflection: Reflection, file: RulesFile, gone: list[str]) -> Reflection:
    """The same reflection, once its state is on disk; a folder that can't be written costs a notice."""
    try:
        with locked(ask.folder):
            state = State.load(ask.folder)
            name = str(ask.target.resolve())
            seen = state.targets.get(name, Target())
            known = file.rules() if file.data is not None else seen.known
            declined = list(dict.fromkeys([*seen.declined, *gone]))
            if known or declined:
                state.targets[name] = Target(known, declined)
            if ask.team is None and not ask.every:
                state.open = [
                    {"id": pattern.id, "rule": pattern.rule, "entries": pattern.entries}
                    for pattern in reflection.proposals
                ]
            state.save(ask.folder)
    except GieokError as error:
        notice = f"This reflection could not be remembered: {error}"
        return reflection.model_copy(update={"notices": [*reflection.notices, notice]})
    return reflection
