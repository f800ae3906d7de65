"""The bundled model: a question, and passages against the bare session on the same length-sorted batches."""

from __future__ import annotations

import time
from itertools import count
from pathlib import Path

import numpy as np
import onnxruntime  # type: ignore[import-untyped]
import pytest
from numpy.typing import NDArray
from pytest_benchmark.fixture import BenchmarkFixture
from tokenizers import Tokenizer

from indexes.embedder import BATCH_TOKENS, FastEmbedder

MODEL = Path(__file__).parents[2] / "indexes" / "models" / "e5-small-ko-en"
WORDS = [
    "결제",
    "재시도는",
    "같은",
    "멱등",
    "키로",
    "보낸다",
    "the",
    "events",
    "table",
    "is",
    "append-only",
    "배포",
    "금지",
]
THREADS = 2


def texts(number: int) -> list[str]:
    random = np.random.default_rng(1)
    lengths = random.geometric(1 / 40, number)  # most are short, a few long, as in real memories
    return [" ".join(random.choice(WORDS, length)) for length in lengths]


@pytest.fixture(scope="module")
def embedder() -> FastEmbedder:
    embedder = FastEmbedder(threads=THREADS)
    embedder.embed_query("warm")
    return embedder


def test_a_question(benchmark: BenchmarkFixture, embedder: FastEmbedder) -> None:
    number = count()

    benchmark(lambda: embedder.embed_query(f"금요일에 배포해도 되는지 {next(number)}"))


def test_passages(benchmark: BenchmarkFixture, embedder: FastEmbedder) -> None:
    passages = texts(100)

    benchmark(embedder.embed_passages, passages)


def test_passages_take_at_most_a_tenth_longer_than_the_bare_session(
    benchmark: BenchmarkFixture, embedder: FastEmbedder
) -> None:
    passages = texts(100)
    feeds = bare_batches(passages)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = THREADS
    session = onnxruntime.InferenceSession(MODEL / "model.onnx", options, providers=["CPUExecutionProvider"])

    def both() -> tuple[float, float]:
        begin = time.perf_counter()
        for feed in feeds:
            session.run(None, feed)
        middle = time.perf_counter()
        embedder.embed_passages(passages)
        return middle - begin, time.perf_counter() - middle

    times: list[tuple[float, float]] = []
    both()
    benchmark(lambda: times.append(both()))
    bare, product = (min(column) for column in zip(*times, strict=True))
    benchmark.extra_info["share of the bare session's speed"] = bare / product

    assert bare / product >= 0.9


def bare_batches(passages: list[str]) -> list[dict[str, NDArray[np.int64]]]:
    tokenizer = Tokenizer.from_file(str(MODEL / "tokenizer.json"))
    tokenizer.enable_truncation(512)
    rows = sorted((row.ids for row in tokenizer.encode_batch([f"passage: {text}" for text in passages])), key=len)
    batches: list[list[list[int]]] = [[]]
    for row in reversed(rows):
        if batches[-1] and (len(batches[-1]) + 1) * len(batches[-1][0]) > BATCH_TOKENS:
            batches.append([])
        batches[-1].append(row)
    feeds = []
    for batch in batches:
        ids = np.ones((len(batch), len(batch[0])), np.int64)  # 1 is the padding
        mask = np.zeros_like(ids)
        for number, row in enumerate(batch):
            ids[number, : len(row)] = row
            mask[number, : len(row)] = 1
        feeds.append({"input_ids": ids, "attention_mask": mask})
    return feeds
