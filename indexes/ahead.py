"""Begins to load the bundled model while a process that is going to search still imports the rest.

ONNX Runtime reads the model without the interpreter's lock: on a second core that costs a waiting person nothing.
Importing this module is cheap.
"""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from onnxruntime import InferenceSession

BUNDLED_MODEL: Final = "e5-small-ko-en"
BUNDLED_FOLDER: Final = Path(__file__).parent / "models" / BUNDLED_MODEL


def without_telemetry() -> None:
    """Keep ONNX Runtime (from 1.32 on) and the hub's client from telling their makers about their use.

    Must come before their first import. Nothing leaves this machine unless the user asks for a model.
    """
    os.environ["ORT_DISABLE_TELEMETRY"] = "1"
    os.environ["HF_HUB_DISABLE_TELEMETRY"] = "1"
    import onnxruntime

    onnxruntime.disable_telemetry_events()


def session(threads: int | None) -> InferenceSession:
    """The bundled model's graph, ready to run. Raises what ONNX Runtime does."""
    without_telemetry()
    import onnxruntime

    options = onnxruntime.SessionOptions()
    # The graph was fused when it was made: looking for more takes 0.2 s and changes no bit of a vector.
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    if threads is not None:
        options.intra_op_num_threads = options.inter_op_num_threads = threads
    model = BUNDLED_FOLDER / "model.onnx"
    return onnxruntime.InferenceSession(str(model), sess_options=options, providers=["CPUExecutionProvider"])


class _Loading:
    """A session on its way, in a thread of its own."""

    def __init__(self, threads: int | None) -> None:
        self.threads = threads
        self._session: InferenceSession | None = None
        # A daemon: a process that has its answer without vectors does not wait for it.
        self._thread = threading.Thread(target=self._load, daemon=True)
        self._thread.start()

    def _load(self) -> None:
        try:
            self._session = session(self.threads)
        except Exception:
            self._session = None  # whoever needs it loads it again, and says why it fails

    def result(self) -> InferenceSession | None:
        self._thread.join()
        return self._session


_lock = threading.Lock()
_loading: _Loading | None = None


def begin(model: str, threads: int | None) -> None:
    """Load `model`, if it is the bundled one, for the first embedder that needs it, and return meanwhile."""
    global _loading
    # Whole before the thread needs it: two threads that import a package whose modules import each other
    # can see it half done. ONNX Runtime has nothing else that the other thread imports.
    import numpy  # noqa: F401

    with _lock:
        if _loading is None and model.lower() == BUNDLED_MODEL:
            _loading = _Loading(threads)


def taken(threads: int | None) -> InferenceSession | None:
    """What was begun, once it is ready; None if nothing was, or not for so many threads, or if it failed."""
    global _loading
    with _lock:
        loading, _loading = _loading, None
    return loading.result() if loading is not None and loading.threads == threads else None
