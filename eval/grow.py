"""A corpus grown to any size from a real one, for latency only: its figures say nothing of quality.

Memories are made of paragraphs of the real corpus: each new one has as many as some real document, drawn from all of
them. Words are indexed by the product. Passages are cut by the product, too, but instead of running the model on
each (hours for 100,000 memories), its vector is a mix of two real vectors with noise: as many rows, of the same
length and shape, are searched.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np

from eval.corpus import OnStep
from eval.datasets import Document
from indexes.dense import FlatDense
from indexes.errors import SourceError
from indexes.manifest import Manifest
from indexes.store import Store
from indexes.types import Floats
from indexes.vectorfile import map_rows
from pipeline import Gieok, Settings
from pipeline.home import Home
from pipeline.sync import sync_vectors

SEED = 7
NOISE = 0.3
"""Length of the noise beside a vector of length 1: no two rows are equal, clusters stay clusters."""
SESSION = 20
"""Memories in one session, a minute apart: a long working session of the shared transcripts."""
ROWS_PER_FILE = 20_000
"""Keeps each file below the size that the product reads (`sources.max_file_bytes`)."""
_START = datetime(2025, 1, 1, tzinfo=UTC)

HOW = (
    "grown: paragraphs of the real corpus recombined, words and passages by the product; "
    "vectors are mixes of real ones with noise, not the model's"
)


def grown(documents: Sequence[Document], count: int) -> Iterator[dict[str, object]]:
    """`count` rows of our JSON Lines schema."""
    rng = np.random.default_rng(SEED)
    cut = [paragraphs(document.text) for document in documents]
    lengths = [len(parts) for parts in cut if parts]
    pool = [part for parts in cut for part in parts]
    if not pool:
        raise SourceError("The corpus has no text to grow from. Name another dataset.")
    for i in range(count):
        picked = rng.integers(0, len(pool), size=int(rng.choice(lengths)))
        yield {
            "id": f"grown-{i}",
            "content": "\n\n".join(pool[p] for p in picked),
            "type": "insight",
            "session": f"grown-session-{i // SESSION}",
            "timestamp": (_START + timedelta(minutes=i)).isoformat(),
        }


def paragraphs(text: str) -> list[str]:
    """The parts of a text between empty lines."""
    return [part.strip() for part in text.split("\n\n") if part.strip()]


class MixingEmbedder:
    """Stands in for the model when a grown corpus is indexed: passages get mixes of real vectors."""

    def __init__(self, name: str, pool: Floats) -> None:
        self.name = name
        self.dimensions = pool.shape[1]
        self._pool = pool
        self._rng = np.random.default_rng(SEED)

    def embed_passages(self, texts: Sequence[str], on_done: Callable[[int], None] | None = None) -> Floats:
        """A vector of unit length for each text, whatever it says."""
        if on_done is not None:
            on_done(len(texts))
        a, b = self._rng.integers(0, len(self._pool), size=(2, len(texts)))
        part = self._rng.uniform(0.5, 1.0, size=(len(texts), 1))
        noise = self._rng.normal(scale=NOISE / np.sqrt(self.dimensions), size=(len(texts), self.dimensions))
        mixed = part * self._pool[a] + (1 - part) * self._pool[b] + noise
        return np.asarray(mixed / np.linalg.norm(mixed, axis=1, keepdims=True), dtype=np.float32)

    def embed_query(self, text: str) -> Floats:
        """Never asked for while indexing."""
        vector: Floats = self.embed_passages([text])[0]
        return vector


def stored_vectors(home: Path) -> Floats:
    """The passage vectors of a store."""
    folder = Home(home).vectors
    manifest = Manifest.read(folder)
    if manifest is None or not manifest.counts.get("vectors"):
        raise SourceError(f"The store in {home} has no vectors to grow from. Index it with vectors first.")
    return np.array(map_rows(folder, manifest.counts, int(manifest.identity["dimensions"])).vectors, np.float32)


def build(
    home: Path, documents: Sequence[Document], count: int, pool: Floats, settings: Settings, on_step: OnStep
) -> None:
    """Make a store of `count` grown memories in `home`, or finish one."""
    rows_folder = home.parent / "rows"
    rows_folder.mkdir(parents=True, exist_ok=True)
    made = grown(documents, count)
    paths = []
    for start in range(0, count, ROWS_PER_FILE):
        paths.append(rows_folder / f"rows-{start:07d}.jsonl")
        lines = [json.dumps(next(made), ensure_ascii=False) for _ in range(min(ROWS_PER_FILE, count - start))]
        paths[-1].write_text("\n".join(lines) + "\n", encoding="utf-8")
    progress = on_step(f"grown to {count:,}")
    with Gieok.open(home, settings) as gieok:
        report = gieok.index(paths, vectors=False, on_progress=progress)
        if report.failed:
            raise SourceError(f"The grown corpus was refused: {report.failed[0].reason}")
    place = Home(home)
    manifest = Manifest.read(place.vectors)
    if manifest is None:
        raise SourceError(f"The store in {home} has no vector index. Set embedder.model to a model.")
    model, store_id = str(manifest.identity["model"]), str(manifest.identity["store"])
    with closing(Store(place.store)) as store:
        leg = FlatDense(place.vectors, store_id=store_id, model=model, dimensions=pool.shape[1])
        embedder = MixingEmbedder(model, pool)
        sync_vectors(store, leg, embedder, place.lock("vectors"), wait=0, on_progress=progress)
        leg.close()
