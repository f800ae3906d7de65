"""Models that are downloaded: from the cache without a network, else from the hub, within a bounded time.

fastembed left to itself tries an unreachable hub three times, sleeps 39 s in between, and writes to standard error.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from indexes.errors import EmbedderError

if TYPE_CHECKING:
    from fastembed import TextEmbedding

PROBE_SECONDS: Final = 5.0
"""How long the hub may take to answer at all, name resolution included."""


def load_from_hub(description: Mapping[str, Any], cache: Path | None, threads: int | None) -> TextEmbedding:
    """Load a model of fastembed's list, downloading it if it is not in the cache yet.

    `description` is the model's row in that list. Raises EmbedderError when the model can't be had.
    """
    from fastembed import TextEmbedding

    model: str = description["model"]
    folder = None if cache is None else str(cache)
    with _quiet():
        try:
            return TextEmbedding(model, cache_dir=folder, threads=threads, local_files_only=True)
        except Exception as error:  # ValueError where it isn't cached; ONNX Runtime's classes are private
            missing = error
        problem = _why_no_download(description)
        if problem is None:
            try:
                return TextEmbedding(model, cache_dir=folder, threads=threads)
            except Exception as error:
                problem = f"downloading or loading it failed ({error})"
    raise EmbedderError(
        f"The embedding model {model!r} is not in the cache ({missing}) and {problem}. Connect once to download it "
        f"({description['size_in_GB']} GB), or use the bundled e5-small-ko-en. Search by words still works."
    ) from missing


def _why_no_download(description: Mapping[str, Any]) -> str | None:
    """What speaks against trying; None if the hub answers, or if the model comes from elsewhere."""
    if os.environ.get("HF_HUB_OFFLINE", "").strip().upper() in {"1", "TRUE", "YES", "ON"}:
        return "HF_HUB_OFFLINE forbids downloads"
    repository = description["sources"].get("hf")
    if repository is None:
        return None
    # In a thread of its own, because no timeout covers name resolution.
    found: list[str | None] = []
    probe = threading.Thread(target=lambda: found.append(_probe(repository)), daemon=True)
    probe.start()
    probe.join(PROBE_SECONDS)
    return found[0] if found else f"the model hub did not answer within {PROBE_SECONDS:g} s"


def _probe(repository: str) -> str | None:
    from huggingface_hub import model_info

    try:
        model_info(repository, timeout=PROBE_SECONDS)
    except Exception as error:  # huggingface_hub's own errors, and those of the HTTP library it happens to use
        return f"the model hub can't be reached ({error})"
    return None


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep fastembed's log off standard error: what matters of it is in the error that is raised."""
    from loguru import logger

    logger.disable("fastembed")
    try:
        yield
    finally:
        logger.enable("fastembed")
