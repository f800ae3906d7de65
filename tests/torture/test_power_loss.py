"""What is on the disk if the power goes at any moment, by two pessimistic models of a file system.

A file holds what it held when it was last synced. In the first model a folder holds the names that it held when it was
last synced; in the second, names are on the disk at once, ahead of the contents. SQLite and tantivy are not seen by
this: they have tests of their own, and what is tested here is that our files never name more than the disk holds.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from indexes.dense import FlatDense
from indexes.types import VectorEntry

DIMENSIONS = 8


class Disk:
    """Watches a folder through `os.fsync` and `Path.replace`, and makes images of what would be left of it."""

    def __init__(self, folder: Path, images: Path) -> None:
        self.folder = folder
        self.images = images
        self.contents: dict[int, bytes] = {}
        self.names: dict[str, int] = {}
        self.moments: list[tuple[Path, int]] = []
        self.acknowledged = 0
        self.watched = True

    def synced(self, descriptor: int) -> None:
        entry = os.fstat(descriptor)
        if stat.S_ISDIR(entry.st_mode):
            self.names = {path.name: path.stat().st_ino for path in self.folder.iterdir() if path.is_file()}
        else:
            self.contents[entry.st_ino] = Path(f"/proc/self/fd/{descriptor}").read_bytes()
        self.image()

    def image(self) -> None:
        if not self.watched:
            return
        now = {path.name: path.stat().st_ino for path in self.folder.iterdir() if path.is_file()}
        for names in (self.names, now):
            place = self.images / str(len(self.moments))
            place.mkdir()
            for name, inode in names.items():
                if not name.endswith(".lock"):
                    (place / name).write_bytes(self.contents.get(inode, b""))
            self.moments.append((place, self.acknowledged))


@pytest.fixture
def disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Disk]:
    if not Path("/proc/self/fd").is_dir():
        pytest.skip("needs /proc")
    (tmp_path / "vectors").mkdir()
    (tmp_path / "images").mkdir()
    watched = Disk(tmp_path / "vectors", tmp_path / "images")
    fsync, replace = os.fsync, Path.replace

    def synced(descriptor: int) -> None:
        watched.image()  # the power may go just before
        fsync(descriptor)
        if watched.watched:
            watched.synced(descriptor)

    def replaced(path: Path, target: Path) -> Path:
        result = replace(path, target)
        watched.image()
        return result

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(Path, "replace", replaced)
    yield watched
    monkeypatch.undo()


def entry(rid: int) -> VectorEntry:
    vectors = np.zeros((2, DIMENSIONS), np.float32)
    vectors[:, rid % DIMENSIONS] = 1
    return VectorEntry(rid, vectors, np.array([[0, 1], [1, 2]], np.int32), (f"tag={rid}",), rid)


def index(folder: Path) -> FlatDense:
    return FlatDense(folder, store_id="s", model="m", dimensions=DIMENSIONS)


def test_the_vector_index_never_names_more_than_the_disk_holds(disk: Disk) -> None:
    leg = index(disk.folder)
    expected: dict[int, set[int]] = {0: set()}
    alive: set[int] = set()
    for step in range(1, 30):
        # rids come back, so that rows die and generations change
        put, gone = {step % 7, (step * 3) % 11}, {(step * 5) % 7} - {step % 7, (step * 3) % 11}
        leg.apply([entry(rid) for rid in put], gone, step)
        alive = (alive | put) - gone
        expected[step] = set(alive)
        disk.acknowledged = step
        disk.image()
    leg.close()
    disk.watched = False
    assert len(disk.moments) > 300
    assert any(list(place.glob("vectors.[1-9]*")) for place, _ in disk.moments)  # compaction was among them
    reached = set()
    for place, acknowledged in disk.moments:
        left = index(place)
        left.verify()
        assert left.sequence in (acknowledged, acknowledged + 1), place
        held = {rid for rid in range(11) if left.stored(rid) is not None}
        assert held == expected[left.sequence]
        reached.add(left.sequence)
        # and the next writer goes on from there
        left.apply([entry(5)], [], left.sequence + 1)
        left.verify()
        left.close()
    assert reached == set(range(30))
