"""Text to unit vectors: the bundled model, or any other that fastembed knows.

The bundled model comes with the package and never touches the network. Importing this module is cheap: ONNX Runtime
(and fastembed, for another model) is imported, and the model is loaded, when the first text is embedded.
"""

from __future__ import annotations

import difflib
import hashlib
import json
import re
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol

import numpy as np
from lru import LRU

from indexes.ahead import BUNDLED_FOLDER, BUNDLED_MODEL, without_telemetry
from indexes.centre import Centre
from indexes.errors import EmbedderError
from indexes.hub import load_from_hub
from indexes.types import Floats

if TYPE_CHECKING:
    from fastembed import TextEmbedding

    from indexes.bundled import BundledModel

CENTRE_FILE: Final = "centre.npy"

QUERY_CACHE: Final = 256
"""Queries kept, the least recently used dropped first: 0.4 MB of vectors, more than one sitting asks."""
BATCH_TOKENS: Final = 512
"""Tokens of a batch, padding included. Its activations then fit into a core's cache: 7,290 tokens/s on texts of 256
tokens, against 5,970 at 4,096 and 4,410 at 8,192; and like lengths are easier to find for few texts (less padding)."""
MAX_CHARACTERS: Final = 16_384
"""Only so much of a text is tokenised: 512 tokens, which is all a model reads, of 32 characters each."""
RETRY_SECONDS: Final = 60.0
"""A model that could not be loaded is not tried again for so long: every search would wait for the hub."""

# fastembed adds no prefix; models of the e5 family are trained with these two.
_E5 = re.compile(r"(^|[/-])e5(-|$)", re.IGNORECASE)
_QUERY, _PASSAGE = "query: ", "passage: "
# Tokenizers read these as control tokens wherever they stand. A space makes them text; nothing else changes.
_CONTROL = re.compile(r"<(?=/?(?:s|pad|unk|mask)>)")
_SURROGATE = re.compile("[\ud800-\udfff]")


class Embedder(Protocol):
    """What the vector leg and the retriever need of a model."""

    @property
    def name(self) -> str:
        """Identifies model and file: vectors are comparable only between equal names."""

    @property
    def dimensions(self) -> int:
        """The length of a vector."""

    def embed_query(self, text: str) -> Floats:
        """The unit vector (d,) of a question. Read-only: it may come from a cache."""

    def embed_passages(self, texts: Sequence[str], on_done: Callable[[int], None] | None = None) -> Floats:
        """The unit vectors (n, d) of what is searched, in the order of `texts`.

        `on_done` is called after each batch with the number of texts in it; an exception from it ends the call.
        """


