"""JSON Lines, read so that one broken line costs only itself."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import TypeAlias

from indexes.types import JSON

Object: TypeAlias = "dict[str, JSON]"

_SHOWN = 10
"""Line numbers that a notice names before it says how many more there are."""


class JsonLines:
    """The objects of a JSON Lines text with their line numbers. Iterate it once, then ask for `notices`.

    One line at a time is parsed and let go, so that a line of many megabytes is held only while it is read.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._broken: list[int] = []
        self._no_object: list[int] = []
        self._torn = 0

    def __iter__(self) -> Iterator[tuple[int, Object]]:
        start, number = 0, 0
        while start < len(self._text):
            end = self._text.find("\n", start)
            last = end < 0
            line = self._text[start:] if last else self._text[start:end]
            start, number = (len(self._text) if last else end + 1), number + 1
            if not line.strip():
                continue
            try:
                value = json.loads(line, parse_constant=str)
            except (ValueError, RecursionError):
                if last:
                    self._torn = number  # its writer was cut off, or is still writing
                else:
                    self._broken.append(number)
                continue
            if isinstance(value, dict):
                yield number, value
            else:
                self._no_object.append(number)

    def notices(self) -> list[str]:
        """What was skipped, by line number."""
        notices = []
        if self._broken:
            notices.append(f"{name_lines(self._broken)} skipped: not valid JSON")
        if self._no_object:
            notices.append(f"{name_lines(self._no_object)} skipped: JSON, but not an object")
        if self._torn:
            notices.append(f"line {self._torn}, the last one, skipped: it is not complete")
        return notices


def name_lines(numbers: Sequence[int]) -> str:
    """`line 3`, `lines 3, 5`, or the first ten and the count of the rest."""
    shown = ", ".join(map(str, numbers[:_SHOWN]))
    rest = f" and {len(numbers) - _SHOWN:,} more" if len(numbers) > _SHOWN else ""
    return f"line{'s' if len(numbers) > 1 else ''} {shown}{rest}"
