from __future__ import annotations

from pathlib import Path

import pytest

from indexes.errors import IndexCorruptError, IndexError_, IndexMismatchError, StoreBusyError
from indexes.facets import facet_key
from indexes.manifest import MANIFEST, Manifest, open_manifest, write_lock

IDENTITY: dict[str, str | int] = {"format": 1, "store": "s"}


def test_a_folder_without_an_index_gets_a_manifest_once(tmp_path: Path) -> None:
    folder = tmp_path / "a" / "b"
    assert Manifest.read(folder) is None
    assert open_manifest(folder, IDENTITY) == Manifest(0, IDENTITY)
    Manifest(5, IDENTITY, {"rows": 3}).write(folder)
    assert open_manifest(folder, IDENTITY) == Manifest(5, IDENTITY, {"rows": 3})


def test_what_is_left_of_an_interrupted_replacement_is_no_index(tmp_path: Path) -> None:
    (tmp_path / f"{MANIFEST}.new").write_text('{"sequ')
    assert open_manifest(tmp_path, IDENTITY).sequence == 0


@pytest.mark.parametrize("other", [{"format": 2, "store": "s"}, {"format": 1}, {**IDENTITY, "model": "m"}])
def test_another_identity_is_refused(tmp_path: Path, other: dict[str, str | int]) -> None:
    open_manifest(tmp_path, IDENTITY)
    with pytest.raises(IndexMismatchError, match="gieok rebuild"):
        open_manifest(tmp_path, other)


@pytest.mark.parametrize(
    "text",
    [
        '{"sequence": "1", "identity": {}, "counts": {}}',
        '{"sequence": 1, "identity": [], "counts": {}}',
        '{"sequence": 1, "identity": {}, "counts": {"rows": -1}}',
        '{"sequence": 1, "identity": {}}',
    ],
)
def test_json_of_another_shape_is_damage(tmp_path: Path, text: str) -> None:
    (tmp_path / MANIFEST).write_text(text)
    with pytest.raises(IndexCorruptError, match="damaged"):
        Manifest.read(tmp_path)


def test_the_lock_waits_and_gives_up(tmp_path: Path) -> None:
    with write_lock(tmp_path), pytest.raises(StoreBusyError, match="Another process"), write_lock(tmp_path, 0.05):
        pytest.fail("two writers at once")
    with write_lock(tmp_path, 0.05):
        pass


def test_an_unwritable_folder_is_an_error_that_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(IndexError_, match="free space and permissions"):
        Manifest(1, IDENTITY).write(tmp_path / "missing")


def test_facets_are_told_apart_but_not_by_their_unicode_form() -> None:
    assert facet_key("tag=한글") == facet_key("tag=\u1112\u1161\u11ab\u1100\u1173\u11af")
    assert len({facet_key(f"tag={number}") for number in range(1_000)}) == 1_000
    assert 0 <= facet_key("") < 2**64
