from __future__ import annotations

import sys

import pytest

from eval import tokens
from indexes.errors import MissingExtraError
from indexes.tokens import estimate_tokens


@pytest.mark.parametrize(
    # Published examples of the o200k vocabulary: common words are one token each, " world" with its space.
    ("text", "count"),
    [("", 0), ("hello", 1), ("hello world", 2), ("hello world\n", 3)],
)
def test_counts_o200k_tokens(text: str, count: int) -> None:
    assert tokens.count_tokens(text) == count


def test_special_tokens_in_a_text_are_plain_text() -> None:
    assert tokens.count_tokens("<|endoftext|>") > 1


def test_the_error_of_the_estimate_is_relative_to_the_exact_count() -> None:
    texts = ["배포는 금요일에 금지한다.", "hello world", ""]
    exact, estimated = [tokens.count_tokens(t) for t in texts[:2]], [estimate_tokens(t) for t in texts[:2]]
    error = tokens.estimator_error(texts)
    assert error is not None
    assert (error.texts, error.exact, error.estimated) == (2, sum(exact), sum(estimated))
    assert error.total == pytest.approx(sum(estimated) / sum(exact) - 1)
    off = [abs(e - x) / x for e, x in zip(estimated, exact, strict=True)]
    assert error.mean_absolute == pytest.approx(sum(off) / 2)


def test_nothing_to_compare_on() -> None:
    assert tokens.estimator_error([""]) is None


def test_a_missing_package_names_its_install_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "bpe_openai", None)
    tokens._encoder.cache_clear()
    try:
        with pytest.raises(MissingExtraError, match=r"pip install 'gieok\[eval\]'"):
            tokens.count_tokens("text")
    finally:
        tokens._encoder.cache_clear()
