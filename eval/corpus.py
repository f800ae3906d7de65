"""A set indexed the way a user's files are: as JSON Lines through `Gieok.index`, kept between runs.

The index lies in the cache folder under a key: a hash of the rows as written, the embedding model, and the versions
of analyzer, passages and store. Another corpus, model or version is another index; an interrupted one is resumed.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from eval.datasets import Dataset, Document, Problem
from eval.stored import all_memories
from indexes.analyzer import ANALYZER_VERSION
from indexes.embedder import FastEmbedder
from indexes.errors import EmbedderError, SourceError
from indexes.passages import PASSAGES_VERSION
from indexes.schema import SCHEMA_VERSION
from indexes.types import MEMORY_TYPES
from pipeline import Gieok, Settings
from pipeline.legs import NO_MODEL
from pipeline.progress import OnProgress

_ROWS = "corpus.jsonl"

OnStep = Callable[[str], OnProgress | None]
"""Called with the name of a set whose index is to be built; gives what is told of its progress."""


@dataclass
class IndexedSet:
    """A set and the store that holds it. `problems` are the set's own and what the product said while indexing."""

    dataset: Dataset
    gieok: Gieok
    key: str
    seconds: float
    problems: tuple[Problem, ...]

    def __post_init__(self) -> None:
        """Learn which memory is which document."""
        memories = all_memories(self.gieok.home)
        self._by_rid = {memory.rid: str(memory.metadata["key"]) for memory in memories}
        self._by_id = {memory.id: str(memory.metadata["key"]) for memory in memories}

    def keys(self, rids: Iterable[int]) -> list[str]:
        """The set's own document ids for rows of the store, in order."""
        return [self._by_rid[int(rid)] for rid in rids]

    def keys_of(self, ids: Iterable[str]) -> list[str]:
        """The set's own document ids for memory ids, in order."""
        return [self._by_id[memory_id] for memory_id in ids]


def row(document: Document) -> dict[str, object]:
    """A document in our own JSON Lines schema.

    A type that is not one of ours becomes `insight` and is kept as `kind`; the rest of the metadata stays metadata.
    """
    metadata = dict(document.metadata)
    kind = metadata.pop("type", None)
    session = metadata.pop("session_id", None) or metadata.pop("session", None)
    timestamp = metadata.pop("timestamp", None)
    files = metadata.pop("files", None)
    known = isinstance(kind, str) and kind in MEMORY_TYPES
    if kind is not None and not known:
        metadata["kind"] = kind
    entry: dict[str, object] = {
        "id": document.id,
        "content": document.text if document.text.strip() else document.title,
        "title": document.title if document.text.strip() else "",
        "type": kind if known else "insight",
        "metadata": metadata,
    }
    named = {"session": session, "timestamp": timestamp, "files": files}
    return entry | {name: value for name, value in named.items() if value}


def rows_text(documents: Iterable[Document]) -> str:
    """The file that is indexed."""
    return "".join(json.dumps(row(document), ensure_ascii=False) + "\n" for document in documents)


def index_key(text: str, model: str) -> str:
    """The key of an index: equal exactly when the product would build the same one."""
    parts = (text, model, str(ANALYZER_VERSION), str(PASSAGES_VERSION), str(SCHEMA_VERSION))
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:16]


@contextmanager
def indexed(
    dataset: Dataset, cache: Path, settings: Settings, on_step: OnStep = lambda _: None, *, vectors: bool = True
) -> Iterator[IndexedSet]:
    """Open a set's store, indexing what is missing.

    Raises SourceError (the product refused the corpus, or the cache folder cannot be written), EmbedderError
    (vectors are wanted, but the store stays without them).
    """
    text = rows_text(dataset.documents)
    key = index_key(text, _model(settings.embedder.model))
    folder = cache / f"{dataset.name}-{key}"
    rows = folder / _ROWS
    _write_once(rows, text)
    began = time.perf_counter()
    with Gieok.open(folder / "home", settings) as gieok:
        before = gieok.status()
        report = gieok.index([rows], vectors=False, on_progress=on_step(dataset.name))
        if report.failed:
            raise SourceError(f"The corpus of {dataset.name!r} was refused: {report.failed[0].reason}")
        if vectors and report.vectors_pending:
            gieok.embed_pending(on_progress=on_step(dataset.name))
        status = gieok.status()
        if vectors and (status.vectors.pending or status.vectors.problem):
            raise EmbedderError(
                f"{dataset.name!r} has {status.vectors.pending} memories without vectors "
                f"({status.vectors.problem or 'no reason given'}); the vector systems can't be measured."
            )
        seconds = time.perf_counter() - began
        built = before.memories != status.memories or before.vectors.pending != status.vectors.pending
        problems = (*dataset.problems, *_indexing_problems(dataset, status.memories, report.notices))
        yield IndexedSet(dataset, gieok, key, seconds if built else 0.0, problems)


def _model(name: str) -> str:
    """What tells the vectors of one model, in one version of it, from those of another."""
    return name if name == NO_MODEL else FastEmbedder(name).name


def _write_once(path: Path, text: str) -> None:
    """Keep an equal file as it is: its time of change dates memories that carry none."""
    try:
        data = text.encode("utf-8", "surrogatepass")
        if path.is_file() and path.read_bytes() == data:
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        fresh = path.with_suffix(f".{os.getpid()}")
        fresh.write_bytes(data)
        fresh.replace(path)
    except OSError as error:
        raise SourceError(f"{path}: cannot be written ({error.strerror}). Give another folder by --cache.") from error


def _indexing_problems(dataset: Dataset, memories: int, notices: Sequence[object]) -> Iterator[Problem]:
    if memories != len(dataset.documents):
        yield Problem(
            f"the product holds {memories} memories of {len(dataset.documents)} documents",
            abs(len(dataset.documents) - memories),
            (),
            "a relevant document that was left out counts as missed",
        )
    if notices:
        examples = tuple(str(getattr(notice, "reason", notice)) for notice in notices[:3])
        yield Problem("notices of the reader", len(notices), examples, "their documents are indexed as said")
