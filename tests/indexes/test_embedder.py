"""The embedder through its public interface, with the bundled model and no network."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import threading
import unicodedata
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pytest

from indexes import hub
from indexes.embedder import BUNDLED_MODEL, FastEmbedder
from indexes.errors import EmbedderError

DEPLOY = "배포는 금요일 오후에 금지한다. 장애가 나면 주말에 고칠 사람이 없기 때문이다."
RETRY = "결제 재시도는 같은 멱등 키로 보내야 요금이 두 번 청구되지 않는다."
SCHEMA = "The DuckDB schema uses event sourcing: the events table is append-only."


@pytest.fixture(scope="module")
def embedder() -> FastEmbedder:
    return FastEmbedder()


@pytest.fixture
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> NoReturn:
        raise OSError("the network is off")

    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    monkeypatch.setattr(socket.socket, "connect", refuse)


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("금요일에 배포해도 돼?", 0),
        ("Are we allowed to deploy on Fridays?", 0),
        ("중복 청구를 막는 방법", 1),
        ("How do we avoid charging a customer twice?", 1),
        ("이벤트 테이블 설계", 2),
        ("Which tables are append-only?", 2),
    ],
)
def test_a_question_is_nearest_to_its_answer_in_either_language(
    embedder: FastEmbedder, question: str, answer: int
) -> None:
    passages = embedder.embed_passages([DEPLOY, RETRY, SCHEMA])

    assert int(np.argmax(passages @ embedder.embed_query(question))) == answer


def test_vectors_have_unit_length_in_32_bits(embedder: FastEmbedder) -> None:
    passages = embedder.embed_passages([DEPLOY, "", " \n", "ㅋㅋ", "🎉", "\ud83d lone surrogate", "x" * 100_000])

    assert passages.dtype == np.float32
    assert passages.shape == (7, embedder.dimensions)
    np.testing.assert_allclose(np.linalg.norm(passages, axis=1), 1, atol=1e-6)
    assert embedder.embed_query("").shape == (embedder.dimensions,)


def test_no_texts_give_no_vectors(embedder: FastEmbedder) -> None:
    assert embedder.embed_passages([]).shape == (0, embedder.dimensions)


def test_decomposed_hangul_is_the_same_text(embedder: FastEmbedder) -> None:
    decomposed = unicodedata.normalize("NFD", DEPLOY)

    assert decomposed != DEPLOY
    np.testing.assert_array_equal(embedder.embed_query(decomposed), embedder.embed_query(DEPLOY))


@pytest.mark.parametrize("token", ["<s>", "</s>", "<pad>", "<unk>", "<mask>"])
def test_control_tokens_in_a_text_are_text(embedder: FastEmbedder, token: str) -> None:
    literal, spaced, without = embedder.embed_passages([f"a {token} b", f"a < {token[1:]} b", "a b"])

    np.testing.assert_array_equal(literal, spaced)
    assert literal @ without < 0.999


def test_a_question_and_a_passage_of_the_same_words_differ(embedder: FastEmbedder) -> None:
    assert embedder.embed_query(DEPLOY) @ embedder.embed_passages([DEPLOY])[0] < 0.999


def test_a_vector_does_not_depend_on_its_batch_and_keeps_its_place() -> None:
    texts = [SCHEMA * 4, "짧다", DEPLOY * 3, "a", RETRY, "", SCHEMA]
    done: list[int] = []

    together = FastEmbedder(batch_tokens=2_000).embed_passages(texts, done.append)
    one_by_one = FastEmbedder(batch_tokens=1).embed_passages(texts)

    # 32-bit sums in another order; on the same text, other batches give the same codes.
    np.testing.assert_allclose((together * one_by_one).sum(1), 1, atol=1e-5)
    assert sum(done) == len(texts)


def test_batches_are_bounded_by_tokens_with_padding(embedder: FastEmbedder) -> None:
    done: list[int] = []

    # "passage: a" has 5 tokens with its ends (▁passage, :, ▁a), so 4 of them are the most that fit into 20.
    FastEmbedder(batch_tokens=20).embed_passages(["a"] * 10, done.append)

    assert done == [4, 4, 2]


def test_an_exception_from_on_done_ends_the_call(embedder: FastEmbedder) -> None:
    def stop(_: int) -> NoReturn:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        embedder.embed_passages([DEPLOY, RETRY], stop)


def test_a_repeated_question_comes_from_the_cache(embedder: FastEmbedder) -> None:
    first = embedder.embed_query("같은 질문")

    assert embedder.embed_query("같은 질문") is first
    assert not first.flags.writeable
    for number in range(256):
        embedder.embed_query(f"{number}")
    again = embedder.embed_query("같은 질문")
    assert again is not first
    np.testing.assert_array_equal(again, first)


def test_threads_share_an_embedder() -> None:
    shared = FastEmbedder()
    questions = ["배포", "결제", "schema"] * 4

    with ThreadPoolExecutor(4) as pool:
        vectors = list(pool.map(shared.embed_query, questions))

    expected = {question: FastEmbedder().embed_query(question) for question in set(questions)}
    for question, vector in zip(questions, vectors, strict=True):
        np.testing.assert_allclose(vector, expected[question], atol=1e-6)


def test_the_name_carries_the_fingerprint_and_is_known_without_loading() -> None:
    script = (
        "import sys; from indexes.embedder import FastEmbedder; e = FastEmbedder(); "
        "print(e.name, e.dimensions, 'fastembed' in sys.modules, 'onnxruntime' in sys.modules)"
    )
    root = Path(__file__).parents[2]
    output = subprocess.run([sys.executable, "-c", script], cwd=root, capture_output=True, text=True, check=True)

    name, dimensions, *imported = output.stdout.split()
    assert name.startswith(f"{BUNDLED_MODEL}@")
    assert re.fullmatch(r"@[0-9a-f]{12}-[0-9a-f]{8}", name.removeprefix(BUNDLED_MODEL))  # the model, its centre
    assert dimensions == "384"
    assert imported == ["False", "False"]


@pytest.mark.usefixtures("no_network")
def test_the_bundled_model_needs_no_network() -> None:
    assert FastEmbedder().embed_query("배포").shape == (384,)


@pytest.mark.usefixtures("no_network")
def test_a_model_of_the_hub_says_what_to_do_without_one(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    remote = FastEmbedder("BAAI/bge-small-en-v1.5", cache=tmp_path)

    assert remote.dimensions == 384
    assert remote.name.startswith("BAAI/bge-small-en-v1.5@")
    with pytest.raises(EmbedderError, match=r"can't be reached .*the network is off.*Search by words still") as first:
        remote.embed_query("배포")
    with pytest.raises(EmbedderError) as second:
        remote.embed_passages(["배포"])
    assert second.value is first.value, "a second search does not wait for the hub again"
    assert capfd.readouterr().err == ""


@pytest.mark.usefixtures("no_network")
def test_the_hub_is_not_asked_when_the_user_forbids_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")

    with pytest.raises(EmbedderError, match="HF_HUB_OFFLINE forbids downloads"):
        FastEmbedder("BAAI/bge-small-en-v1.5", cache=tmp_path).embed_query("배포")


def test_a_hub_that_never_answers_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answered = threading.Event()
    monkeypatch.setattr(hub, "PROBE_SECONDS", 0.1)
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: answered.wait(20) and None)
    try:
        with pytest.raises(EmbedderError, match=r"did not answer within 0\.1 s"):
            FastEmbedder("BAAI/bge-small-en-v1.5", cache=tmp_path).embed_query("배포")
    finally:
        answered.set()


def test_an_unknown_model_is_refused_with_a_near_name_and_where_to_find_others() -> None:
    with pytest.raises(EmbedderError, match=r"bge-smal-en'.*Did you mean 'BAAI/bge-small-en.*list_supported_models"):
        _ = FastEmbedder("BAAI/bge-smal-en").dimensions
    with pytest.raises(EmbedderError, match="Did you mean 'e5-small-ko-en'"):
        FastEmbedder("e5-small-ko").embed_query("배포")


def test_a_batch_without_room_is_refused() -> None:
    with pytest.raises(EmbedderError, match="batch_tokens must be at least 1, not 0"):
        FastEmbedder(batch_tokens=0)


def test_the_runtime_does_not_phone_home(tmp_path: Path) -> None:
    # ONNX Runtime 1.32 tries to write a device id when its telemetry starts, and says so where it can't
    script = "from indexes.embedder import FastEmbedder; FastEmbedder().embed_query('x')"
    (tmp_path / "file").write_text("", encoding="utf-8")
    environment = {**os.environ, "HOME": str(tmp_path / "file")}
    environment.pop("ORT_DISABLE_TELEMETRY", None)
    for name in ("XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME"):
        environment[name] = str(tmp_path / "file")
    root = Path(__file__).parents[2]
    run = subprocess.run(
        [sys.executable, "-c", script], cwd=root, env=environment, capture_output=True, text=True, check=True
    )
    assert "elemetry" not in run.stderr
