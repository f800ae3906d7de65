"""The word leg on tantivy: BM25 over weighted tokens, and the exact part of the query that a hit covers.

Text never reaches a query parser: the analyzer makes the tokens, and tantivy sees terms only.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain, islice
from pathlib import Path

import numpy as np
import tantivy
from tantivy import Occur, Query

from indexes.analyzer import ANALYZER_VERSION, BODY, INITIAL, NEAR, WeightedQuery, WeightedToken
from indexes.errors import IndexCorruptError, StoreBusyError
from indexes.facets import facet_key
from indexes.manifest import LOCK, LOCK_SECONDS, REPAIR, Manifest, open_manifest, unwritable, write_lock
from indexes.types import NO_FILTER, Filter, Ids, LexicalEntry, LexicalRanking

FORMAT = 2
"""Raised whenever the schema below changes."""

_RID, _TIME, _FACETS = "rid", "ts", "f"
_EVERY = "*"
"""A token that each document carries: its document frequency is the total that tantivy's own idf uses, which counts
deleted documents until they are merged away (`num_docs` does not)."""

_LENT = 1 / 3
"""Weight of a word that a turn has from its neighbours beside one of its own, also as coverage: the design's figure."""

_K1 = 1.2
"""tantivy's BM25 constant; it offers no way to set it."""

_MOST_TOKENS = 64
"""A longer query keeps its most informative tokens: the design's figure; the time of a search grows with them."""

_BATCH = 1_000
"""Entries whose older versions are deleted by one query."""

_HEAP = 64_000_000
"""Bytes the writer may fill before it flushes a segment: 20,000 memories of 170 characters made one."""


