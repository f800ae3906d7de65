"""From a found file to drafts."""

from __future__ import annotations

import hashlib
import os
import re
import stat
from collections.abc import Mapping
from dataclasses import fields, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from indexes.errors import SourceError
from pipeline.sources.base import Draft, Reading, SourceText
from pipeline.sources.decode import decode, decode_head
from pipeline.sources.registry import reader_for
from pipeline.sources.walker import Found, too_large

_SURROGATE = re.compile("[\ud800-\udfff]")


def load(path: Path, *, max_bytes: int) -> bytes:
    """The bytes of a regular file of at most `max_bytes`; SourceError otherwise.

    The file may have changed since it was found: a link that took its place is not followed, a pipe not waited for.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        try:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode):
                raise SourceError("is no longer a file; index it again")
            with os.fdopen(descriptor, "rb", closefd=False) as file:
                data = file.read(max_bytes + 1)
        finally:
            os.close(descriptor)
    except OSError as error:
        raise SourceError(f"can't be read ({error.strerror or type(error).__name__})") from None
    if len(data) > max_bytes:
        raise SourceError(too_large(max(status.st_size, len(data)), max_bytes))
    return data


def fingerprint(data: bytes, label: str) -> str:
    """What a file's drafts depend on, as hex SHA-256: its bytes, and the reader (with version) that takes it."""
    reader = reader_for(label, decode_head(data))
    digest = hashlib.sha256(f"{reader.name}\0{reader.version}\0".encode())
    digest.update(data)
    return digest.hexdigest()


def parse(data: bytes, found: Found) -> Reading:
    """The drafts in `data`, the bytes of `found`, without those that say nothing; SourceError if it is no text."""
    decoded = decode(data)
    try:
        modified = datetime.fromtimestamp(found.path.stat().st_mtime, UTC)
    except (OSError, ValueError, OverflowError):
        modified = datetime.now(UTC)  # gone since it was read, or a date that no calendar has
    reader = reader_for(found.label, decode_head(data))
    reading = reader.read(SourceText(decoded.text, found.label, modified))
    drafts = [_sound(draft) for draft in reading.drafts if draft.content.strip()]
    return Reading(drafts, [_text(notice) for notice in (*decoded.notices, *reading.notices)])


def _sound(draft: Draft) -> Draft:
    """Without lone surrogates, which JSON and YAML escapes can make and nothing can store."""
    return replace(draft, **{field.name: _text(getattr(draft, field.name)) for field in fields(draft)})


def _text(value: Any) -> Any:
    match value:
        case str():
            return _SURROGATE.sub("\ufffd", value)
        case tuple():
            return tuple(_text(item) for item in value)
        case list():
            return [_text(item) for item in value]
        case Mapping():
            return {_text(name): _text(item) for name, item in value.items()}
    return value
