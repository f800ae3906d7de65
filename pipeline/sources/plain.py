"""Plain text: parts of a few paragraphs."""

from __future__ import annotations

import hashlib
from collections import Counter
from pathlib import PurePosixPath

from pipeline.sources.base import Draft, Reading, SourceText
from pipeline.sources.blocks import split_paragraphs
from pipeline.sources.cleaning import Cleaner
from pipeline.sources.cutting import cut_blocks
from pipeline.sources.dates import date_in_name


class PlainReader:
    """See `docs/formats.md`."""

    name = "plain"
    version = 2

    def accepts(self, label: str, head: str) -> bool:
        """Always: any text is plain text."""
        return True

    def read(self, source: SourceText) -> Reading:
        """A draft for each part. It is known by its first line, so that it stays the same when others change."""
        cleaner = Cleaner(by_hand=True)
        moment = date_in_name(source.label) or source.modified
        name = PurePosixPath(source.label).name
        seen: Counter[str] = Counter()
        drafts = []
        for number, content in enumerate(cut_blocks(split_paragraphs(cleaner.text(source.text)), even=False), start=1):
            key = hashlib.sha256(content.split("\n", 1)[0].encode()).hexdigest()[:16]
            seen[key] += 1
            drafts.append(
                Draft(
                    place=f"{key}#{seen[key]}",
                    content=content,
                    type="insight",
                    timestamp=moment,
                    session_id=source.label,
                    title=name if number == 1 else f"{name} ({number})",
                    metadata={"path": source.label},
                )
            )
        return Reading(drafts, cleaner.notices())
