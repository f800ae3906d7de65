"""What gieok itself gave an agent to read, so that it is not indexed again from the agent's transcript.

Whatever we inject into a conversation stands between these two markers.
"""

from __future__ import annotations

from pipeline.sources.tags import Tag

OWN_OPEN = "<gieok-memory>"
OWN_CLOSE = "</gieok-memory>"

_OWN = Tag("gieok-memory")


def cut_own(text: str) -> tuple[str, int]:
    """`text` without our own output, and how many pieces of it there were. An unclosed marker reaches to the end."""
    return _OWN.cut(text, drop_before_stray=False)
