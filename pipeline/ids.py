"""Ids that depend on where a memory comes from, never on when it was indexed."""

from __future__ import annotations

import base64
import hashlib

from indexes.store import ID_PREFIX
from pipeline.sources.base import Draft

LENGTH = 12
"""Characters after the prefix: 60 bits, so that among a million memories two share an id with probability 4e-7."""


def memory_id(namespace: str, place: str) -> str:
    """The id of the memory at `place` in `namespace` (a source's key, or an identity of the memory's own)."""
    digest = hashlib.sha256(f"{namespace}\0{place}".encode()).digest()
    return ID_PREFIX + base64.b32encode(digest).decode("ascii").lower()[:LENGTH]


def draft_id(draft: Draft, key: str) -> str:
    """The id of a draft from the source with this key."""
    return memory_id(draft.namespace if draft.namespace is not None else key, draft.place)
