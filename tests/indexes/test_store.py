"""The store: what goes in comes out, changes are numbered, sources own memories, and damage is named."""

from __future__ import annotations

import multiprocessing
import sqlite3
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from indexes.errors import (
    AmbiguousIdError,
    StoreBusyError,
    StoreCorruptError,
    StoreError,
    StoreVersionError,
    UnknownIdError,
)
from indexes.rows import from_ms, to_ms
from indexes.store import Source, Store
from indexes.types import Filter, Memory, MemoryType

NOON = datetime(2026, 1, 30, 12, tzinfo=UTC)


def source(name: str = "a.md", fingerprint: str = "1") -> Source:
    return Source(key=f"/notes/{name}", path=f"/notes/{name}", root="/notes", label=name, fingerprint=fingerprint)


def memory(name: str, content: str = "내용", position: int = 0, **fields: object) -> Memory:
    values: dict[str, object] = {
        "rid": 0, "id": f"mem_{name}", "content": content, "type": "insight", "timestamp": NOON,
        "session_id": "s", "position": position,
    }  # fmt: skip
    return Memory(**(values | fields))  # type: ignore[arg-type]


@pytest.fixture
def store(tmp_path: Path):
    opened = Store(tmp_path / "memories.db")
    yield opened
    opened.close()


def changed(store: Store, after: int) -> list[tuple[str | int, bool]]:
    """The ids (rids for what is gone) of the changes after a step."""
    out: list[tuple[str | int, bool]] = []
    for change in store.changes_after(after, 100):
        found = store.memories([change.rid])
        out.append((found[0].id if found else change.rid, change.removed))
    return out


def test_a_memory_comes_back_as_it_went_in(store: Store) -> None:
    full = memory(
        "full", "본문 🙂", title="제목", type="tool", parent_id="mem_p", project="haru", team_id="t1", task_id="k1",
        tags=("배포", "db"), files=("src/a.py",), tools=("Read",), metadata={"branch": "main", "n": [1, None]},
    )  # fmt: skip
    store.write([(source(), [full])])
    found = store.by_id("mem_full")
    assert replace(found, rid=0) == full


def test_unchanged_memories_are_no_change_for_the_indexes(store: Store) -> None:
    store.write([(source(), [memory("a"), memory("b", position=1)])])
    before = store.sequence
    store.write(
        [(source(fingerprint="2"), [memory("new"), memory("a", position=1), memory("b", "anders", position=2)])]
    )
    # b's text changed and new is new; a only moved down, which the indexes don't read, but both are its neighbours
    assert changed(store, before) == [("mem_new", False), ("mem_b", False), ("mem_a", False)]
    assert store.by_id("mem_a").position == 1
    assert store.sequence > before


LONG = "길다. " * 100


@pytest.mark.parametrize(
    ("session", "content", "kind", "renewed"),
    [
        ("s", "네, 그렇게 하죠", "response", ["mem_before", "mem_after"]),
        ("s", LONG, "insight", ["mem_before", "mem_after"]),  # also a long one lends what it says
        ("rows.jsonl", "네", "insight", []),  # rows of a file that merely lie beside each other
    ],
)
def test_turns_are_read_anew_with_a_new_neighbour(
    store: Store, session: str, content: str, kind: MemoryType, renewed: list[str]
) -> None:
    def said(name: str, position: int, text: str = "짧다", **more: Any) -> Memory:
        return memory(name, text, session_id=session, position=position, **more)

    far, before, after = said("far", 0), said("before", 1), said("after", 3)
    store.write([(source(), [far, before, after])])
    start = store.sequence
    new = said("new", 2, content, type=kind)
    store.write([(source("b"), [new])])
    assert changed(store, start) == [("mem_new", False), *((name, False) for name in renewed)]
    start = store.sequence
    store.write([], removed=[source("b")])
    assert [name for name, gone in changed(store, start) if not gone] == renewed


def test_long_memories_and_results_of_tools_need_no_neighbours(store: Store) -> None:
    store.write([(source(), [memory("long", LONG), memory("tool", "짧다", type="tool", position=2)])])
    start = store.sequence
    store.write([(source("b"), [memory("new", position=1)])])
    assert changed(store, start) == [("mem_new", False)]


