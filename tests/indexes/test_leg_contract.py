"""What every leg promises (`indexes/legs.py`), checked over every implementation.

A memory in these tests says one or two words. The word leg gets them as text, the vector leg as one passage for each
word, along an axis of its own: so "found by a word" means the same to both.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from filelock import FileLock

from indexes.analyzer import analyze_document, analyze_query
from indexes.dense import FlatDense
from indexes.errors import GieokError, IndexCorruptError, IndexMismatchError, StoreBusyError
from indexes.legs import Leg
from indexes.lexical import TantivyLexical
from indexes.manifest import LOCK, MANIFEST
from indexes.types import NO_FILTER, Filter, LexicalEntry, VectorEntry

WORDS = ("apple", "banana", "cherry", "배포", "인증", "스키마", "회의", "예산")
Said = dict[int, str]


class Subject(ABC):
    """One implementation of a leg, spoken to in words."""

    def __init__(self, folder: Path, store: str = "store-1", lock_seconds: float = 10.0) -> None:
        self.folder = folder
        self.leg: Any = self.open(folder, store, lock_seconds)

    @abstractmethod
    def open(self, folder: Path, store: str, lock_seconds: float) -> Leg: ...

    @abstractmethod
    def entry(self, rid: int, said: str, facets: tuple[str, ...], ms: int) -> object: ...

    @abstractmethod
    def query(self, word: str) -> object: ...

    def apply(
        self, said: Said, removed: Iterable[int] = (), *, sequence: int = 1, facets: Iterable[str] = (), ms: int = 0
    ) -> None:
        entries = [self.entry(rid, text, tuple(facets), ms) for rid, text in said.items()]
        self.leg.apply(entries, removed, sequence)

    def ranking(self, word: str, depth: int = 10, where: Filter = NO_FILTER) -> Any:
        return self.leg.search(self.query(word), depth, where)

    def find(self, word: str, depth: int = 10, where: Filter = NO_FILTER) -> list[int]:
        """The rids of memories that say the word, best first."""
        found = self.ranking(word, depth, where)
        return [int(rid) for rid, score in zip(found.ids, found.scores, strict=True) if score > 0]

    def score(self, word: str, ids: list[int]) -> list[float]:
        return [float(score) for score in self.leg.score(self.query(word), np.array(ids, np.int64)).scores]


class Words(Subject):
    def open(self, folder: Path, store: str, lock_seconds: float) -> Leg:
        return TantivyLexical(folder, store_id=store, lock_seconds=lock_seconds)

    def entry(self, rid: int, said: str, facets: tuple[str, ...], ms: int) -> object:
        tokens = analyze_document(said)
        return LexicalEntry(rid, tokens.body, tokens.initial, facets, ms)

    def query(self, word: str) -> object:
        return analyze_query(word)


class Vectors(Subject):
    def open(self, folder: Path, store: str, lock_seconds: float) -> Leg:
        return FlatDense(folder, store_id=store, model="axes", dimensions=len(WORDS), lock_seconds=lock_seconds)

    def entry(self, rid: int, said: str, facets: tuple[str, ...], ms: int) -> object:
        vectors = np.stack([self.query(word) for word in said.split()])
        return VectorEntry(rid, vectors, np.zeros((len(vectors), 2), np.int32), facets, ms)

    def query(self, word: str) -> Any:
        return np.eye(len(WORDS), dtype=np.float32)[WORDS.index(word)]


SUBJECTS = {"words": Words, "vectors": Vectors}


@pytest.fixture(params=sorted(SUBJECTS))
def kind(request: pytest.FixtureRequest) -> type[Subject]:
    return SUBJECTS[request.param]


@pytest.fixture
def subject(kind: type[Subject], tmp_path: Path) -> Iterator[Subject]:
    subject = kind(tmp_path / "leg")
    yield subject
    subject.leg.close()


def test_a_new_leg_is_empty(subject: Subject) -> None:
    assert (subject.leg.sequence, len(subject.leg), subject.find("apple")) == (0, 0, [])


def test_added_memories_are_found_by_their_words(subject: Subject) -> None:
    subject.apply({1: "apple", 2: "banana", 3: "배포 인증"}, sequence=7)
    assert (subject.leg.sequence, len(subject.leg)) == (7, 3)
    assert [subject.find(word) for word in ("apple", "banana", "배포", "cherry")] == [[1], [2], [3], []]


def test_a_replaced_memory_is_found_by_its_new_words_only(subject: Subject) -> None:
    subject.apply({1: "apple", 2: "cherry"})
    subject.apply({1: "banana"}, sequence=2)
    assert [subject.find(word) for word in ("apple", "banana", "cherry")] == [[], [1], [2]]
    assert len(subject.leg) == 2


def test_of_two_entries_with_one_rid_the_later_stays(subject: Subject) -> None:
    subject.leg.apply([subject.entry(1, "apple", (), 0), subject.entry(1, "banana", (), 0)], [], 1)
    assert (subject.find("apple"), subject.find("banana"), len(subject.leg)) == ([], [1], 1)


def test_a_removed_memory_is_gone_and_an_unknown_one_does_no_harm(subject: Subject) -> None:
    subject.apply({1: "apple", 2: "apple"})
    subject.apply({}, [1, 999], sequence=2)
    assert (subject.find("apple"), len(subject.leg), subject.leg.sequence) == ([2], 1, 2)


def test_a_memory_both_removed_and_given_is_replaced(subject: Subject) -> None:
    subject.apply({1: "apple"})
    subject.apply({1: "banana"}, [1], sequence=2)
    assert (subject.find("apple"), subject.find("banana"), len(subject.leg)) == ([], [1], 1)


def test_the_same_call_twice_changes_nothing(subject: Subject) -> None:
    subject.apply({1: "apple", 9: "cherry"})
    for _ in range(2):
        subject.apply({1: "apple banana", 2: "banana"}, [9], sequence=5)
    assert (subject.leg.sequence, len(subject.leg)) == (5, 2)
    assert (subject.find("apple"), sorted(subject.find("banana")), subject.find("cherry")) == ([1], [1, 2], [])


def test_all_survives_reopening(subject: Subject, kind: type[Subject]) -> None:
    subject.apply({1: "apple", 2: "banana"}, sequence=3)
    subject.apply({3: "cherry"}, [2], sequence=4)
    again = kind(subject.folder)
    assert (again.leg.sequence, len(again.leg)) == (4, 2)
    assert [again.find(word) for word in WORDS[:3]] == [[1], [], [3]]


def test_a_reader_sees_a_writer_after_refresh(subject: Subject, kind: type[Subject]) -> None:
    reader = kind(subject.folder)
    subject.apply({1: "apple"}, sequence=2)
    assert (reader.find("apple"), reader.leg.sequence) == ([], 0)
    reader.leg.refresh()
    assert (reader.find("apple"), reader.leg.sequence) == ([1], 2)


def test_a_reader_goes_on_while_the_index_is_rewritten(subject: Subject, kind: type[Subject]) -> None:
    subject.apply(dict.fromkeys(range(20), "apple"))
    reader = kind(subject.folder)
    subject.apply({20: "banana"}, range(19), sequence=2)
    assert reader.find("apple", depth=20) == list(range(20))
    reader.leg.refresh()
    assert (reader.find("apple"), reader.find("banana"), len(reader.leg)) == ([19], [20], 2)


def test_many_small_changes_leave_exactly_the_last_state(subject: Subject) -> None:
    state: Said = {}
    chance = random.Random(20260130)
    for sequence in range(1, 31):
        said = {chance.randrange(12): chance.choice(WORDS) for _ in range(3)}
        gone = [rid for rid in range(12) if rid not in said and chance.random() < 0.1]
        subject.apply(said, gone, sequence=sequence)
        state = {rid: word for rid, word in (state | said).items() if rid not in gone}
    assert len(subject.leg) == len(state)
    for word in WORDS:
        assert sorted(subject.find(word, depth=50)) == sorted(rid for rid, said in state.items() if said == word)


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        (Filter(groups=(frozenset({"type=prompt"}),)), [1, 2]),
        (Filter(groups=(frozenset({"type=prompt", "type=tool"}),)), [1, 2, 4]),
        (Filter(groups=(frozenset({"type=prompt"}), frozenset({"session=a b"}))), [1]),
        (Filter(groups=(frozenset({"session=회의 1월"}),)), [2]),
        (Filter(groups=(frozenset({"type=prom"}),)), []),
        (Filter(groups=(frozenset({"TYPE=prompt"}),)), []),
        (Filter(groups=(frozenset(),)), []),
        (Filter(since_ms=2_000), [2, 3, 4]),
        (Filter(until_ms=2_000), [1]),
        (Filter(since_ms=2_000, until_ms=3_000), [2]),
        (Filter(since_ms=3_000, until_ms=3_000), []),
        (Filter(groups=(frozenset({"type=prompt"}),), since_ms=2_000), [2]),
        (NO_FILTER, [1, 2, 3, 4]),
    ],
)
def test_filters(subject: Subject, where: Filter, expected: list[int]) -> None:
    subject.apply({1: "apple"}, facets=["type=prompt", "session=a b"], ms=1_000)
    subject.apply({2: "apple"}, facets=["type=prompt", "session=회의 1월"], ms=2_000)
    subject.apply({3: "apple"}, ms=3_000)
    subject.apply({4: "apple"}, facets=["type=tool", "session=a b"], ms=4_000)
    assert sorted(subject.find("apple", where=where)) == expected


def test_times_before_the_epoch_are_times(subject: Subject) -> None:
    subject.apply({1: "apple"}, ms=-5_000)
    assert subject.find("apple", where=Filter(until_ms=0)) == [1]
    assert subject.find("apple", where=Filter(since_ms=-4_999)) == []


@pytest.mark.parametrize(("depth", "found"), [(-1, 0), (0, 0), (1, 1), (3, 3), (5, 5), (10**9, 5)])
def test_depth_bounds_the_ranking(subject: Subject, depth: int, found: int) -> None:
    subject.apply(dict.fromkeys(range(5), "apple"))
    assert len(subject.ranking("apple", depth).ids) == found


def test_equal_hits_come_in_the_order_of_their_rids(subject: Subject) -> None:
    subject.apply(dict.fromkeys([5, 3, 8, 1], "apple"))
    assert subject.find("apple") == [1, 3, 5, 8]


def test_scores_fall_and_agree_with_score(subject: Subject) -> None:
    subject.apply({1: "apple", 2: "apple banana", 3: "banana", 4: "cherry"})
    found = subject.ranking("apple")
    hits = [int(rid) for rid in found.ids]
    assert list(found.scores) == sorted(found.scores, reverse=True)
    assert subject.score("apple", hits[::-1]) == pytest.approx(list(found.scores[::-1]), rel=1e-6)


def test_score_keeps_order_repetition_and_silence_about_unknown_ids(subject: Subject) -> None:
    subject.apply({1: "apple", 2: "banana"})
    one, two, unknown, again = subject.score("apple", [1, 2, 77, 1])
    assert one == again > 0 == two
    assert unknown == 0 or np.isnan(unknown)
    assert subject.score("apple", []) == []


@pytest.mark.parametrize("rid", [0, 2**31, 2**53 + 1, 2**62])
def test_any_row_number_of_sqlite_will_do(subject: Subject, rid: int) -> None:
    subject.apply({rid: "apple"})
    assert subject.find("apple") == [rid]


def test_another_store_is_refused_with_the_command_that_repairs(subject: Subject, kind: type[Subject]) -> None:
    with pytest.raises(IndexMismatchError, match=r"'store-1'.*'store-2'.*gieok rebuild"):
        kind(subject.folder, store="store-2")


def test_files_without_a_manifest_are_refused(subject: Subject, kind: type[Subject]) -> None:
    subject.apply({1: "apple"})
    (subject.folder / MANIFEST).unlink()
    with pytest.raises(IndexCorruptError, match="gieok rebuild"):
        kind(subject.folder)
    with pytest.raises(IndexCorruptError, match="gieok rebuild"):
        subject.leg.refresh()


@pytest.mark.parametrize("damage", [b"", b"xx", b"[1]", b'{"sequence": -1}', b"\xff\xfe"])
def test_a_damaged_manifest_is_refused(subject: Subject, kind: type[Subject], damage: bytes) -> None:
    (subject.folder / MANIFEST).write_bytes(damage)
    with pytest.raises(IndexCorruptError, match="gieok rebuild"):
        kind(subject.folder)


@pytest.mark.parametrize("damage", ["emptied", "cut", "deleted"])
def test_damaged_files_end_in_an_error_of_ours_or_in_the_right_answer(
    kind: type[Subject], damage: str, tmp_path: Path
) -> None:
    """Never in a panic or a wrong hit. Some files (locks, dead rows of nothing) may be damaged without harm."""
    refused = 0
    kind(tmp_path / "0").apply({1: "apple", 2: "banana"}, facets=["type=prompt"])
    names = sorted(path.name for path in (tmp_path / "0").iterdir() if path.name not in {LOCK, MANIFEST})
    for place, name in enumerate(names, start=1):
        folder = tmp_path / str(place)
        kind(folder).apply({1: "apple", 2: "banana"}, facets=["type=prompt"])
        stem, suffix = name.split(".")[0], name.split(".")[-1]
        # tantivy's segments have random names: the file of the same kind is the one with the same suffix.
        path = next(p for p in folder.iterdir() if p.name == name or (len(stem) == 32 and p.suffix == f".{suffix}"))
        if damage == "deleted":
            path.unlink()
        else:
            path.write_bytes(b"" if damage == "emptied" else path.read_bytes()[: path.stat().st_size // 2])
        try:
            assert kind(folder).find("apple", where=Filter(groups=(frozenset({"type=prompt"}),))) == [1]
        except IndexCorruptError as error:
            assert "gieok rebuild" in str(error)  # noqa: PT017
            refused += 1
    assert refused >= 3


def test_a_second_writer_waits_and_then_says_who_is_in_the_way(subject: Subject, kind: type[Subject]) -> None:
    hasty = kind(subject.folder, lock_seconds=0.05)
    with FileLock(subject.folder / LOCK), pytest.raises(StoreBusyError, match="Another process"):
        hasty.apply({1: "apple"})
    hasty.apply({1: "apple"})
    assert hasty.find("apple") == [1]


def test_a_failing_source_of_entries_changes_nothing_and_frees_the_lock(subject: Subject) -> None:
    def entries() -> Iterator[object]:
        yield subject.entry(1, "apple", (), 0)
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        subject.leg.apply(entries(), [], 5)
    assert (subject.leg.sequence, len(subject.leg)) == (0, 0)
    subject.apply({2: "banana"}, sequence=1)
    assert (subject.find("apple"), subject.find("banana"), len(subject.leg)) == ([], [2], 1)


def test_a_folder_that_cannot_be_made_is_an_error_of_ours(kind: type[Subject], tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(GieokError, match="file"):
        kind(tmp_path / "file" / "leg")


# Two processes. The child applies change after change and says so after each, as a store that acknowledges would.
WRITER = """
import sys
from pathlib import Path
sys.path[:0] = {path!r}
import importlib.util
spec = importlib.util.spec_from_file_location("contract", {module!r})
contract = importlib.util.module_from_spec(spec)
sys.modules["contract"] = contract
spec.loader.exec_module(contract)
subject = contract.SUBJECTS[{kind!r}](Path({folder!r}))
for sequence in range({first}, {last}):
    subject.apply(*contract.change(sequence), sequence=sequence)
    print(sequence, flush=True)
