from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from indexes.errors import UsageError
from pipeline.plaintext import blocks, clean, cut, flatten

HOSTILE = "\x1b[31m빨강\x1b[0m \x1b]8;;http://evil\x07link\x1b]8;;\x07 \x9b2J \u202eabc\u202c bell\x07 null\x00 end"


def test_cutting_keeps_whole_words_inside_the_limit() -> None:
    assert cut("하나 둘 셋", 5) == "하나 둘…"
    assert cut("하나 둘 셋", 6) == "하나 둘 셋"
    assert cut("가나다라마바", 4) == "가나다…"  # one long word has to be cut
    assert cut("foo, bar", 7) == "foo…"
    with pytest.raises(UsageError, match="0 characters"):
        cut("", 0)


def test_escape_codes_leave_with_what_belongs_to_them() -> None:
    assert clean(HOSTILE) == "빨강 link  abc bell null end"
    assert clean("a\r\nb\rc\u2028d\te") == "a\nb\nc\nd\te"
    assert clean("a\U000e0068\U000e0069b") == "ab"  # text in invisible tag letters
    assert clean("\ud800x") == "\ufffdx"


@given(st.text())
def test_cleaning_twice_is_cleaning_once(text: str) -> None:
    once = clean(text)
    assert clean(once) == once
    assert not [letter for letter in once if unicodedata.category(letter) in ("Cc", "Cs") and letter not in "\n\t"]


def test_flags_of_tag_letters_stay() -> None:
    scotland = "🏴\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f"
    assert clean(scotland) == scotland
    assert clean("🏴" + "\U000e0061" * 40) == "🏴"


def test_blocks_are_the_pieces_of_a_text_in_order() -> None:
    text = "# 제목\n\n첫 줄\n둘째 줄\n\n- 항목 **굵게**\n\n```py\nx = 1\n```\n"
    assert list(blocks(text)) == [
        ("heading", "제목"),
        ("text", "첫 줄\n둘째 줄"),
        ("text", "항목 굵게"),
        ("code", "[py code]"),
    ]
    assert list(blocks(text, keep_code=True))[-1] == ("code", "x = 1")
    assert flatten(blocks(text)) == "제목: 첫 줄 둘째 줄 항목 굵게 [py code]"
    assert flatten(blocks(text), enough=3) == "제목: 첫 줄 둘째 줄"
