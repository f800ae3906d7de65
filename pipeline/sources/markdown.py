"""Markdown notes and diaries: front matter, and a memory for each section."""

from __future__ import annotations

from pathlib import PurePosixPath

from pipeline.sources.about import About
from pipeline.sources.base import Draft, Reading, SourceText
from pipeline.sources.cleaning import Cleaner
from pipeline.sources.frontmatter import split_front_matter
from pipeline.sources.sections import split_sections

SUFFIXES = (".md", ".markdown", ".mdx", ".mkd")


class MarkdownReader:
    """See `docs/formats.md`."""

    name = "markdown"
    version = 2

    def accepts(self, label: str, head: str) -> bool:
        """Whether the name is one of a Markdown file."""
        return label.lower().endswith(SUFFIXES)

    def read(self, source: SourceText) -> Reading:
        """A draft for each section; broken front matter is a notice."""
        cleaner = Cleaner(by_hand=True)
        front = split_front_matter(cleaner.text(source.text))
        about = About(front.data, source.label, source.modified)
        # Without a title of the whole, the file's name leads: "2026-01-30-session-01 > 결정".
        stem = PurePosixPath(source.label).stem
        pieces = split_sections(front.body)
        has_headings = any(piece.names for piece in pieces)
        drafts = []
        for piece in pieces:
            lead = about.title or (stem if has_headings and not piece.titled else "")
            drafts.append(
                Draft(
                    place=piece.place,
                    content=piece.content,
                    type=about.type,
                    timestamp=about.timestamp,
                    session_id=about.session_id,
                    parent=piece.parent,
                    title=piece.title(lead),
                    project=about.project,
                    team_id=about.team_id,
                    task_id=about.task_id,
                    tags=about.tags,
                    metadata={"path": source.label, **about.metadata},
                )
            )
        return Reading(drafts, (*front.notices, *about.notices, *cleaner.notices()))
