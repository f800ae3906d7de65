"""Parts of long texts."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from indexes.tokens import estimate_tokens
from pipeline.sources.blocks import split_blocks
from pipeline.sources.cutting import MAX_TOKENS, TAIL, cut_blocks, cut_text

WORDS = "alpha beta gamma delta "


def text(tokens: int) -> str:
    """Words that are estimated at about so many tokens."""
    return (WORDS * round(tokens * 100 / estimate_tokens(WORDS * 100))).strip()


def test_short_text_stays_as_it_is() -> None:
    assert cut_text("\na\n\n\n  b\n") == ["a\n\n\n  b"]
    assert cut_text(" \n") == []


def test_paragraphs_are_shared_out_evenly() -> None:
    paragraph = text(200)
    parts = cut_text("\n\n".join([paragraph] * 6))  # 1,200 tokens make two parts of 600
    assert parts == ["\n\n".join([paragraph] * 3)] * 2


def test_filled_parts_keep_what_comes_before_an_addition() -> None:
    paragraphs = [f"{number} {text(200)}" for number in range(12)]
    before = cut_blocks(list(split_blocks("\n\n".join(paragraphs[:9]))), even=False)
    after = cut_blocks(list(split_blocks("\n\n".join(paragraphs))), even=False)
    assert len(before) == 3
    assert after[:2] == before[:2]


def test_a_long_paragraph_is_cut_between_lines_and_a_long_line_between_words() -> None:
    lines = "\n".join([text(390)] * 4)
    assert [part.count("\n") for part in cut_text(lines)] == [1, 1]
    line = text(4_000)
    parts = cut_text(line)
    assert " ".join(parts) == line
    assert all(estimate_tokens(part) <= MAX_TOKENS + TAIL for part in parts)


def test_a_fence_is_never_cut() -> None:
    fence = "```\n" + "\n\n".join([WORDS.strip()] * 500) + "\n```"
    assert estimate_tokens(fence) > 2 * MAX_TOKENS
    assert fence in cut_text(f"{text(200)}\n\n{fence}\n\n{text(200)}")


def test_a_small_rest_is_no_part() -> None:
    assert len(cut_text(f"{text(780)}\n\n{text(40)}")) == 1
    assert len(cut_text(f"{text(780)}\n\n{text(200)}")) == 2


@given(st.text(st.sampled_from("aé가 \n`#-"), max_size=4_000))
def test_nothing_is_lost(text: str) -> None:
    parts = cut_text(text)
    assert "".join("".join(parts).split()) == "".join(text.split())
    assert all(part.strip() for part in parts)
