"""Passages: properties on any text, and where the cuts fall in texts that a reader can check."""

from __future__ import annotations

import unicodedata
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from indexes.passages import (
    PASSAGE_CHARACTERS,
    PASSAGE_TOKENS,
    TITLE_CHARACTERS,
    passage_text,
    split_passages,
)
from indexes.tokens import estimate_tokens

KOREAN = "결제 재시도는 반드시 같은 멱등 키로 보내야 한다. "
ENGLISH = "Retries must reuse the idempotency key of the first attempt. "

BLOCKS = st.sampled_from(
    [
        "# 제목\n",
        "## Heading two\n",
        KOREAN * 3 + "\n\n",
        ENGLISH * 4 + "\n\n",
        "- 항목 하나\n- item two\n",
        "1. first\n2. 둘째\n",
        "```python\n# not a heading\nprint('안녕')\n```\n",
        "~~~\nnever closed\n",
        "a" * 6000,
        "가" * 2000 + "\n",
        unicodedata.normalize("NFD", "한글은 자모로 나뉜다 ") * 60,
        "👨‍👩‍👧‍👦" * 120,
        "e\u0301" * 500,
        "| a | b |\n|---|---|\n| 1 | 2 |\n" * 40,
        "\r\n\r\n",
        "\u3000\u00a0 \t\n",
        "\ud83d\ude00 lone",
    ]
)
TEXTS = st.one_of(st.text(), st.lists(BLOCKS, max_size=12).map("".join))


@settings(deadline=None)
@given(content=TEXTS, title=st.sampled_from(["", "결제 재시도 설계"]))
def test_passages_are_ordered_bounded_and_cover_all_but_white_space(content: str, title: str) -> None:
    passages = split_passages(content, title)

    assert all(0 <= start < end <= len(content) for start, end in passages)
    assert all(before.end <= after.start for before, after in pairwise(passages))
    covered = "".join(content[start:end] for start, end in passages)
    assert "".join(covered.split()) == "".join(content.split())
    for start, end in passages:
        text = content[start:end]
        assert text == text.strip()
        assert len(text) <= PASSAGE_CHARACTERS
        assert estimate_tokens(text) <= PASSAGE_TOKENS


@settings(deadline=None)
@given(
    st.lists(
        st.sampled_from(["가", "각", "e\u0301", "👍🏽", "👨‍👩‍👧‍👦", unicodedata.normalize("NFD", "한"), "漢"]),
        min_size=600,
        max_size=700,
    )
)
def test_a_forced_cut_keeps_what_is_seen_as_one_character_together(characters: list[str]) -> None:
    content = "".join(characters)
    edges = {0}
    at = 0
    for character in characters:
        at += len(character)
        edges.add(at)

    passages = split_passages(content)

    assert len(passages) > 1
    assert {edge for passage in passages for edge in passage} <= edges


@pytest.mark.parametrize("content", ["", " ", "\n\t\u3000"])
def test_a_blank_content_has_no_passages(content: str) -> None:
    assert split_passages(content) == []


def test_a_text_that_fits_is_one_passage_without_its_outer_white_space() -> None:
    assert split_passages("\n  짧은 메모.  \n") == [(3, 9)]


def test_a_heading_ends_the_passage_before_it() -> None:
    first = "# 결제\n" + KOREAN * 14
    second = "\n# 배포\n" + KOREAN * 14

    before, after = split_passages(first + second)

    assert (first + second)[before.start : before.end] == first.strip()
    assert (first + second)[after.start : after.end] == second.strip()


def test_a_code_fence_that_fits_stays_whole_and_its_comments_are_no_headings() -> None:
    fence = "```python\n" + "# 한 줄 주석\n\nretry(key=same)\n" * 14 + "```"
    content = KOREAN * 14 + "\n\n" + fence + "\n\n" + ENGLISH * 10

    pieces = [content[start:end] for start, end in split_passages(content)]

    assert len(pieces) > 1
    assert any(fence in piece for piece in pieces)


@pytest.mark.parametrize("sentence", [KOREAN, ENGLISH, "정말 그렇게 배포했어요? "])
def test_a_paragraph_is_cut_between_sentences(sentence: str) -> None:
    content = sentence * 80

    passages = split_passages(content)

    assert len(passages) > 1
    assert {content[start:end][-1] for start, end in passages} == {sentence.strip()[-1]}
    assert {content[start:end].split()[0] for start, end in passages} == {sentence.split()[0]}


def test_a_list_is_cut_between_items() -> None:
    content = "".join(f"- 항목 {number}: 멱등 키는 구독과\n  청구 기간으로 정한다\n" for number in range(80))

    passages = split_passages(content)

    assert len(passages) > 1
    assert all(content[start : start + 2] == "- " for start, _ in passages)


def test_a_title_takes_room_from_the_first_passage_on() -> None:
    content = ENGLISH * 60
    title = "Idempotency keys " * 6

    longest = max(estimate_tokens(passage_text(content, span, title)) for span in split_passages(content, title))

    # One token for the line feed between title and text.
    assert longest <= PASSAGE_TOKENS + 1
    assert len(split_passages(content, title)) >= len(split_passages(content))


def test_the_title_goes_before_the_text_unless_the_text_begins_with_it() -> None:
    content = "# 결제 설계\n멱등 키를 쓴다.\n\n배포는 금요일에 금지한다."

    assert passage_text(content, (0, 17), "결제 설계") == "# 결제 설계\n멱등 키를 쓴다."
    assert passage_text(content, (19, 33), "결제 설계") == "결제 설계\n배포는 금요일에 금지한다."
    assert passage_text(content, (19, 33)) == "배포는 금요일에 금지한다."


def test_a_long_title_is_cut_and_put_on_one_line() -> None:
    text = passage_text("본문", (0, 2), "긴\n제목 " * 100)

    context, body = text.split("\n")
    assert context.startswith("긴 제목 긴 제목")
    assert len(context) <= TITLE_CHARACTERS
    assert body == "본문"


def test_a_giant_line_is_cut_in_linear_time() -> None:
    passages = split_passages("가나다라마바사" * 20_000)

    # 140,000 syllables; PASSAGE_TOKENS at .74 tokens a syllable hold fewer than 550 of them.
    assert len(passages) > 140_000 // 550
    assert passages[-1].end == 140_000
