"""Looks for what was forgotten in every file of a home, as raw bytes.

A text is cut into pieces of 24 bytes in each encoding in which it could lie somewhere, and every file is searched for
every piece at every offset. So any remainder of 48 bytes is found wherever it begins. What living memories hold, too,
is no residue.
"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from indexes.types import Floats
from pipeline.forget.results import Residue

PIECE = 24
"""Bytes: eight syllables or 24 letters, which two texts rarely share by chance."""
HEAD = 8
"""Bytes by which a piece is found; a text with fewer in UTF-8 can't be told from chance and is not looked for."""
_CHUNK = 1 << 25
_TABLE_BITS = 22
_MIXER = np.uint64(0x9E3779B97F4A7C15)

Kind: TypeAlias = Literal["text", "a vector"]
Pieces: TypeAlias = dict[bytes, Kind]
"""Each piece, and what it is of."""


def text_pieces(text: str) -> Pieces:
    """The pieces of a text in UTF-8 and UTF-16, composed and decomposed, and as JSON escapes it."""
    found: Pieces = {}
    for form in {unicodedata.normalize("NFC", text), unicodedata.normalize("NFD", text), text}:
        for data in (
            form.encode("utf-8", "replace"),
            form.encode("utf-16-le", "replace"),
            json.dumps(form)[1:-1].encode(),
        ):
            found |= dict.fromkeys(_cut(data), "text")
    return found


def _cut(data: bytes) -> Iterator[bytes]:
    """Pieces side by side; a rest that is too short to be one overlaps with the one before it."""
    for start in range(0, len(data), PIECE):
        piece = data[start : start + PIECE] if start == 0 else data[min(start, len(data) - PIECE) :][:PIECE]
        if len(piece) >= HEAD:
            yield piece


def vector_pieces(vectors: Floats) -> Pieces:
    """The beginning of each vector of a memory."""
    return {row.astype("<f4").tobytes()[:PIECE]: "a vector" for row in vectors}


def scan(home: Path, pieces: Pieces, is_alive: Callable[[bytes, Kind], bool]) -> Iterator[Residue]:
    """Every place in a file below `home` that holds one of the pieces, unless living memories hold it, too.

    Raises OSError for a file that can't be read: what was not looked at is not clean.
    """
    if not pieces:
        return
    by_head: dict[bytes, list[bytes]] = {}
    for piece in pieces:
        by_head.setdefault(piece[:HEAD], []).append(piece)
    heads = np.frombuffer(b"".join(by_head), "<u8")
    table = np.zeros(1 << _TABLE_BITS, np.bool_)
    table[_slot(heads)] = True
    known: dict[bytes, bool] = {}
    for path in sorted(home.rglob("*")):
        if not path.is_file() or path.is_symlink():
            continue
        for offset, piece in _found(path, table, by_head):
            if piece not in known:
                known[piece] = is_alive(piece, pieces[piece])
            if not known[piece]:
                yield Residue(path=str(path.relative_to(home)), offset=offset, what=pieces[piece])


def _slot(words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    return (words * _MIXER) >> np.uint64(64 - _TABLE_BITS)


def _found(path: Path, table: NDArray[np.bool_], by_head: dict[bytes, list[bytes]]) -> Iterator[tuple[int, bytes]]:
    with path.open("rb") as file:
        start, data = 0, file.read(_CHUNK)
        while len(data) >= HEAD:
            for shift in range(HEAD):
                words = np.frombuffer(data, "<u8", (len(data) - shift) // HEAD, shift)
                for place in np.flatnonzero(table[_slot(words)]):
                    at = shift + int(place) * HEAD
                    for piece in by_head.get(data[at : at + HEAD], ()):
                        if data.startswith(piece, at):
                            yield start + at, piece
            fresh = file.read(_CHUNK)
            if not fresh:
                return
            start += len(data) - PIECE + 1
            data = data[len(data) - PIECE + 1 :] + fresh
