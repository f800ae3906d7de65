"""The Markdown mirror of claude-memory-layer: `## <timestamp> | <id>` blocks, one for each event it stored."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from indexes.types import MemoryType
from pipeline.sources.base import Draft, Reading, SourceText
from pipeline.sources.cleaning import Cleaner
from pipeline.sources.dates import parse_moment
from pipeline.sources.markdown import SUFFIXES
from pipeline.sources.sections import split_sections

_BLOCK = re.compile(
    r"^## (?P<time>\d{4}-\d{2}-\d{2}T[\d:.]+Z?) \| (?P<id>\S+)\n"
    r"- type: (?P<type>[^\n]*)\n- session: (?P<session>[^\n]*)(?:\n|\Z)",
    re.MULTILINE,
)
_TYPES: dict[str, MemoryType] = {
    "user_prompt": "prompt",
    "agent_response": "response",
    "tool_observation": "tool",
    "session_summary": "insight",
}
PENDING = "pending-id"
"""What the mirror writes for an event that had no id yet: no identity, as many events share it."""


class MirrorReader:
    """See `docs/formats.md`."""

    name = "claude-memory-layer-mirror"
    version = 1

    def accepts(self, label: str, head: str) -> bool:
        """Whether a Markdown file holds such a block near its top."""
        return label.lower().endswith(SUFFIXES) and _BLOCK.search(head) is not None

    def read(self, source: SourceText) -> Reading:
        """A draft for each block, or each section of a long one; what stands above the first is read as a note."""
        cleaner = Cleaner()
        headers = list(_BLOCK.finditer(source.text))
        starts = [*(header.start() for header in headers), len(source.text)]
        drafts = list(_above(cleaner.text(source.text[: starts[0]]), source))
        seen: Counter[str] = Counter()
        repeated = 0
        for header, end in zip(headers, starts[1:], strict=True):
            identity = cleaner.text(header["id"])
            name = header["time"] if identity == PENDING else identity
            seen[name] += 1
            if seen[name] > 1 and identity != PENDING:
                repeated += 1
                continue
            kind = cleaner.text(header["type"]).strip()
            session = cleaner.text(header["session"]).strip() or source.label
            for piece in split_sections(cleaner.text(source.text[header.end() : end])):
                prefix = f"{name}#{seen[name]}/"
                drafts.append(
                    Draft(
                        place=prefix + piece.place,
                        content=piece.content,
                        type=_TYPES.get(kind, "insight"),
                        timestamp=parse_moment(header["time"]) or source.modified,
                        session_id=session,
                        namespace=None if identity == PENDING else f"claude-memory-layer:{identity}",
                        parent=None if piece.parent is None else prefix + piece.parent,
                        title=piece.title(),
                        metadata={"event_type": kind, "event_id": identity},
                    )
                )
        notices = [f"{repeated} blocks repeat the id of an earlier one and were left out"] if repeated else []
        return Reading(drafts, (*notices, *cleaner.notices()))


def _above(text: str, source: SourceText) -> Iterator[Draft]:
    """What people wrote above the first block."""
    for piece in split_sections(text):
        yield Draft(
            place=f"above/{piece.place}",
            content=piece.content,
            type="insight",
            timestamp=source.modified,
            session_id=source.label,
            parent=None if piece.parent is None else f"above/{piece.parent}",
            title=piece.title(),
        )
