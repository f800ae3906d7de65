"""Exact token counts, by the tokenizer of current models (o200k), without a network."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from typing import Protocol, cast

import numpy as np

from indexes.errors import MissingExtraError
from indexes.tokens import estimate_tokens

ENCODING = "o200k_base"


class _Encoder(Protocol):
    def encode_ordinary(self, text: str) -> list[int]: ...


@cache
def _encoder() -> _Encoder:
    try:
        with warnings.catch_warnings():  # bpe-openai 0.1 reads its data through a deprecated function
            warnings.simplefilter("ignore", DeprecationWarning)
            import bpe_openai
    except ImportError as error:
        raise MissingExtraError("bpe-openai", "eval") from error
    return cast("_Encoder", bpe_openai.get_encoding(ENCODING))


def count_tokens(text: str) -> int:
    """How many o200k tokens `text` has; special-token spellings in it count as plain text.

    Raises MissingExtraError (bpe-openai is not installed).
    """
    return len(_encoder().encode_ordinary(text))


@dataclass(frozen=True, slots=True)
class EstimatorError:
    """How far `estimate_tokens` is from the exact count, over texts of at least one token.

    Shares of the exact count: `total` of all texts together, `mean_absolute` and `p95_absolute` of single texts;
    a positive `total` means that the estimate is too high.
    """

    texts: int
    exact: int
    estimated: int
    total: float
    mean_absolute: float
    p95_absolute: float


def estimator_error(texts: Iterable[str]) -> EstimatorError | None:
    """Compare estimate and exact count; None when there is no text to compare on."""
    pairs = [(count, estimate_tokens(text)) for text in texts if (count := count_tokens(text))]
    if not pairs:
        return None
    exact, estimated = np.array(pairs, dtype=np.float64).T
    off = np.abs(estimated - exact) / exact
    return EstimatorError(
        texts=len(pairs),
        exact=int(exact.sum()),
        estimated=int(estimated.sum()),
        total=float(estimated.sum() / exact.sum() - 1),
        mean_absolute=float(off.mean()),
        p95_absolute=float(np.quantile(off, 0.95)),
    )
