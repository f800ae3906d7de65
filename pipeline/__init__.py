"""gieok: finds the one memory that answers a question, in as few tokens as will do.

>>> from pipeline import Gieok
>>> with Gieok.open() as memory:                         # doctest: +SKIP
...     memory.index(["notes/"])
...     hits = memory.search_index("DuckDB 스키마")       # layer 1: what is there
...     near = memory.get_timeline([hits[0].id])         # layer 2: when, around what
...     full = memory.get_details([hits[0].id])          # layer 3: how exactly
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pipeline.filters import SearchFilter
    from pipeline.gieok import Gieok
    from pipeline.settings import Settings

__all__ = ["Gieok", "SearchFilter", "Settings"]

_HOMES = {"Gieok": "pipeline.gieok", "SearchFilter": "pipeline.filters", "Settings": "pipeline.settings"}


def __getattr__(name: str) -> Any:
    # Loaded on first use, so that `gieok --help` and hooks don't pay for numpy and pydantic.
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