def test_text_sequence_stays_when_only_a_date_changes(store: Store) -> None:
    store.write([(source(), [memory("a")])])
    before = store.sequence
    store.write([(source(), [memory("a", timestamp=NOON + timedelta(days=1))])])
    (change,) = store.changes_after(before, 10)
    assert change.text_sequence <= before < change.sequence


def test_a_memory_lives_until_its_last_source_is_gone(store: Store) -> None:
    store.write([(source("a"), [memory("both"), memory("only_a", position=1)]), (source("b"), [memory("both")])])
    before = store.sequence
    rid = store.by_id("mem_only_a").rid
    store.write([], removed=[source("a")])
    assert changed(store, before) == [(rid, True), ("mem_both", False)]  # which has lost its neighbour
    assert store.by_id("mem_both").id == "mem_both"
    store.write([], removed=[source("b")])
    with pytest.raises(UnknownIdError):
        store.by_id("mem_both")
    assert store.counts().memories == store.counts().sources == 0


def test_what_a_source_no_longer_holds_is_gone(store: Store) -> None:
    store.write([(source(), [memory("a"), memory("b", position=1)])])
    store.write([(source(), [memory("b")])])
    with pytest.raises(UnknownIdError, match="mem_a"):
        store.by_id("mem_a")


def test_changes_come_in_order_and_in_pieces(store: Store) -> None:
    store.write([(source(), [memory(str(n), position=n) for n in range(10)])])
    seen, at = [], 0
    while changes := store.changes_after(at, 3):
        assert len(changes) <= 3
        seen += [change.rid for change in changes]
        at = changes[-1].sequence
    assert [m.id for m in store.memories(seen)] == [f"mem_{n}" for n in range(10)]
    assert store.pending_after(at) == 0


def test_a_row_number_is_never_used_twice(store: Store) -> None:
    store.write([(source(), [memory("a")])])
    first = store.by_id("mem_a").rid
    store.write([], removed=[source()])
    store.write([(source(), [memory("b")])])
    assert store.by_id("mem_b").rid > first


def test_ids_by_unique_prefix(store: Store) -> None:
    store.write([(source(), [memory("abcd1"), memory("abcd2", position=1), memory("xyz", position=2)])])
    assert store.by_id("mem_x").id == store.by_id("xyz").id == store.by_id("[MEM_XYZ]").id == "mem_xyz"
    with pytest.raises(AmbiguousIdError, match="mem_abcd1, mem_abcd2"):
        store.by_id("mem_ab")
    for unknown in ("mem_q", "", "mem_", "../../x", "기억", "mem_%", "mem_abcd1x"):
        with pytest.raises(UnknownIdError):
            store.by_id(unknown)
    assert store.unique_prefix("mem_abcd1", 5) == "mem_abcd1"
    assert store.unique_prefix("mem_xyz", 5) == "mem_x"


def test_an_id_that_is_the_beginning_of_another_is_found(store: Store) -> None:
    store.write([(source(), [memory("abc"), memory("abcd", position=1)])])
    assert store.by_id("mem_abc").id == "mem_abc"


def test_around_is_the_session_in_time_order(store: Store) -> None:
    times = [3, 1, 2, 2, 0]
    store.write(
        [
            (source(), [memory(f"m{n}", position=n, timestamp=NOON + timedelta(hours=h)) for n, h in enumerate(times)]),
            (source("other"), [memory("foreign", session_id="other")]),
        ]
    )
    ordered = ["mem_m4", "mem_m1", "mem_m2", "mem_m3", "mem_m0"]  # hours 0, 1, 2 (position 2), 2 (position 3), 3
    assert [m.id for m in store.around(store.by_id("mem_m2"), 10)] == ordered
    assert [m.id for m in store.around(store.by_id("mem_m2"), 1)] == ordered[1:4]
    assert [m.id for m in store.around(store.by_id("mem_m4"), 1)] == ordered[:2]
    assert [m.id for m in store.around(store.by_id("mem_m4"), 0)] == ordered[:1]


