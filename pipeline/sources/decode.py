"""Bytes to text: UTF-8 first, UTF-16 and UTF-32 by their mark, Korean CP949 where it fits; in NFC."""

from __future__ import annotations

import codecs
import re
import unicodedata
from dataclasses import dataclass

from indexes.errors import SourceError

BINARY_PROBE = 8_000
"""Bytes at the start in which a NUL means "binary": git's own bound and rule."""

HEAD_BYTES = 16_384
"""Enough for the 4,096 characters that readers are chosen by, at up to 4 bytes each."""

_MARKS = (  # UTF-32 first: its little-endian mark begins with that of UTF-16
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_ESCAPED = re.compile("[\udc80-\udcff]+")

HANGUL_SHARE = 0.8
"""Of the letters beyond ASCII, the part that must be Hangul for bytes to pass as CP949. Korean prose has nearly 1;
Chinese in GBK, read as CP949, has about .6, as half of its code points fall on Hanja."""

INVALID_SHARE = 0.25
"""Of all bytes, the part beyond which they are no damaged UTF-8. French in Latin-1 has about .04, Japanese in
Shift-JIS more than half."""


@dataclass(frozen=True, slots=True)
class Decoded:
    """Text in NFC with line feeds as its only line ends, and a notice for whatever was guessed or lost."""

    text: str
    notices: tuple[str, ...] = ()


def decode(data: bytes) -> Decoded:
    """The text that `data` holds; SourceError if it holds none."""
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            try:
                return Decoded(_normalise(data.decode(encoding)))
            except UnicodeDecodeError as error:
                raise SourceError(
                    f"begins as {encoding.upper()} but is not ({error.reason}); save it as UTF-8"
                ) from None
    # A file that was being written when the power went often ends in a block of NULs.
    body = data.rstrip(b"\0")
    if data and not body:
        raise SourceError("holds nothing but NUL bytes: the file is damaged; what is stored of it stays")
    if b"\0" in body[:BINARY_PROBE]:
        raise SourceError("is binary (it holds NUL bytes); only text is indexed, as UTF-8, UTF-16 with BOM or CP949")
    nuls = len(data) - len(body) + body.count(b"\0")
    text, notices = _decode_bytes(body.replace(b"\0", b"").removeprefix(codecs.BOM_UTF8))
    if nuls:
        notices = (*notices, f"{nuls:,} NUL bytes were left out")
    return Decoded(_normalise(text), notices)


def decode_head(data: bytes) -> str:
    """The first 4,096 characters or less, whatever their encoding: never fails. What readers are chosen by."""
    head = data[:HEAD_BYTES]
    for mark, encoding in _MARKS:
        if head.startswith(mark):
            return _normalise(head.decode(encoding, "ignore"))[:4_096]
    return _normalise(head.removeprefix(codecs.BOM_UTF8).decode("utf-8", "ignore"))[:4_096]


def _decode_bytes(body: bytes) -> tuple[str, tuple[str, ...]]:
    try:
        return body.decode("utf-8"), ()
    except UnicodeDecodeError:
        pass
    try:
        text = body.decode("cp949")
    except UnicodeDecodeError:
        pass
    else:
        if _is_korean(text):
            return text, ("was read as CP949/EUC-KR; save it as UTF-8 to be sure of every character",)
    text = body.decode("utf-8", "surrogateescape")
    invalid = sum(len(run) for run in _ESCAPED.findall(text))
    if invalid > INVALID_SHARE * len(body):
        raise SourceError("is no text in UTF-8, UTF-16 with BOM or CP949; save it as UTF-8 to index it")
    return _ESCAPED.sub("\ufffd", text), (f"{invalid:,} bytes are not valid UTF-8 and were replaced by \ufffd",)


def _is_korean(text: str) -> bool:
    """Whether text decoded as CP949 reads as Korean: its letters beyond ASCII are nearly all Hangul."""
    letters = [letter for letter in text if ord(letter) > 127 and letter.isalpha()]
    hangul = sum("가" <= letter <= "힣" or "ㄱ" <= letter <= "ㆎ" for letter in letters)
    return bool(letters) and hangul >= HANGUL_SHARE * len(letters)


def _normalise(text: str) -> str:
    return unicodedata.normalize("NFC", text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n"))
