"""The vector leg: exact cosines over a memory-mapped file.

Exact up to some 100,000 passages (6 ms a query there); a coarser first stage for more belongs behind `_View.rank`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from indexes.errors import EmbedderError, IndexCorruptError, IndexMismatchError
from indexes.facets import facet_key
from indexes.manifest import LOCK_SECONDS, REPAIR, Manifest, open_manifest, write_lock
from indexes.passages import PASSAGES_VERSION
from indexes.types import NO_FILTER, DenseRanking, Filter, Floats, Ids, VectorEntry
from indexes.vectorfile import (
    ENTRY,
    GENERATION,
    NAMES,
    Rows,
    append_rows,
    check_sums,
    drop_other_generations,
    map_rows,
)

FORMAT = 1
"""Raised whenever the files of `vectorfile` change."""

_MOST_DEAD = 0.25
"""The part of rows that may be dead before they are compacted: a search reads them all."""

_GATHER_BELOW = 0.2
"""Below this part of all rows, copying the wanted rows first is faster than reading past the others (equal at 0.19)."""

_CHUNK = 8_192
"""Rows that are copied at a time (12 MB at 384 dimensions)."""

_LONGEST_SQUARED = 1.001
"""Vectors have unit length, or less where they are means of unit vectors; the rest is rounding."""


class FlatDense:
    """A `DenseLeg` in a folder of its own, for vectors of one `model` with `dimensions` numbers.

    Opening raises IndexMismatchError when the folder belongs to another store or model, and IndexCorruptError when its
    files are damaged; both name the command that repairs it. Reading takes no lock; writers queue on one for
    `lock_seconds`, then StoreBusyError.
    """

    def __init__(
        self,
        folder: Path,
        *,
        store_id: str,
        model: str,
        dimensions: int,
        lock_seconds: float = LOCK_SECONDS,
        read_only: bool = False,
    ) -> None:
        self._folder = folder
        self._lock_seconds = lock_seconds
        self._identity: dict[str, str | int] = {
            "format": FORMAT,
            "store": store_id,
            "model": model,
            "dimensions": dimensions,
            "passages": PASSAGES_VERSION,
        }
        self._dimensions = dimensions
        self._view = self._load(open_manifest(folder, self._identity, read_only=read_only))

    @property
    def sequence(self) -> int:
        """The last change of the store that this leg has applied; 0 for a new one."""
        return self._view.manifest.sequence

    def __len__(self) -> int:
        """The number of memories that can be found."""
        return len(self._view.alive)

    def refresh(self) -> None:
        """See what other processes have applied since."""
        manifest = self._read_manifest()
        if manifest != self._view.manifest:
            self._view = self._load(manifest)

    def close(self) -> None:
        """Release the files. Using the leg afterwards is an error, closing it again is not."""
        self.__dict__.pop("_view", None)

    def apply(self, entries: Sequence[VectorEntry], removed: Iterable[int], sequence: int) -> None:
        """Add or replace `entries`, drop the rids in `removed`, and remember `sequence`; durable on return.

        An entry without rows drops its memory; of two with one rid the later one stays. Raises EmbedderError for
        a vector that is not finite or too long, and IndexMismatchError for one with other dimensions.
        """
        latest = {entry.rid: entry for entry in entries}
        for entry in latest.values():
            self._check(entry.vectors, f"memory {entry.rid}")
            if entry.spans.shape != (len(entry.vectors), 2):
                raise EmbedderError(
                    f"Memory {entry.rid} has {len(entry.vectors)} vectors, but spans of the shape {entry.spans.shape}."
                )
        with write_lock(self._folder, self._lock_seconds):
            self.refresh()
            before = self._view.manifest.counts
            replaced = self._view.find(np.array([*latest, *removed], np.int64))
            fresh = _pack(
                [entry for entry in latest.values() if len(entry.vectors)], replaced, before, self._dimensions
            )
            self._valid(sequence, self._compact(append_rows(self._folder, before, fresh, self._dimensions), _MOST_DEAD))

    def purge(self) -> None:
        """Keep only what is alive, in new files: nothing of what was dropped or replaced stays on the disk."""
        with write_lock(self._folder, self._lock_seconds):
            self.refresh()
            if GENERATION in self._view.manifest.counts:  # otherwise nothing was ever written
                self._valid(self.sequence, self._compact(self._view.manifest.counts, -1.0))

    def _valid(self, sequence: int, counts: Mapping[str, int]) -> None:
        Manifest(sequence, self._identity, counts).write(self._folder)
        drop_other_generations(self._folder, counts[GENERATION])
        self.refresh()

    def verify(self) -> None:
        """Read all files and compare them with their checksums. Raises IndexCorruptError."""
        self.refresh()
        check_sums(self._folder, self._view.manifest.counts, self._dimensions, NAMES)

    def search(self, vector: Floats, depth: int, where: Filter = NO_FILTER) -> DenseRanking:
        """The best `depth` memories by the cosine of their best passage; `vector` (d,) has unit length."""
        self._check(vector[np.newaxis], "the query")
        return self._view.rank(vector, self._view.select(where), depth)

    def score(self, vector: Floats, ids: Ids) -> DenseRanking:
        """Exact cosines for exactly these memories, in the order given; NaN for one without a vector.

        The span of such a one is (0, 0); `mean` and `deviation` are over the memories that have a vector.
        """
        self._check(vector[np.newaxis], "the query")
        wanted = np.asarray(ids, np.int64)
        found = self._view.rank(vector, self._view.find(wanted), len(wanted))
        scores = np.full(len(wanted), np.nan, np.float32)
        spans = np.zeros((len(wanted), 2), np.int32)
        passages = np.zeros(len(wanted), np.int32)
        if len(found.ids):
            order = np.argsort(found.ids)
            places = np.minimum(np.searchsorted(found.ids, wanted, sorter=order), len(order) - 1)
            places = order[places]
            known = found.ids[places] == wanted
            scores[known] = found.scores[places[known]]
            spans[known] = found.spans[places[known]]
            passages[known] = found.passages[places[known]]
        return DenseRanking(wanted, scores, spans, passages, found.mean, found.deviation)

    def stored(self, rid: int) -> tuple[Floats, NDArray[np.int32]] | None:
        """Copies of the vectors and spans that are kept for a memory; None for one without."""
        found = self._view.find(np.array([rid], np.int64))
        if not len(found):
            return None
        entry = self._view.entries[found[0]]
        lines = slice(int(entry["row"]), int(entry["row"]) + int(entry["rows"]))
        return np.array(self._view.rows.vectors[lines]), np.array(self._view.rows.spans[lines])

    def holds(self, beginning: bytes) -> bool:
        """Whether the vector of a memory that can be found begins with these bytes (float32, little-endian)."""
        wanted = np.frombuffer(beginning, "<f4")
        alive = self._view.entries[self._view.alive]
        lines = _ranges(alive["row"], alive["rows"])
        heads = self._view.rows.vectors[:, : len(wanted)]
        return bool((heads[lines] == wanted).all(axis=1).any())

    def _read_manifest(self) -> Manifest:
        manifest = Manifest.read(self._folder)
        if manifest is None:
            raise IndexCorruptError(f"The index in {self._folder} is gone. {REPAIR}")
        manifest.check(self._folder, self._identity)
        return manifest

    def _load(self, manifest: Manifest) -> _View:
        """Map what the manifest declares; a writer that compacts meanwhile leaves a newer manifest to try."""
        while True:
            try:
                return _View(manifest, map_rows(self._folder, manifest.counts, self._dimensions))
            except FileNotFoundError as error:
                newer = self._read_manifest()
                if newer == manifest:
                    raise IndexCorruptError(f"The index file {error.filename} is missing. {REPAIR}") from error
                manifest = newer

    def _check(self, vectors: Floats, whose: str) -> None:
        if vectors.ndim != 2 or vectors.shape[1] != self._dimensions:
            raise IndexMismatchError(
                f"The vector of {whose} has the shape {vectors.shape[1:]}, but the index in {self._folder} holds "
                f"{self._dimensions} dimensions. {REPAIR}"
            )
        # Not a comparison with `>`: NaN must fail as well.
        if not np.all(np.einsum("ij,ij->i", vectors, vectors) <= _LONGEST_SQUARED):
            raise EmbedderError(
                f"The model gave {whose} a vector that is not finite or longer than 1. Word search is not concerned; "
                "try again or choose another model."
            )

    def _compact(self, counts: Mapping[str, int], most_dead: float) -> Mapping[str, int]:
        """Copy what is alive into the next generation if more than this part of all rows is dead.

        Returns the counts that are valid then.
        """
        view = _View(Manifest(0, {}, counts), map_rows(self._folder, counts, self._dimensions))
        dead = counts["vectors"] - int(view.entries["rows"][view.alive].sum())
        if dead <= most_dead * counts["vectors"]:
            return counts
        fresh = {GENERATION: counts[GENERATION] + 1}
        entries, rows = view.entries, view.rows
        # Entries whose rows make up a chunk at a time; a first chunk without entries starts the files.
        chunks = np.cumsum(entries["rows"][view.alive]) // _CHUNK
        for part in [view.alive[:0], *np.split(view.alive, np.flatnonzero(np.diff(chunks)) + 1)]:
            taken = entries[part].copy()
            lines, keys = _ranges(taken["row"], taken["rows"]), _ranges(taken["facet"], taken["facets"])
            _place(taken, fresh)
            chunk = Rows(rows.vectors[lines], rows.spans[lines], taken, rows.facets[keys], np.empty(0, np.int64))
            fresh = append_rows(self._folder, fresh, chunk, self._dimensions)
        return fresh


class _View:
    """What one manifest declares, ready to be searched. Entries are spoken of by their number in the file."""

    def __init__(self, manifest: Manifest, rows: Rows) -> None:
        self.manifest = manifest
        self.rows = rows
        self.entries = rows.entries
        self.rids: Ids = np.ascontiguousarray(rows.entries["rid"])
        living = np.ones(len(rows.entries), np.bool_)
        if len(rows.dead) and not (rows.dead.min() >= 0 and rows.dead.max() < len(living)):
            raise IndexCorruptError(f"The vector index drops entries that it does not have. {REPAIR}")
        living[rows.dead] = False
        self.alive = np.flatnonzero(living)
        for first, many, rows_there in (("row", "rows", rows.vectors), ("facet", "facets", rows.facets)):
            counts = rows.entries[many].astype(np.int64)
            if not np.array_equal(rows.entries[first], np.cumsum(counts) - counts) or counts.sum() != len(rows_there):
                raise IndexCorruptError(f"The entries of the vector index do not fit its rows. {REPAIR}")

    @cached_property
    def _by_rid(self) -> NDArray[np.int64]:
        return self.alive[np.argsort(self.rids[self.alive])]

    @cached_property
    def _facet_owners(self) -> NDArray[np.int64]:
        return np.repeat(np.arange(len(self.entries)), self.entries["facets"])

    def find(self, rids: Ids) -> NDArray[np.int64]:
        """The living entries of these memories, without repetition, in the order of the file."""
        if not len(self.alive):
            return self.alive
        known = self.rids[self._by_rid]
        places = np.minimum(np.searchsorted(known, rids), len(known) - 1)
        return np.unique(self._by_rid[places[known[places] == rids]])

    def select(self, where: Filter) -> NDArray[np.int64]:
        """The living entries that meet the filter."""
        chosen = self.alive
        if where.since_ms is not None:
            chosen = chosen[self.entries["ts"][chosen] >= where.since_ms]
        if where.until_ms is not None:
            chosen = chosen[self.entries["ts"][chosen] < where.until_ms]
        for group in where.groups:
            holds = np.zeros(len(self.entries), np.bool_)
            for facet in group:
                holds[self._facet_owners[self.rows.facets == np.uint64(facet_key(facet))]] = True
            chosen = chosen[holds[chosen]]
        return chosen

    def rank(self, vector: Floats, chosen: NDArray[np.int64], depth: int) -> DenseRanking:
        """The best `depth` of the chosen entries."""
        if depth <= 0 or not len(chosen):
            nothing = np.empty(0, np.int32)
            return DenseRanking(self.rids[:0], np.empty(0, np.float32), self.rows.spans[:0].copy(), nothing, 0.0, 0.0)
        counts = self.entries["rows"][chosen].astype(np.int64)
        if counts.sum() >= _GATHER_BELOW * len(self.rows.vectors):
            cosines = _dot(self.rows.vectors, vector)
            best = np.maximum.reduceat(cosines, self.entries["row"])[chosen]
            starts = self.entries["row"][chosen]
            lines = None
        else:
            lines = _ranges(self.entries["row"][chosen], counts)
            cosines = np.concatenate(
                [_dot(self.rows.vectors[lines[i : i + _CHUNK]], vector) for i in range(0, len(lines), _CHUNK)]
            )
            starts = np.cumsum(counts) - counts
            best = np.maximum.reduceat(cosines, starts)
        if not np.isfinite(best).all():
            raise IndexCorruptError(f"The vectors hold numbers that no vector has. {REPAIR}")
        order = _top(best, self.rids[chosen], depth)
        passages = np.array(
            [s + cosines[s : s + n].argmax() for s, n in zip(starts[order], counts[order], strict=True)]
        )
        return DenseRanking(
            self.rids[chosen[order]],
            best[order],
            np.array(self.rows.spans[passages if lines is None else lines[passages]]),
            counts[order].astype(np.int32),
            float(best.mean(dtype=np.float64)),
            float(best.std(dtype=np.float64)),
        )


def _dot(vectors: Floats, vector: Floats) -> Floats:
    # Not `@`: einsum stays on one thread, reads the map in place and is steadier than OpenBLAS on a busy machine
    # (100,000 x 384: 6 ms against 12 to 190 ms).
    cosines: Floats = np.einsum("ij,j->i", vectors, vector)
    return cosines


def _top(scores: Floats, rids: Ids, depth: int) -> NDArray[np.int64]:
    """Places of the best `depth` scores, best first; equal ones by rid."""
    places = np.arange(len(scores))
    if depth < len(scores):
        places = np.flatnonzero(scores >= np.partition(scores, -depth)[-depth])
    return places[np.lexsort((rids[places], -scores[places]))][:depth]


def _ranges(starts: NDArray[np.int64], counts: NDArray[np.integer]) -> NDArray[np.int64]:
    """All numbers of the ranges that begin at `starts` and hold `counts` numbers, one after the other."""
    counts = counts.astype(np.int64)
    ends = np.cumsum(counts)
    return np.repeat(starts - ends + counts, counts) + np.arange(counts.sum())


def _place(entries: NDArray[np.void], counts: Mapping[str, int]) -> None:
    """Set where the rows and facets of `entries` stand when they are appended behind `counts`."""
    for first, many, name in (("row", "rows", "vectors"), ("facet", "facets", "facets")):
        entries[first] = counts.get(name, 0) + np.cumsum(entries[many], dtype=np.int64) - entries[many]


def _pack(entries: Sequence[VectorEntry], dead: NDArray[np.int64], counts: Mapping[str, int], dimensions: int) -> Rows:
    if not entries:
        return replace(Rows.empty(dimensions), dead=dead)
    records = np.array(
        [(entry.rid, entry.timestamp_ms, 0, 0, len(entry.vectors), len(entry.facets)) for entry in entries], ENTRY
    )
    _place(records, counts)
    return Rows(
        np.concatenate([entry.vectors for entry in entries]).astype(np.float32, copy=False),
        np.concatenate([entry.spans for entry in entries]).astype(np.int32, copy=False),
        records,
        np.array([facet_key(facet) for entry in entries for facet in entry.facets], np.uint64),
        dead,
    )
