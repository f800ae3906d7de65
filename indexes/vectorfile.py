"""Rows of vectors in append-only files, whose valid part the manifest says.

A folder holds, for one generation G, five files of fixed-size records: `vectors.G` and `spans.G` (a row for each
passage), `entries.G` (a record for each memory and version of it), `facets.G` (64-bit keys) and `dead.G` (numbers of
entries that were replaced or removed). A writer appends, makes that durable and then replaces the manifest, which
counts the records of each file. What lies behind a count was never acknowledged: readers don't see it, the next
writer cuts it off. Compaction writes generation G + 1 and moves over with the manifest.

The manifest also carries the CRC-32 of what is valid in each file, which grows with every append. The files that a
search depends on as a whole (`entries`, `facets`, `dead`) are compared with it whenever they are mapped; `vectors`
and `spans`, a hundred times larger, on request.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from indexes.errors import IndexCorruptError
from indexes.manifest import REPAIR, sync_folder, unwritable

ENTRY = np.dtype([("rid", "<i8"), ("ts", "<i8"), ("row", "<i8"), ("facet", "<i8"), ("rows", "<i4"), ("facets", "<i4")])
"""A memory: its rows in `vectors` and `spans` and its keys in `facets` are consecutive."""

NAMES = ("vectors", "spans", "entries", "facets", "dead")
_ALWAYS_CHECKED = ("entries", "facets", "dead")
_BLOCK = 1 << 20
GENERATION = "generation"


@dataclass(frozen=True, slots=True)
class Rows:
    """The contents of one generation: memory-mapped when read, plain arrays when about to be written."""

    vectors: NDArray[np.float32]
    spans: NDArray[np.int32]
    entries: NDArray[np.void]
    facets: NDArray[np.uint64]
    dead: NDArray[np.int64]

    @classmethod
    def empty(cls, dimensions: int) -> Rows:
        """No rows at all."""
        return cls(*(np.empty(0, _record(name, dimensions)) for name in NAMES))

    def items(self) -> list[tuple[str, NDArray[np.generic]]]:
        """The arrays with the names of their files."""
        return [(name, getattr(self, name)) for name in NAMES]

    def counts(self) -> dict[str, int]:
        """The number of records in each file."""
        return {name: len(array) for name, array in self.items()}


def map_rows(folder: Path, counts: Mapping[str, int], dimensions: int) -> Rows:
    """Map the records that `counts` (of a manifest) declares valid.

    Raises FileNotFoundError if the generation is gone (a writer has compacted it) and IndexCorruptError if a file is
    shorter than declared.
    """
    arrays = []
    for name in NAMES:
        record, count = _record(name, dimensions), counts.get(name, 0)
        if not count:
            arrays.append(np.empty(0, record))
            continue
        path = _path(folder, name, counts[GENERATION])
        if path.stat().st_size < count * record.itemsize:
            raise IndexCorruptError(f"The index file {path} is shorter than it was. {REPAIR}")
        base, shape = (record.subdtype[0], (count, *record.shape)) if record.subdtype else (record, (count,))
        arrays.append(np.memmap(path, base, "r", shape=shape))
    check_sums(folder, counts, dimensions, _ALWAYS_CHECKED)
    rows = Rows(*arrays)
    if rows.entries["rows"].sum() != len(rows.vectors) or (len(rows.dead) and rows.dead.max() >= len(rows.entries)):
        raise IndexCorruptError(f"The vector index in {folder} contradicts itself. {REPAIR}")
    return rows


def append_rows(folder: Path, counts: Mapping[str, int], rows: Rows, dimensions: int) -> dict[str, int]:
    """Write `rows` behind the valid records and return the new counts, for the manifest; durable on return."""
    after = {GENERATION: counts.get(GENERATION, 0)}
    try:
        for name, array in rows.items():
            valid = counts.get(name, 0)
            after[name] = valid + len(array)
            before = counts.get(_crc_of(name))
            if before is None:  # nothing yet, or written by a version that kept no sums
                before = _crc(_path(folder, name, after[GENERATION]), valid * _record(name, dimensions).itemsize)
            after[_crc_of(name)] = zlib.crc32(np.ascontiguousarray(array).data, before) if len(array) else before
            if len(array):
                with _path(folder, name, after[GENERATION]).open("ab") as file:
                    file.truncate(valid * _record(name, dimensions).itemsize)
                    file.write(np.ascontiguousarray(array).data)
                    file.flush()
                    os.fsync(file.fileno())
        sync_folder(folder)
    except OSError as error:
        raise unwritable(folder, error) from error
    return after


def check_sums(folder: Path, counts: Mapping[str, int], dimensions: int, names: Iterable[str]) -> None:
    """Compare files with the sums in `counts`, where there are any.

    Raises FileNotFoundError as `map_rows` does, and IndexCorruptError for a file that is not what was written.
    """
    for name in names:
        wanted, size = counts.get(_crc_of(name)), counts.get(name, 0) * _record(name, dimensions).itemsize
        path = _path(folder, name, counts.get(GENERATION, 0))
        if wanted is not None and size and _crc(path, size) != wanted:
            raise IndexCorruptError(f"The index file {path} is not what was written (its checksum differs). {REPAIR}")


def _crc(path: Path, size: int) -> int:
    """The CRC-32 of the first `size` bytes, or of what there is of them."""
    crc = 0
    if size:
        with path.open("rb") as file:
            while size > 0 and (block := file.read(min(_BLOCK, size))):
                crc = zlib.crc32(block, crc)
                size -= len(block)
    return crc


def drop_other_generations(folder: Path, generation: int) -> None:
    """Delete the files of all generations but this one. Readers that have mapped them keep what they have."""
    for name in NAMES:
        for path in folder.glob(f"{name}.*"):
            if path != _path(folder, name, generation):
                path.unlink(missing_ok=True)


def _crc_of(name: str) -> str:
    return f"{name}_crc"


def _path(folder: Path, name: str, generation: int) -> Path:
    return folder / f"{name}.{generation}"


def _record(name: str, dimensions: int) -> np.dtype[np.generic]:
    return {
        "vectors": np.dtype(("<f4", (dimensions,))),
        "spans": np.dtype(("<i4", (2,))),
        "entries": ENTRY,
        "facets": np.dtype("<u8"),
        "dead": np.dtype("<i8"),
    }[name]
