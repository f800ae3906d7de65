"""From a found file to drafts."""

from __future__ import annotations

import hashlib
import os
import stat
from datetime import UTC, datetime
from pathlib import Path

from indexes.errors import SourceError
from pipeline.sources.base import Reading, SourceText
from pipeline.sources.decode import decode, decode_head
from pipeline.sources.registry import reader_for
from pipeline.sources.walker import Found, too_large


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
    drafts = [draft for draft in reading.drafts if draft.content.strip()]
    return Reading(drafts, (*decoded.notices, *reading.notices))