class TantivyLexical:
    """A `LexicalLeg` in a folder of its own.

    Opening raises IndexMismatchError when the folder belongs to another store or analyzer, and IndexCorruptError when
    its files are damaged; both name the command that repairs it. Reading takes no lock; writers queue on one for
    `lock_seconds`, then StoreBusyError. `read_only` works in a folder that can't be written.
    """

    def __init__(
        self, folder: Path, *, store_id: str, lock_seconds: float = LOCK_SECONDS, read_only: bool = False
    ) -> None:
        self._folder = folder
        self._mirror: tempfile.TemporaryDirectory[str] | None = None
        self._lock_seconds = lock_seconds
        self._identity: dict[str, str | int] = {"format": FORMAT, "store": store_id, "analyzer": ANALYZER_VERSION}
        self._schema = _schema()
        self._manifest = open_manifest(folder, self._identity, read_only=read_only)
        try:
            self._mirror = _mirror(folder) if read_only else None
            with self._reading():
                self._index = self._open()
                self._searcher = self._index.searcher()
        except BaseException:
            self.close()
            raise

    @property
    def sequence(self) -> int:
        """The last change of the store that this leg has applied; 0 for a new one."""
        return self._manifest.sequence

    def __len__(self) -> int:
        """The number of memories that can be found."""
        return int(self._searcher.num_docs)

    def refresh(self) -> None:
        """See what other processes have applied since."""
        # The manifest first: it is written after the commit, so that the index never lags behind its sequence.
        manifest = Manifest.read(self._folder)
        if manifest is None:
            raise IndexCorruptError(f"The index in {self._folder} is gone. {REPAIR}")
        manifest.check(self._folder, self._identity)
        with self._reading():
            self._index.reload()
            self._searcher = self._index.searcher()
        self._manifest = manifest

    def close(self) -> None:
        """Release files and locks. Using the leg afterwards is an error, closing it again is not."""
        for name in ("_searcher", "_index"):
            self.__dict__.pop(name, None)
        if self._mirror is not None:
            self._mirror.cleanup()

    def apply(self, entries: Iterable[LexicalEntry], removed: Iterable[int], sequence: int) -> None:
        """Add or replace `entries`, drop the rids in `removed`, and remember `sequence`; durable on return.

        Entries are taken as they come, so that any number of them fits into memory; of two with one rid the later
        one stays.
        """
        with self._writer(sequence) as writer:
            rest, gone = iter(entries), iter(removed)
            while dropped := list(islice(gone, _BATCH)):
                with self._writing():
                    self._delete(writer, dropped)
            while batch := {entry.rid: entry for entry in islice(rest, _BATCH)}:
                with self._writing():
                    self._delete(writer, batch)
                    for entry in batch.values():
                        writer.add_document(_document(entry))
            with self._writing():
                writer.commit()

    def rewrite(self, entries: Iterable[LexicalEntry], sequence: int) -> None:
        """Hold exactly `entries`, in new files: nothing of what was there before stays on the disk.

        Searches find what was there until this returns. Of two entries with one rid both stay: give each once.
        """
        with self._writer(sequence) as writer:
            with self._writing():
                writer.delete_all_documents()
            for entry in entries:
                with self._writing():
                    writer.add_document(_document(entry))
            with self._writing():
                writer.commit()
        with write_lock(self._folder, self._lock_seconds), self._writing():
            # Once this process has let go of the old files. Another one that still searches them has no names for them.
            sweeper = self._index.writer(_HEAP, 1)
            sweeper.garbage_collect_files()
            sweeper.wait_merging_threads()

    @contextmanager
    def _writer(self, sequence: int) -> Iterator[tantivy.IndexWriter]:
        """A writer that nobody else has, and afterwards the manifest that names the change it has reached."""
        with write_lock(self._folder, self._lock_seconds):
            with self._writing():
                writer = self._index.writer(_HEAP, 1)
            try:
                with self._writing():
                    # A writer killed in a commit leaves files whose names the next commit wants ("already exists").
                    writer.garbage_collect_files()
                yield writer
            finally:
                # Releases tantivy's own lock; what is not committed is forgotten. Without the wait, merges that have
                # begun would be lost and small commits would pile up as segments for ever.
                with self._writing():
                    writer.wait_merging_threads()
            Manifest(sequence, self._identity).write(self._folder)
            self.refresh()

    def search(self, query: WeightedQuery, depth: int, where: Filter = NO_FILTER) -> LexicalRanking:
        """The best `depth` memories for the query's weighted tokens."""
        with self._reading():
            terms = _Terms(self._schema, self._searcher, query)
            limit = min(depth, len(self))
            if limit <= 0 or not terms:
                return _ranking([], {}, {}, terms.ceiling)
            scores = self._scores(terms.scoring(self._conditions(where)), limit)
            ids = sorted(scores, key=lambda rid: (-scores[rid], rid))
            return _ranking(ids, scores, self._coverage(terms, ids), terms.ceiling)

    def score(self, query: WeightedQuery, ids: Ids) -> LexicalRanking:
        """Exact scores for exactly these memories, in the order given; 0 where nothing matches."""
        with self._reading():
            terms = _Terms(self._schema, self._searcher, query)
            wanted = [int(rid) for rid in ids]
            if not wanted or not terms or not len(self):
                return _ranking(wanted, {}, {}, terms.ceiling)
            scores = self._scores(terms.scoring([self._one_of(wanted)]), len(wanted))
            return _ranking(wanted, scores, self._coverage(terms, wanted), terms.ceiling)

    def ownerless(self, tokens: Iterable[str]) -> list[str]:
        """Those of the tokens that are still in the files of the index although no memory holds them any more."""
        with self._reading():
            return [
                token
                for token in tokens
                for field in (BODY, INITIAL, NEAR)
                if self._searcher.doc_freq(field, token)
                and not self._searcher.search(Query.term_query(self._schema, field, token), 1, count=False).hits
            ]

    def _open(self) -> tantivy.Index:
        if self._mirror is not None:
            return tantivy.Index.open(self._mirror.name)
        if tantivy.Index.exists(str(self._folder)):
            return tantivy.Index.open(str(self._folder))
        with write_lock(self._folder, self._lock_seconds):
            self._manifest = Manifest.read(self._folder) or self._manifest
            if self._manifest.sequence and not tantivy.Index.exists(str(self._folder)):
                raise IndexCorruptError(f"The index in {self._folder} has lost its files. {REPAIR}")
            return tantivy.Index(self._schema, str(self._folder), reuse=True)

    @contextmanager
    def _reading(self) -> Iterator[None]:
        """Turn what tantivy raises for files that it can't read into IndexCorruptError."""
        try:
            yield
        except BaseException as error:
            if _from_tantivy(error):
                raise IndexCorruptError(f"The word index in {self._folder} is damaged ({error}). {REPAIR}") from error
            raise

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """The same for writing, where a full disk or another writer may be the cause."""
        try:
            yield
        except BaseException as error:
            if not _from_tantivy(error):
                raise
            if "LockBusy" in str(error):
                raise StoreBusyError(f"Another program is writing to {self._folder}. Try again later.") from error
            raise unwritable(self._folder, error) from error

    def _delete(self, writer: tantivy.IndexWriter, rids: Iterable[int]) -> None:
        # By query: `delete_documents_by_term` finds nothing in an unsigned field (tantivy-py 0.27).
        writer.delete_documents_by_query(Query.term_set_query(self._schema, _RID, list(rids)))

    def _scores(self, query: Query, limit: int) -> dict[int, float]:
        hits = self._searcher.search(query, limit, count=False).hits
        rids = self._searcher.fast_field_values(_RID, [address for _, address in hits])
        return {rid: score for rid, (score, _) in zip(rids, hits, strict=True) if isinstance(rid, int)}

    def _coverage(self, terms: _Terms, rids: Sequence[int]) -> dict[int, float]:
        if not rids:
            return {}
        return self._scores(terms.covering([self._one_of(rids)]), len(rids))

    def _one_of(self, rids: Sequence[int]) -> Query:
        return Query.term_set_query(self._schema, _RID, list(rids))

    def _conditions(self, where: Filter) -> list[Query]:
        conditions = [
            Query.term_set_query(self._schema, _FACETS, [_facet_token(facet) for facet in group])
            for group in where.groups
        ]
        if where.since_ms is not None or where.until_ms is not None:
            conditions.append(
                Query.range_query(
                    self._schema,
                    _TIME,
                    tantivy.FieldType.Integer,
                    lower_bound=where.since_ms,
                    # In whole milliseconds; tantivy refuses an exclusive bound beside an open one.
                    upper_bound=None if where.until_ms is None else where.until_ms - 1,
                )
            )
        return conditions


