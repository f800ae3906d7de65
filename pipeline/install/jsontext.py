"""Edits of a JSON text that leave every other character as it was: indentation, order, numbers, doubled keys.

Files of other programs are not ours to reformat, and a diff should show what was changed and nothing else. Strict
JSON only: Claude Code refuses comments and trailing commas in its settings, too.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any, NamedTuple, NoReturn, TypeAlias

Key: TypeAlias = str | int
Path: TypeAlias = Sequence[Key]

_SPACE = re.compile(r"[ \t\r\n]*")
_INDENT = re.compile(r"[ \t]*")


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no JSON")


# Numbers are never looked at, and an integer of 5,000 digits must not stop Python; floats take it.
_DECODER = json.JSONDecoder(parse_int=float, parse_constant=_refuse)


class _Member(NamedTuple):
    """A member of an object (from its key on) or an element of an array (from its value on)."""

    key: Key
    start: int
    value: int
    end: int


def parse(text: str) -> Any:
    """The value of a JSON text, integers as floats. Raises ValueError, one line, also for a text too deeply nested."""
    try:
        value, end = _DECODER.raw_decode(text, _skip(text, 0))
        if (end := _skip(text, end)) != len(text):
            raise json.JSONDecodeError("something follows the end", text, end)
    except json.JSONDecodeError as error:
        raise ValueError(f"line {error.lineno}, column {error.colno}: {error.msg}") from error
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    return value


def insert(text: str, path: Path, key: str | None, value: Any) -> str:
    """Add a last member to the object at `path`, or with `key` None a last element to the array there."""
    start = _locate(text, path)
    members, close = _members(text, start)
    newline = "\r\n" if "\r\n" in text else "\n"
    unit = _unit(text)
    name = "" if key is None else json.dumps(key, ensure_ascii=False) + ": "
    if members:
        last = members[-1]
        own_line = _own_line(text, last.start)
        if own_line is None:
            return f"{text[: last.end]}, {name}{json.dumps(value, ensure_ascii=False)}{text[last.end :]}"
        return f"{text[: last.end]},{newline}{own_line}{name}{_dump(value, unit, own_line, newline)}{text[last.end :]}"
    base = _INDENT.match(text, text.rfind("\n", 0, start) + 1)
    outer = base.group() if base else ""
    inner = outer + unit
    body = f"{newline}{inner}{name}{_dump(value, unit, inner, newline)}{newline}{outer}"
    return text[: start + 1] + body + text[close:]


def put(text: str, path: Path, key: str, value: Any) -> str:
    """Let the object at `path` have `value` under `key`: in the place of what is there, or as its last member."""
    members, _ = _members(text, _locate(text, path))
    if all(member.key != key for member in members):
        return insert(text, path, key, value)
    member = members[_index(members, key)]
    own_line = _own_line(text, member.start)
    newline = "\r\n" if "\r\n" in text else "\n"
    new = json.dumps(value, ensure_ascii=False) if own_line is None else _dump(value, _unit(text), own_line, newline)
    return text[: member.value] + new + text[member.end :]


def remove(text: str, path: Path) -> str:
    """Take the member or element at `path` out, with its comma and its line. The inverse of `insert`."""
    start = _locate(text, path[:-1])
    members, close = _members(text, start)
    place = _index(members, path[-1])
    if len(members) == 1:
        return text[: start + 1] + text[close:]
    if place:
        return text[: members[place - 1].end] + text[members[place].end :]
    return text[: members[0].start] + text[members[1].start :]


def _dump(value: Any, unit: str, indent: str, newline: str) -> str:
    return json.dumps(value, ensure_ascii=False, indent=unit).replace("\n", newline + indent)


def _unit(text: str) -> str:
    """What this file indents by: the indentation of its first member, else two spaces."""
    members, _ = _members(text, _skip(text, 0))
    return (members and _own_line(text, members[0].start)) or "  "


def _own_line(text: str, position: int) -> str | None:
    """The indentation of a member that begins its line; None if it doesn't."""
    begin = text.rfind("\n", 0, position) + 1
    indent = text[begin:position]
    return indent if begin and not indent.strip(" \t") else None


def _locate(text: str, path: Path) -> int:
    """Where the value at `path` begins."""
    return _member(text, path).value if path else _skip(text, 0)


def _member(text: str, path: Path) -> _Member:
    members, _ = _members(text, _locate(text, path[:-1]))
    return members[_index(members, path[-1])]


def _index(members: Sequence[_Member], key: Key) -> int:
    """The place of a key; of a doubled one the last, which is the one that counts."""
    return max(place for place, member in enumerate(members) if member.key == key)


def _members(text: str, start: int) -> tuple[list[_Member], int]:
    """Members of the object or elements of the array at `start`, and where it closes."""
    named = text[start] == "{"
    members: list[_Member] = []
    position = _skip(text, start + 1)
    while text[position] not in "}]":
        begin, key = position, len(members)
        if named:
            key, position = _DECODER.raw_decode(text, position)
            position = _skip(text, _skip(text, position) + 1)  # over the colon
        _, end = _DECODER.raw_decode(text, position)
        members.append(_Member(key, begin, position, end))
        position = _skip(text, end)
        if text[position] == ",":
            position = _skip(text, position + 1)
    return members, position


def _skip(text: str, position: int) -> int:
    space = _SPACE.match(text, position)
    return space.end() if space else position
