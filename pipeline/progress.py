"""How far a long piece of work has come, told to whoever asked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias

Stage: TypeAlias = Literal["read", "words", "vectors"]


@dataclass(frozen=True, slots=True)
class Progress:
    """`done` of `total` units of a stage: files for "read", memories for "words" and "vectors"."""

    stage: Stage
    done: int
    total: int


OnProgress: TypeAlias = Callable[[Progress], None]
