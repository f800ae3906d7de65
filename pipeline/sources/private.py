"""`<private>…</private>`: what its writer wants nowhere but in the file.

It fails closed: an unclosed tag hides everything to the end of the text it stands in (a file, or one message of a
transcript), and a closing tag without an opening one hides everything from the start of that text.
"""

from __future__ import annotations

from pipeline.sources.tags import Tag

_PRIVATE = Tag("private")


def cut_private(text: str) -> tuple[str, int]:
    """`text` without its private parts, and how many there were."""
    return _PRIVATE.cut(text, drop_before_stray=True)
