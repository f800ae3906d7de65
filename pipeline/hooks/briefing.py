"""The start hook: the briefing, from the diary alone, so that it takes no store and no model."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from pipeline.hooks.given import Given
from pipeline.hooks.limits import MOST_CHARACTERS
from pipeline.hooks.reply import Reply
from pipeline.hooks.seen import Seen
from pipeline.settings import Settings

EVENT = "SessionStart"
_FORGETTING = frozenset({"compact", "clear"})
"""Sources after which the agent no longer has what was injected before."""


def answer_start(given: Given, home: Path, settings: Settings, reply: Reply) -> None:
    """Give the briefing, at every start: after a compaction and a resumption, too. Raises GieokError, OSError."""
    from pipeline.brief import briefing

    if given.source in _FORGETTING:
        seen = Seen.of(home, given.session_id)
        seen.forget()
        with suppress(OSError):  # a home that can't be written, or none yet
            seen.save()
    project = given.project if settings.hooks.this_project else None
    tokens = settings.brief.max_tokens
    while True:
        found = briefing(settings, home, project, tokens, form="markdown")
        text = found.text("markdown", marked=True).strip()
        if len(text) <= MOST_CHARACTERS:
            break
        tokens = tokens * 2 // 3
    if text:
        reply.give(EVENT, text)
    else:
        reply.nothing()
