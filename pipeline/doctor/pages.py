"""Records of an SQLite file, page by page, without SQLite: what is left when its trees can't be walked any more.

Each leaf page of a table, and each page of an index, carries its records by itself; only long ones continue on chained
pages. So a damaged page costs what stood on it and nothing else. The format is that of https://sqlite.org/fileformat2.html.
"""

from __future__ import annotations

import mmap
import os
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

Value: TypeAlias = "int | float | str | bytes | None"
MAGIC = b"SQLite format 3\0"
TABLE_LEAF, INDEX_LEAF, INDEX_INTERIOR = 0x0D, 0x0A, 0x02
DEFAULT_PAGE = 4096
_HEADER = 100
_LONGEST = 1 << 30


@dataclass(frozen=True, slots=True)
class Record:
    """A row of a table (`rowid` is set) or an entry of an index. Text that is no UTF-8 has U+FFFD in it."""

    rowid: int | None
    values: tuple[Value, ...]


class Unreadable(Exception):  # noqa: N818 - no error of the program: a state of the file
    """These bytes are no record."""


class Pages:
    """The pages of a file with what its log committed on top. The file is only read."""

    def __init__(self, path: Path) -> None:
        """Raises OSError. A file whose header is damaged is taken to have pages of the usual size."""
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            self._data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) if size else b""
        log = path.with_name(path.name + "-wal")
        newer, page_size = _committed(log.read_bytes() if log.exists() else b"")
        self._newer = newer
        first = newer.get(1, self._data[:_HEADER])
        self.header_sound = first[:16] == MAGIC and _page_size(first) is not None
        self.size = page_size or (_page_size(first) if self.header_sound else None) or DEFAULT_PAGE
        reserved = first[20] if self.header_sound and len(first) > 20 else 0
        self._usable = self.size - reserved
        self.count = max(len(self._data) // self.size, max(newer, default=0))
        self.damaged = 0
        """Pages of records of which something could not be read, as far as `records` has come."""

    def page(self, number: int) -> bytes:
        """One page, numbered from 1; shorter, or empty, where the file ends."""
        if number in self._newer:
            return self._newer[number]
        return self._data[(number - 1) * self.size : number * self.size]

    def free(self) -> set[int]:
        """Pages that hold nothing any more; what stands on them was deleted."""
        found: set[int] = set()
        first = self.page(1)
        trunk = struct.unpack(">I", first[32:36])[0] if self.header_sound and len(first) >= 36 else 0
        while trunk and trunk not in found and trunk <= self.count:
            found.add(trunk)
            page = self.page(trunk)
            if len(page) < 8:
                break
            trunk, many = struct.unpack(">II", page[:8])
            many = min(many, (len(page) - 8) // 4)
            found.update(struct.unpack(f">{many}I", page[8 : 8 + 4 * many]))
        return found

    def records(self) -> Iterator[Record]:
        """All records that can be read, but those on free pages."""
        free = self.free()
        for number in range(1, self.count + 1):
            if number not in free:
                yield from self._records_on(number)

    def _records_on(self, number: int) -> Iterator[Record]:
        page = self.page(number)
        start = _HEADER if number == 1 else 0
        if len(page) < self.size or page[start] not in (TABLE_LEAF, INDEX_LEAF, INDEX_INTERIOR):
            return
        kind = page[start]
        head = start + (12 if kind == INDEX_INTERIOR else 8)
        many = struct.unpack(">H", page[start + 3 : start + 5])[0]
        whole = head + 2 * many <= self._usable
        many = min(many, (self._usable - head) // 2)
        for at in struct.unpack(f">{many}H", page[head : head + 2 * many]):
            try:
                yield self._cell(page, at, kind)
            except Unreadable:
                whole = False
        self.damaged += not whole

    def _cell(self, page: bytes, at: int, kind: int) -> Record:
        at += 4 if kind == INDEX_INTERIOR else 0
        length, at = _varint(page, at)
        rowid = None
        if kind == TABLE_LEAF:
            rowid, at = _varint(page, at)
            if rowid >= 1 << 63:
                raise Unreadable
        if not 0 < length <= _LONGEST:
            raise Unreadable
        return Record(rowid, _values(self._payload(page, at, length, kind)))

    def _payload(self, page: bytes, at: int, length: int, kind: int) -> bytes:
        usable = self._usable
        most = usable - 35 if kind == TABLE_LEAF else (usable - 12) * 64 // 255 - 23
        if length <= most:
            local = length
        else:
            least = (usable - 12) * 32 // 255 - 23
            local = least + (length - least) % (usable - 4)
            local = local if local <= most else least
        parts = [page[at : at + local]]
        if len(parts[0]) < local:
            raise Unreadable
        left, at, seen = length - local, at + local, set[int]()
        if left:
            if at + 4 > len(page):
                raise Unreadable
            following = struct.unpack(">I", page[at : at + 4])[0]
        while left:
            more = self.page(following) if 0 < following <= self.count and following not in seen else b""
            if len(more) < self.size:
                raise Unreadable
            seen.add(following)
            parts.append(more[4 : 4 + min(left, usable - 4)])
            left -= len(parts[-1])
            following = struct.unpack(">I", more[:4])[0]
        return b"".join(parts)


def _page_size(header: bytes) -> int | None:
    size: int = struct.unpack(">H", header[16:18])[0] if len(header) >= 18 else 0
    size = 65_536 if size == 1 else size
    return size if size >= 512 and size & (size - 1) == 0 else None


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = 0
    for step in range(9):
        if at >= len(data):
            raise Unreadable
        byte = data[at]
        at += 1
        if step == 8:
            return value << 8 | byte, at
        value = value << 7 | byte & 0x7F
        if byte < 0x80:
            return value, at
    raise Unreadable


_INTEGERS = {1: 1, 2: 2, 3: 3, 4: 4, 5: 6, 6: 8}


def _values(payload: bytes) -> tuple[Value, ...]:
    size, at = _varint(payload, 0)
    if not at <= size <= len(payload):
        raise Unreadable
    kinds = []
    while at < size:
        kind, at = _varint(payload, at)
        kinds.append(kind)
    values = []
    for kind in kinds:
        value, at = _value(payload, at, kind)
        values.append(value)
    if at != len(payload):
        raise Unreadable
    return tuple(values)


def _value(payload: bytes, at: int, kind: int) -> tuple[Value, int]:
    if kind in (0, 8, 9):
        return {0: None, 8: 0, 9: 1}[kind], at
    if kind in (10, 11):
        raise Unreadable
    size = _INTEGERS.get(kind) or (8 if kind == 7 else (kind - 12) // 2)
    raw = payload[at : at + size]
    if len(raw) < size:
        raise Unreadable
    at += size
    if kind in _INTEGERS:
        return int.from_bytes(raw, "big", signed=True), at
    if kind == 7:
        return struct.unpack(">d", raw)[0], at
    return (raw.decode("utf-8", "replace") if kind % 2 else raw), at


def _committed(log: bytes) -> tuple[Mapping[int, bytes], int | None]:
    """The last committed version of each page in a write-ahead log, and the size of its pages."""
    if len(log) < 32:
        return {}, None
    magic, _, size, _, *salts = struct.unpack(">IIIIII", log[:24])
    if magic not in (0x377F0682, 0x377F0683) or size < 512 or size > 65_536 or size & (size - 1):
        return {}, None
    order = ">" if magic & 1 else "<"
    sums = _checksum(log[:24], (0, 0), order)
    if sums != struct.unpack(">II", log[24:32]):
        return {}, None
    committed: dict[int, bytes] = {}
    waiting: dict[int, bytes] = {}
    for at in range(32, len(log) - size - 23, size + 24):
        number, commits, *frame_salts = struct.unpack(">IIII", log[at : at + 16])
        page = log[at + 24 : at + 24 + size]
        sums = _checksum(page, _checksum(log[at : at + 8], sums, order), order)
        if frame_salts != salts or sums != struct.unpack(">II", log[at + 16 : at + 24]) or not number:
            break
        waiting[number] = page
        if commits:
            committed.update(waiting)
            waiting = {}
    return committed, size


def _checksum(data: bytes, sums: tuple[int, int], order: str) -> tuple[int, int]:
    first, second = sums
    words = struct.unpack(f"{order}{len(data) // 4}I", data)
    for even, odd in zip(words[::2], words[1::2], strict=True):
        first = (first + even + second) & 0xFFFFFFFF
        second = (second + odd + first) & 0xFFFFFFFF
    return first, second
