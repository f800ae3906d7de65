"""Proposals that wait for an answer, for the briefing: read from one file, without a model."""

from __future__ import annotations

from pathlib import Path

from indexes.errors import GieokError
from pipeline.reflect.folders import folder_of
from pipeline.reflect.memory import State
from pipeline.reflect.wording import gives_orders, plain_line
from pipeline.settings import Settings

SHOWN = 5
"""Proposals that a briefing has room for."""


def open_proposals(settings: Settings, home: Path) -> list[str]:
    """One line each for what the last `gieok reflect` proposed and nobody answered; never raises."""
    try:
        items = State.load(folder_of(settings, home)).open
    except GieokError:
        return []
    lines = [(plain_line(str(item.get("rule", ""))), item.get("entries")) for item in items]
    return [f"{rule} ({entries} entries)" for rule, entries in lines if rule and not gives_orders(rule)][:SHOWN]
