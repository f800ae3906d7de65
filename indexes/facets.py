"""Facets as 64-bit keys, the form in which both indexes hold them."""

from __future__ import annotations

import unicodedata
from functools import lru_cache
from hashlib import blake2b


@lru_cache(maxsize=65_536)
def facet_key(facet: str) -> int:
    """An unsigned 64-bit key for a facet such as `session=2026-01-30`; equal for its NFC and NFD forms."""
    text = unicodedata.normalize("NFC", facet)
    return int.from_bytes(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")
