"""Queries that are a dialogue so far, as agents hand them over: the last turn asks, the others say what about."""

from __future__ import annotations

import re

_TURN = re.compile(r"[ \t]*[^\W\d_][\w .'’-]{0,39}:(?!//)[ \t]*\S", re.UNICODE)
"""`Bart: …`, `사용자: …`: a speaker and what was said."""


def last_turn(query: str) -> str | None:
    """The last turn of a dialogue, its speaker included; None if the query is none.

    Every line of a dialogue begins a turn or continues one; there are two turns at least.
    """
    lines = [line for line in query.splitlines() if line.strip()]
    starts = [number for number, line in enumerate(lines) if _TURN.match(line)]
    if len(starts) < 2 or starts[0] != 0:
        return None
    return "\n".join(lines[starts[-1] :])