class _Terms:
    """The tokens of one query that are worth asking for, with their idf in this index."""

    def __init__(self, schema: tantivy.Schema, searcher: tantivy.Searcher, query: WeightedQuery) -> None:
        self._schema = schema
        total = searcher.doc_freq(_FACETS, _EVERY)
        worth = [
            (token.weight * _idf(searcher.doc_freq(token.field, token.text), total), token) for token in query.tokens
        ]
        worth.sort(key=lambda pair: -pair[0])
        self._worth = worth[:_MOST_TOKENS]
        self._lent = [
            (value * _LENT, WeightedToken(NEAR, token.text, token.weight * _LENT))
            for value, token in self._worth
            if token.covers and searcher.doc_freq(NEAR, token.text)
        ]
        self.ceiling = sum(value for value, _ in (*self._worth, *self._lent)) * (_K1 + 1)

    def __bool__(self) -> bool:
        return bool(self._worth)

    def scoring(self, conditions: Sequence[Query]) -> Query:
        """BM25 of documents that meet all `conditions`."""
        tokens = (token for _, token in (*self._worth, *self._lent))
        return self._query((Query.boost_query(self._term(token), token.weight) for token in tokens), conditions)

    def covering(self, conditions: Sequence[Query]) -> Query:
        """Scores that are the idf-weighted part of the query that a document holds; above 1 with what it is lent."""
        covers = [(value, token) for value, token in self._worth if token.covers]
        whole = sum(value for value, _ in covers)
        parts = (Query.const_score_query(self._term(token), value / whole) for value, token in (*covers, *self._lent))
        return self._query(parts, conditions)

    def _term(self, token: WeightedToken) -> Query:
        return Query.term_query(self._schema, token.field, token.text, index_option="freq")

    @staticmethod
    def _query(parts: Iterable[Query], conditions: Sequence[Query]) -> Query:
        either = Query.boolean_query([(Occur.Should, part) for part in parts])
        required = [(Occur.Must, Query.const_score_query(condition, 0.0)) for condition in conditions]
        return Query.boolean_query([(Occur.Must, either), *required])


def _mirror(folder: Path) -> tempfile.TemporaryDirectory[str]:
    """A folder of links to the files of an index: tantivy can't even read without writing a lock file beside them."""
    mirror = tempfile.TemporaryDirectory(prefix="gieok-words-")
    for file in folder.iterdir():
        if file.is_file() and file.name != LOCK and file.suffix != ".lock":
            (Path(mirror.name) / file.name).symlink_to(file.resolve())
    return mirror


def _from_tantivy(error: BaseException) -> bool:
    # A panic in Rust derives from BaseException, so that no `except Exception` would see it.
    return isinstance(error, ValueError | OSError) or type(error).__name__ == "PanicException"


def _schema() -> tantivy.Schema:
    builder = tantivy.SchemaBuilder()
    builder.add_unsigned_field(_RID, indexed=True, fast=True)
    builder.add_integer_field(_TIME, indexed=True, fast=True)
    builder.add_text_field(_FACETS, tokenizer_name="whitespace", index_option="basic")
    builder.add_text_field(BODY, tokenizer_name="whitespace", index_option="freq")
    builder.add_text_field(INITIAL, tokenizer_name="whitespace", index_option="freq")
    builder.add_text_field(NEAR, tokenizer_name="whitespace", index_option="freq")
    return builder.build()


def _document(entry: LexicalEntry) -> tantivy.Document:
    document = tantivy.Document()
    # `Document(rid=…)` would make a signed value, which kills the writer (tantivy-py 0.27).
    document.add_unsigned(_RID, entry.rid)
    document.add_integer(_TIME, entry.timestamp_ms)
    document.add_text(_FACETS, " ".join(chain((_EVERY,), map(_facet_token, entry.facets))))
    document.add_text(BODY, " ".join(entry.body))
    document.add_text(INITIAL, " ".join(entry.initial))
    if entry.near:
        document.add_text(NEAR, " ".join(entry.near))
    return document


def _facet_token(facet: str) -> str:
    return f"{facet_key(facet):016x}"


def _idf(holders: int, total: int) -> float:
    return math.log1p((total - holders + 0.5) / (holders + 0.5))


def _ranking(
    ids: Sequence[int], scores: dict[int, float], coverage: dict[int, float], ceiling: float
) -> LexicalRanking:
    return LexicalRanking(
        np.array(ids, np.int64),
        np.array([scores.get(rid, 0.0) for rid in ids], np.float32),
        np.array([min(1.0, coverage.get(rid, 0.0)) for rid in ids], np.float32),
        ceiling,
    )
