"""Turns of a conversation: memories too short to say alone what they are about.

"네, 그렇게 하죠" is found by what was asked before it. So the words of the neighbours in its session count for it, too,
a third as much as its own, and its vector is the mean of its own and of a window's that holds both neighbours. That
mean is not brought back to unit length: where a turn and its surroundings disagree, it is nearer to nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from indexes.types import Memory

LONGEST: Final = 300
"""Characters of a turn. What is longer speaks for itself."""
NEAR: Final = 200
"""Characters that each neighbour lends: the end of the one before, the beginning of the one after."""
_ROWS = (".json", ".ndjson")

TURN_SQL: Final = f"length(content) <= {LONGEST} AND type <> 'tool'" + "".join(
    f" AND instr(lower(session_id), '{suffix}') = 0" for suffix in _ROWS
)
"""`is_turn` for a row of the store."""


def is_turn(memory: Memory) -> bool:
    """Whether a memory needs its neighbours.

    Rows of a JSON file without a session have the file for one: they merely lie beside each other. What a tool gave is
    no conversation.
    """
    session = memory.session_id.lower()
    return len(memory.content) <= LONGEST and memory.type != "tool" and not any(suffix in session for suffix in _ROWS)


def lent(memory: Memory, around: Sequence[Memory]) -> tuple[str, str]:
    """What comes just before and just after `memory`, of `around`, which stands in time order and holds it."""
    at = next(place for place, other in enumerate(around) if other.rid == memory.rid)
    before = around[at - 1].content.strip()[-NEAR:] if at else ""
    after = around[at + 1].content.strip()[:NEAR] if at + 1 < len(around) else ""
    return before, after