class FastEmbedder:
    """A fastembed model. Loaded at first use, safe to share between threads.

    `model` is `e5-small-ko-en`, which is bundled, or a name from fastembed's list. `cache` is where downloaded models
    are kept (fastembed's own choice if None), `threads` are for one inference (all cores if None), `batch_tokens`
    bounds a batch, padding included. `centred` takes out of the bundled model's vectors what only tells the language
    (see `indexes.centre`); without it they are the model's own.

    Every use may raise EmbedderError: the name is unknown, the model can't be had without a network, or a file of it
    is damaged. Blank text is embedded like any other (its vector means nothing, but has unit length).
    """

    def __init__(
        self,
        model: str = BUNDLED_MODEL,
        *,
        cache: Path | None = None,
        threads: int | None = None,
        batch_tokens: int = BATCH_TOKENS,
        centred: bool = True,
    ) -> None:
        if batch_tokens < 1:
            raise EmbedderError(f"batch_tokens must be at least 1, not {batch_tokens}")
        self._model = model
        self._cache = cache
        self._threads = threads
        self._batch_tokens = batch_tokens
        self._bundled = model.lower() == BUNDLED_MODEL
        self._centred = centred and self._bundled
        self._centre: Centre | None = None
        self._prefixed = _E5.search(model) is not None
        self._lock = threading.Lock()
        self._engine: TextEmbedding | BundledModel | None = None
        self._failure: tuple[float, EmbedderError] | None = None
        self._identity: tuple[str, int] | None = None
        self._queries: LRU[str, Floats] = LRU(QUERY_CACHE)

    @property
    def name(self) -> str:
        """Model and file in one string. Known without loading the model; raises EmbedderError for an unknown one."""
        return self._identify()[0]

    @property
    def dimensions(self) -> int:
        """The length of a vector. Known without loading the model; raises EmbedderError for an unknown one."""
        return self._identify()[1]

    def embed_query(self, text: str) -> Floats:
        """The unit vector (d,) of a question, from the cache if it was asked lately. Read-only."""
        with self._lock:
            known: Floats | None = self._queries.get(text)
        if known is not None:
            return known
        engine = self._load()
        cleaned = _clean(text, _QUERY if self._prefixed else "")
        vector: Floats = self._run(engine, [cleaned], engine.query_embed)[0]
        if self._centre is not None:
            vector = self._centre.apply(vector[np.newaxis], [text[:MAX_CHARACTERS]], "query")[0]
        vector.setflags(write=False)
        with self._lock:
            self._queries[text] = vector
        return vector

    def embed_passages(self, texts: Sequence[str], on_done: Callable[[int], None] | None = None) -> Floats:
        """The unit vectors (n, d) of `texts`, in their order; see `Embedder`."""
        vectors = np.empty((len(texts), self.dimensions), np.float32)
        if not len(texts):
            return vectors
        engine = self._load()
        cleaned = [_clean(text, _PASSAGE if self._prefixed else "") for text in texts]
        for batch in _batches([engine.token_count([text]) for text in cleaned], self._batch_tokens):
            made = self._run(engine, [cleaned[row] for row in batch], engine.passage_embed)
            if self._centre is not None:
                made = self._centre.apply(made, [texts[row][:MAX_CHARACTERS] for row in batch], "passage")
            vectors[batch] = made
            if on_done is not None:
                on_done(len(batch))
        return vectors

    def _run(self, engine: TextEmbedding | BundledModel, texts: list[str], embed: Callable[..., Any]) -> Floats:
        try:
            vectors = np.asarray(list(embed(texts, batch_size=len(texts))), np.float32)
        except Exception as error:  # whatever ONNX Runtime or the tokenizer raise: their classes are private
            raise EmbedderError(
                f"The embedding model {self._model!r} failed on {len(texts)} text(s): {error}. "
                "Search by words still works; reinstall gieok if this stays."
            ) from error
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        if not (np.isfinite(lengths).all() and lengths.all()):
            raise EmbedderError(f"The embedding model {self._model!r} gave a vector without a direction.")
        unit: Floats = vectors / lengths
        return unit

    def _identify(self) -> tuple[str, int]:
        if self._identity is None:
            if self._bundled:
                config = _bundled_config()
                name = f"{BUNDLED_MODEL}@{config['fingerprint'][:12]}"
                if self._centred:
                    name += f"-{_digest(BUNDLED_FOLDER / CENTRE_FILE)}"
                self._identity = name, int(config["hidden_size"])
            else:
                found = _description(self._model)
                origin = found["sources"].get("hf") or found["sources"].get("url")
                self._identity = f"{found['model']}@{origin}/{found['model_file']}", int(found["dim"])
        return self._identity

    def _load(self) -> TextEmbedding | BundledModel:
        with self._lock:
            if self._engine is not None:
                return self._engine
            if self._failure is not None and time.monotonic() - self._failure[0] < RETRY_SECONDS:
                raise self._failure[1]
            without_telemetry()
            try:
                if self._bundled:
                    if self._centred:
                        self._centre = Centre.load(BUNDLED_FOLDER / CENTRE_FILE)
                    self._engine = _load_bundled(self._threads)
                else:
                    self._engine = load_from_hub(_description(self._model), self._cache, self._threads)
            except EmbedderError as error:
                self._failure = time.monotonic(), error
                raise
            return self._engine


def _clean(text: str, prefix: str) -> str:
    """What the tokenizer gets: bounded, encodable, and free of control tokens."""
    return prefix + _CONTROL.sub("< ", _SURROGATE.sub("\ufffd", text[:MAX_CHARACTERS]))


def _batches(lengths: Sequence[int], limit: int) -> Iterator[list[int]]:
    """Rows in batches of like length, longest first, each at most `limit` tokens with its padding.

    Longest first: memory peaks at once, and a progress bar never slows down. A longer text is a batch of its own.
    """
    batch: list[int] = []
    for row in sorted(range(len(lengths)), key=lambda row: -lengths[row]):
        if batch and (len(batch) + 1) * lengths[batch[0]] > limit:
            yield batch
            batch = []
        batch.append(row)
    if batch:
        yield batch


def _digest(path: Path) -> str:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()[:8]
    except OSError as error:
        raise EmbedderError(f"The bundled model's file {path} can't be read ({error}). Reinstall gieok.") from error


def _bundled_config() -> dict[str, Any]:
    path = BUNDLED_FOLDER / "config.json"
    try:
        config: dict[str, Any] = json.loads(path.read_bytes())
    except (OSError, ValueError) as error:
        raise EmbedderError(f"The bundled model's file {path} can't be read ({error}). Reinstall gieok.") from error
    return config


def _load_bundled(threads: int | None) -> BundledModel:
    try:
        from indexes.bundled import BundledModel

        return BundledModel(threads)
    except Exception as error:  # ONNX Runtime's classes are private
        raise EmbedderError(
            f"The bundled model in {BUNDLED_FOLDER} can't be loaded ({error}). Reinstall gieok; "
            "search by words still works."
        ) from error


def _description(model: str) -> dict[str, Any]:
    """What fastembed knows about a model of its list. Raises EmbedderError."""
    without_telemetry()
    from fastembed import TextEmbedding

    known = {found["model"].lower(): found for found in TextEmbedding.list_supported_models()}
    if model.lower() in known:
        return known[model.lower()]
    near = difflib.get_close_matches(model.lower(), [*known, BUNDLED_MODEL], 1)
    hint = f" Did you mean {known[near[0]]['model'] if near[0] in known else near[0]!r}?" if near else ""
    raise EmbedderError(
        f"There is no embedding model {model!r}.{hint} The bundled one is {BUNDLED_MODEL!r}; see the others with: "
        "python -c \"import fastembed; [print(m['model']) for m in fastembed.TextEmbedding.list_supported_models()]\""
    )
