"""What gieok itself gave an agent to read, so that it is not indexed again from the agent's transcript.

Whatever we inject into a conversation stands between these two markers.
"""

from __future__ import annotations

from pipeline.sources.tags import Tag

OWN_OPEN = "<gieok-memory>"
OWN_CLOSE = "</gieok-memory>"

_OWN = Tag("gieok-memory")


def unmark_own(text: str) -> str:
    """`text` in which nothing reads as one of our markers: what stands between two of them can't end them."""
    return _OWN.unmark(text, "(gieok-memory)")


def cut_own(text: str, *, unclosed_to_end: bool = True) -> tuple[str, int]:
    """`text` without our own output, and how many pieces of it there were.

    An unclosed marker reaches to the end: a host may have cut our output short. In a note, which nobody cuts, it is a
    word like others (not `unclosed_to_end`).
    """
    return _OWN.cut(text, drop_before_stray=False, unclosed_to_end=unclosed_to_end)
