"""Bytes of every encoding people still have, and bytes that are no text."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from indexes.errors import SourceError
from pipeline.sources.decode import BINARY_PROBE, decode, decode_head

KOREAN = "배포는 금요일에 금지한다. 회의록 2026-01-30\n"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
def test_unicode_with_or_without_a_mark(encoding: str) -> None:
    decoded = decode(KOREAN.encode(encoding))
    assert (decoded.text, decoded.notices) == (KOREAN, ())
    assert decode_head(KOREAN.encode(encoding)) == KOREAN


@pytest.mark.parametrize("mark", [b"\xfe\xff", b"\xff\xfe"])
def test_utf_16_of_both_orders(mark: bytes) -> None:
    encoding = "utf-16-be" if mark == b"\xfe\xff" else "utf-16-le"
    assert decode(mark + KOREAN.encode(encoding)).text == KOREAN


@pytest.mark.parametrize("encoding", ["cp949", "euc_kr"])
def test_korean_legacy_encodings_are_recognised_and_said(encoding: str) -> None:
    decoded = decode(KOREAN.encode(encoding))
    assert decoded.text == KOREAN
    assert "CP949" in decoded.notices[0]


def test_syllables_that_only_cp949_has() -> None:
    assert decode("똠방각하는 펲시콜라를 마신다".encode("cp949")).text == "똠방각하는 펲시콜라를 마신다"


def test_other_encodings_do_not_pass_as_korean() -> None:
    french = "Le café très serré, déjà prêt à être servi, coûte très peu".encode("latin-1")
    decoded = decode(french)
    assert "caf\ufffd" in decoded.text
    assert decoded.notices == ("10 bytes are not valid UTF-8 and were replaced by \ufffd",)
    with pytest.raises(SourceError, match="no text in UTF-8"):
        decode("今天的会议决定了新的部署计划和数据库设计".encode("gbk"))
    with pytest.raises(SourceError, match="no text in UTF-8"):
        decode("データベースの設計を話し合った会議".encode("shift_jis"))


def test_damaged_utf_8_is_kept_and_counted() -> None:
    decoded = decode("데이터베이스 설계".encode() + b"\xff\xfe" + "끝".encode())
    assert decoded.text == "데이터베이스 설계\ufffd끝"
    assert decoded.notices == ("2 bytes are not valid UTF-8 and were replaced by \ufffd",)


def test_binary_is_refused() -> None:
    with pytest.raises(SourceError, match="binary"):
        decode(b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR")
    with pytest.raises(SourceError, match="UTF-16 but is not"):
        decode(b"\xff\xfe\x00\xd8")  # half a surrogate pair


def test_nuls_after_a_power_cut_are_left_out() -> None:
    decoded = decode(b"first\nsecond\n" + b"\0" * 4_096)
    assert (decoded.text, decoded.notices) == ("first\nsecond\n", ("4,096 NUL bytes were left out",))
    late = b"x" * BINARY_PROBE + b"\0y"
    assert decode(late).text == "x" * BINARY_PROBE + "y"


def test_line_ends_and_form() -> None:
    assert decode(b"a\r\nb\rc\n").text == "a\nb\nc\n"
    assert decode(unicodedata.normalize("NFD", "한글").encode()).text == "한글"


@given(st.binary(max_size=200))
def test_total_and_clean(data: bytes) -> None:
    decode_head(data)
    try:
        text = decode(data).text
    except SourceError:
        return
    assert text == unicodedata.normalize("NFC", text)
    assert "\r" not in text
    assert text.encode("utf-8") or not text


@given(st.text(max_size=100))
def test_utf_8_comes_back(text: str) -> None:
    plain = text.replace("\0", "").replace("\r", "").removeprefix("\ufeff")
    assert decode(plain.encode()).text == unicodedata.normalize("NFC", plain)
