"""The reference: tantivy's BM25 with its default tokenizer, as a tool without an analyzer would use it."""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from typing import cast

import tantivy

from eval.datasets import Document


class PlainBM25:
    """An index in memory over title and text, words as tantivy's `default` tokenizer cuts them, any word may match."""

    def __init__(self, documents: Sequence[Document]) -> None:
        self._ids = [document.id for document in documents]
        builder = tantivy.SchemaBuilder()
        builder.add_text_field("text", tokenizer_name="default", index_option="freq")
        builder.add_unsigned_field("row", stored=True, fast=True)
        self._schema = builder.build()
        self._index = tantivy.Index(self._schema)
        # The tokens of tantivy's "default": alphanumeric runs up to 40 bytes, lower-cased.
        self._analyzer = (
            tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.simple())
            .filter(tantivy.Filter.remove_long(40))
            .filter(tantivy.Filter.lowercase())
            .build()
        )
        writer = self._index.writer(heap_size=50_000_000, num_threads=1)
        for row, document in enumerate(documents):
            entry = tantivy.Document()
            entry.add_text("text", f"{document.title}\n{document.text}")
            entry.add_unsigned("row", row)
            writer.add_document(entry)
        writer.commit()
        writer.wait_merging_threads()
        self._index.reload()

    def search(self, query: str, depth: int) -> list[str]:
        """Ids of the best `depth` documents, ties by the order of the corpus; empty when no word matches."""
        terms = dict.fromkeys(self._analyzer.analyze(query))
        if not terms:
            return []
        should = [
            (tantivy.Occur.Should, tantivy.Query.term_query(self._schema, "text", term, index_option="freq"))
            for term in terms
        ]
        searcher = self._index.searcher()
        hits = searcher.search(tantivy.Query.boolean_query(should), depth).hits
        addresses = [address for _, address in hits]
        # The field is unsigned and in every document, which the types of tantivy cannot say.
        rows = cast("list[int]", searcher.fast_field_values("row", addresses)) if addresses else []
        best = heapq.nsmallest(depth, ((-score, row) for (score, _), row in zip(hits, rows, strict=True)))
        return [self._ids[row] for _, row in best]

    def search_all(self, queries: Mapping[str, str], depth: int) -> dict[str, list[str]]:
        """`search` for every query."""
        return {key: self.search(text, depth) for key, text in queries.items()}