"""


def change(sequence: int) -> tuple[Said, list[int]]:
    """Change number `sequence`: two new memories, one rewritten, one removed."""
    word = WORDS[sequence % len(WORDS)]
    return {2 * sequence: word, 2 * sequence + 1: word, 2 * (sequence // 2): word}, [2 * (sequence // 3) + 1]


def state_after(sequence: int) -> Said:
    state: Said = {}
    for number in range(1, sequence + 1):
        said, removed = change(number)
        state = {rid: word for rid, word in (state | said).items() if rid not in set(removed) - set(said)}
    return state


def start_writer(kind: type[Subject], folder: Path, first: int, last: int) -> subprocess.Popen[str]:
    name = next(name for name, subject in SUBJECTS.items() if subject is kind)
    code = WRITER.format(path=sys.path, module=__file__, kind=name, folder=str(folder), first=first, last=last)
    return subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def assert_holds(subject: Subject, state: Said) -> None:
    assert len(subject.leg) == len(state)
    for word in WORDS:
        assert sorted(subject.find(word, depth=1_000)) == sorted(r for r, said in state.items() if said == word)


def test_what_another_process_wrote_is_found(subject: Subject, kind: type[Subject]) -> None:
    with start_writer(kind, subject.folder, 1, 6) as writer:
        output, errors = writer.communicate(timeout=60)
    assert (output.split(), errors) == (["1", "2", "3", "4", "5"], "")
    subject.leg.refresh()
    assert subject.leg.sequence == 5
    assert_holds(subject, state_after(5))


def test_processes_that_open_and_write_together_queue(kind: type[Subject], tmp_path: Path) -> None:
    firsts = (100, 1_000, 10_000)  # so far apart that no change concerns the memories of another writer
    writers = [start_writer(kind, tmp_path / "leg", first, first + 3) for first in firsts]
    for writer in writers:
        with writer:
            _, errors = writer.communicate(timeout=60)
        assert errors == ""
    subject = kind(tmp_path / "leg")
    added = {rid for first in firsts for n in range(first, first + 3) for rid in change(n)[0]}
    assert len(subject.leg) == len(added)


def test_a_writer_killed_at_any_moment_loses_nothing_acknowledged(kind: type[Subject], tmp_path: Path) -> None:
    """A dozen rounds of kill -9; then the changes since the remembered one are applied again, as the store does."""
    chance = random.Random(4821)
    folder = tmp_path / "leg"
    acknowledged = 0
    for _ in range(12):
        with start_writer(kind, folder, acknowledged + 1, 10_000) as writer:
            assert writer.stdout is not None
            said = [writer.stdout.readline()]
            time.sleep(chance.uniform(0.0, 0.25))
            os.kill(writer.pid, signal.SIGKILL)
            said += writer.stdout.readlines()
        # A line may be cut off by the kill; a whole one was acknowledged.
        acknowledged = max(int(line) for line in said if line.endswith("\n"))
        subject = kind(folder)
        assert acknowledged <= subject.leg.sequence <= acknowledged + 1
        for sequence in range(acknowledged + 1, acknowledged + 3):
            subject.apply(*change(sequence), sequence=sequence)
        acknowledged += 2
        assert subject.leg.sequence == acknowledged
        assert_holds(subject, state_after(acknowledged))
