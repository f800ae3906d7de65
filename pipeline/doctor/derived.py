"""Words, vectors and the model: whether they fit the store, and whether their files are what was written."""

from __future__ import annotations

import json
import struct
import time
import zlib
from collections.abc import Iterator
from pathlib import Path

from indexes.dense import FlatDense
from indexes.embedder import FastEmbedder
from indexes.errors import EmbedderError, GieokError
from indexes.lexical import TantivyLexical
from indexes.manifest import MANIFEST
from pipeline.doctor.findings import Finding, Part, ok, problem, warn
from pipeline.doctor.storage import StoreFacts
from pipeline.home import Home
from pipeline.legs import NO_MODEL
from pipeline.settings import Settings

_SLOW_MODEL = 3.0
_MAGIC = 1337
"""The last four bytes of every file of a tantivy index, before them the length of a JSON footer with a CRC-32."""


def check_words(home: Home, store: StoreFacts) -> Iterator[Finding]:
    """The word index against the store."""
    again = "gieok rebuild words"
    if not (home.words / MANIFEST).exists():
        yield _not_yet("words", store, "gieok index")
        return
    for file in sorted(home.words.iterdir()):
        if (wrong := _footer_problem(file)) is not None:
            yield problem("words", f"{file.name} {wrong}", again, "words")
            return
    try:
        leg = TantivyLexical(home.words, store_id=store.store_id, read_only=True)
    except GieokError as error:
        yield problem("words", str(error), again, "words")
        return
    try:
        yield from _lag("words", len(leg), leg.sequence, store, again, "The next search or gieok index applies them.")
    finally:
        leg.close()


def _footer_problem(file: Path) -> str | None:
    if not file.is_file() or file.suffix in (".json", ".lock", ".new"):
        return None
    data = file.read_bytes()
    try:
        length, magic = struct.unpack("<II", data[-8:])
        end = len(data) - 8 - length
        crc = json.loads(data[end:-8])["crc"] if magic == _MAGIC and end >= 0 else None
    except (struct.error, ValueError, KeyError, TypeError):
        crc = None
    if crc is None:
        return "has lost its end"
    return None if zlib.crc32(data[:end]) == crc else "is not what was written (its checksum differs)"


def check_vectors(home: Home, store: StoreFacts, settings: Settings) -> Iterator[Finding]:
    """The vector index against the store."""
    again = "gieok rebuild vectors"
    if settings.embedder.model == NO_MODEL:
        yield ok("vectors", "switched off (embedder.model is none)")
        return
    if not (home.vectors / MANIFEST).exists():
        yield _not_yet("vectors", store, "gieok index")
        return
    try:
        embedder = FastEmbedder(settings.embedder.model)
        name, dimensions = embedder.name, embedder.dimensions
    except EmbedderError:
        return  # said of the model
    try:
        leg = FlatDense(home.vectors, store_id=store.store_id, model=name, dimensions=dimensions, read_only=True)
        try:
            leg.verify()
            yield from _lag("vectors", len(leg), leg.sequence, store, again, "gieok index")
        finally:
            leg.close()
    except (GieokError, OSError) as error:
        yield problem("vectors", str(error), again, "vectors")


def _not_yet(check: str, store: StoreFacts, mend: str) -> Finding:
    if store.memories:
        return warn(check, f"not made yet; {store.memories:,} memories wait", mend)
    return ok(check, "nothing to hold yet")


def _lag(check: str, held: int, sequence: int, store: StoreFacts, again: str, catch_up: str) -> Iterator[Finding]:
    part: Part = "words" if check == "words" else "vectors"
    if sequence > store.sequence:
        yield problem(check, "knows changes that the store does not: an older store was put back", again, part)
    elif sequence < store.last_change:
        yield warn(check, f"holds {held:,} memories, the store {store.memories:,}; changes are waiting", catch_up)
    elif held != store.memories:
        yield problem(check, f"holds {held:,} memories, the store {store.memories:,}", again, part)
    else:
        yield ok(check, f"sound, and holds all {held:,} memories")


def check_model(settings: Settings) -> Iterator[Finding]:
    """Whether the model loads and answers."""
    if settings.embedder.model == NO_MODEL:
        return
    began = time.monotonic()
    try:
        embedder = FastEmbedder(settings.embedder.model, threads=settings.embedder.threads or None)
        vector = embedder.embed_query("기억")
    except EmbedderError as error:
        yield problem("model", str(error), "Set embedder.model to e5-small-ko-en (bundled), or to none.")
        return
    took = time.monotonic() - began
    said = f"{embedder.name}, {len(vector)} dimensions, first answer after {took:.1f} s"
    yield ok("model", said) if took < _SLOW_MODEL else warn("model", f"{said}: slow; is the machine busy?")
