"""From a found file to drafts."""

from __future__ import annotations

import hashlib
import os
import re
import stat
from collections import Counter
from collections.abc import Mapping
from dataclasses import fields, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from indexes.errors import SourceError
from pipeline.sources.base import Draft, Reading, SourceText
from pipeline.sources.credentials import secret_under
from pipeline.sources.decode import decode, decode_head
from pipeline.sources.redact import REDACTION_VERSION, mask
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


def fingerprint(data: bytes, label: str, *, redact: bool) -> str:
    """What a file's drafts depend on, as hex SHA-256: its bytes, its reader, and what masks its secrets."""
    reader = reader_for(label, decode_head(data))
    masks = REDACTION_VERSION if redact else 0
    digest = hashlib.sha256(f"{reader.name}\0{reader.version}\0{masks}\0".encode())
    digest.update(data)
    return digest.hexdigest()


def parse(data: bytes, found: Found, *, redact: bool) -> Reading:
    """The drafts in `data`, the bytes of `found`, without those that say nothing; SourceError if it is no text.

    With `redact` secrets are masked in all that is stored of them, and a notice says how many.
    """
    decoded = decode(data)
    try:
        modified = datetime.fromtimestamp(found.path.stat().st_mtime, UTC)
    except (OSError, ValueError, OverflowError):
        modified = datetime.now(UTC)  # gone since it was read, or a date that no calendar has
    reader = reader_for(found.label, decode_head(data))
    masks = Masks(redact)
    # Before the reader cuts anything, since half a secret has no form; and after it, since escapes are resolved then.
    reading = reader.read(SourceText(masks.text(decoded.text), found.label, modified))
    drafts = [_sound(draft, masks) for draft in reading.drafts if draft.content.strip()]
    notices = [masks.text(notice) for notice in (*decoded.notices, *reading.notices)]
    return Reading(drafts, [*notices, *masks.notices()])


class Masks:
    """Makes text fit for the store: without lone surrogates, and without secrets, which it counts."""

    def __init__(self, redact: bool) -> None:
        self._redact = redact
        self._counts: Counter[str] = Counter()

    def text(self, text: str, name: str = "") -> str:
        """`text` as it may be stored. `name` is the key that it stands under, which may tell that it is a password."""
        text = _SURROGATE.sub("\ufffd", text)
        if not self._redact:
            return text
        kind = secret_under(name, text) if name else None
        if kind is not None:
            self._counts[kind] += 1
            return f"[redacted:{kind}]"
        text, counts = mask(text)
        self._counts += counts
        return text

    def notices(self) -> list[str]:
        """What was masked, if anything was."""
        total = self._counts.total()
        kinds = ", ".join(f"{kind} {count}" for kind, count in sorted(self._counts.items()))
        return [f"{total} {'secret' if total == 1 else 'secrets'} masked ({kinds})"] if total else []


_PLACES = frozenset({"place", "namespace", "parent"})
"""What ids are made of: it is hashed and never stored, and must stay what it is."""


def _sound(draft: Draft, masks: Masks) -> Draft:
    """As it may be stored. JSON and YAML escapes can make lone surrogates, which nothing can store."""
    plain = Masks(False)
    return replace(
        draft,
        **{
            field.name: _each(getattr(draft, field.name), plain if field.name in _PLACES else masks)
            for field in fields(draft)
        },
    )


def _each(value: Any, masks: Masks, name: str = "") -> Any:
    match value:
        case str():
            return masks.text(value, name)
        case tuple():
            return tuple(_each(item, masks, name) for item in value)
        case list():
            return [_each(item, masks, name) for item in value]
        case Mapping():
            return {masks.text(key): _each(item, masks, key) for key, item in value.items()}
    return value
