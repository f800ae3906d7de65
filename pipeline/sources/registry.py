"""Which reader is for which file: the first that accepts its name and beginning."""

from __future__ import annotations

from pipeline.sources.base import Reader
from pipeline.sources.jsonl import RowsReader
from pipeline.sources.markdown import MarkdownReader
from pipeline.sources.mirror import MirrorReader
from pipeline.sources.plain import PlainReader
from pipeline.sources.transcript import TranscriptReader

READERS: tuple[Reader, ...] = (TranscriptReader(), RowsReader(), MirrorReader(), MarkdownReader(), PlainReader())
"""The special before the general. To read another kind of file, add its reader here."""


def reader_for(label: str, head: str) -> Reader:
    """The reader for a file with this label whose text begins with `head`; plain text if none knows better."""
    return next(reader for reader in READERS if reader.accepts(label, head))