def test_sources_under_a_folder_are_not_those_beside_it(store: Store) -> None:
    names = ["/n/a.md", "/n/sub/b.md", "/n2/c.md", "/n.md", "/n/값.md"]
    store.write([(Source(key=n, path=n, root="/", label=n, fingerprint="f"), []) for n in names])
    assert {s.path for s in store.sources_under("/n")} == {"/n/a.md", "/n/sub/b.md", "/n/값.md"}
    assert [s.path for s in store.sources_under("/n.md")] == ["/n.md"]
    assert len(store.sources_under("/")) == 5


def test_a_moved_source_keeps_its_key_and_frees_its_path(store: Store) -> None:
    store.write([(source("a"), [memory("a")])])
    store.write([(replace(source("a"), path="/notes/new"), [memory("a")])])
    assert store.source("/notes/a") is None
    found = store.source("/notes/new")
    assert found is not None
    assert found.key == "/notes/a"
    assert store.free_key("/notes/a") != "/notes/a"
    assert store.free_key("/notes/z") == "/notes/z"


def test_filters_tell_whether_anything_can_match(store: Store) -> None:
    store.write([(source(), [memory("a", tags=("db",), project="haru")])])
    at = to_ms(NOON)
    assert store.any_matching(Filter((frozenset({"type=insight", "type=tool"}), frozenset({"tag=db"})), at, at + 1))
    assert not store.any_matching(Filter((frozenset({"tag=other"}),)))
    assert not store.any_matching(Filter(until_ms=at))


@given(st.datetimes(timezones=st.just(UTC)))
def test_times_survive_to_the_millisecond(moment: datetime) -> None:
    assert abs(from_ms(to_ms(moment)) - moment) < timedelta(milliseconds=1)


def test_a_newer_schema_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "memories.db"
    Store(path).close()
    db = sqlite3.connect(path)
    db.execute("PRAGMA user_version = 99")
    db.close()
    with pytest.raises(StoreVersionError, match="schema 99"):
        Store(path)


def test_a_damaged_file_is_named_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "memories.db"
    path.write_bytes(b"not a database, but long enough to be taken for one" * 100)
    before = path.read_bytes()
    with pytest.raises(StoreCorruptError, match=r"memories\.db is damaged"):
        Store(path)
    assert path.read_bytes() == before


def test_a_locked_store_is_named(tmp_path: Path) -> None:
    path = tmp_path / "memories.db"
    Store(path).close()
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    waiting = Store(path, busy_timeout=0.05)
    with pytest.raises(StoreBusyError, match="another process"):
        waiting.write([(source(), [memory("a")])])
    other.execute("ROLLBACK")
    waiting.write([(source(), [memory("a")])])
    waiting.close()
    other.close()


def test_a_failed_write_leaves_nothing(store: Store) -> None:
    with pytest.raises(TypeError):
        store.write([(source("a"), [memory("a")]), (source("b"), [memory("b", metadata={"x": object()})])])
    assert store.counts().memories == 0
    assert store.sequence == 0


def test_the_file_is_private(store: Store) -> None:
    assert store.path.stat().st_mode & 0o077 == 0


def _write_many(path: Path, name: str) -> None:
    opened = Store(path)
    for number in range(20):
        opened.write([(source(f"{name}{number}"), [memory(f"{name}{number}")])])
    opened.close()


def test_processes_that_open_a_new_store_together_lose_nothing(tmp_path: Path) -> None:
    path = tmp_path / "memories.db"
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=_write_many, args=(path, name)) for name in "abc"]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)
        assert worker.exitcode == 0
    opened = Store(path)
    assert opened.counts().memories == 60
    changes = opened.changes_after(0, 1000)
    assert len({change.sequence for change in changes}) == len(changes) == 60
    opened.close()


def test_a_store_that_was_exchanged_takes_no_more_writes(tmp_path: Path) -> None:
    path = tmp_path / "memories.db"
    store = Store(path)
    other = Store(tmp_path / "other.db")
    other.close()
    (tmp_path / "other.db").replace(path)
    source = Source(key="/a", path="/a", root="/", label="a", fingerprint="f")
    try:
        with pytest.raises(StoreError, match="was exchanged"):
            store.write([(source, [])])
    finally:
        store.close()
