"""A coding agent's tool call and its result as one short text."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass

from indexes.types import JSON
from pipeline.plaintext import ceil_boundary, cut, floor_boundary
from pipeline.sources.cleaning import Cleaner, mark
from pipeline.sources.injected import cut_reminders

RESULT_LIMIT = 1_500
"""Characters kept of a result, and INPUT_LIMIT of one input: a call with two such inputs has about 800 tokens."""

INPUT_LIMIT = 700

HEAD_SHARE = 2 / 3
"""Of a text that is cut in the middle: errors and totals stand at the end, all else begins at the beginning."""

MAX_TITLE = 100

# What a call is about, most telling first.
_SUBJECTS = (
    "command",
    "file_path",
    "notebook_path",
    "pattern",
    "query",
    "url",
    "path",
    "skill",
    "description",
    "prompt",
)
_FILES = ("file_path", "notebook_path", "path")
_SETTINGS = frozenset({"output_mode", "glob", "type", "subagent_type"})
_OWN_TOOL = re.compile(r"mcp__(?:\w*_)?gieok(?:_\w*?)?__")
# `gieok …`, `.venv/bin/gieok …`, `cd x && LANG=C uvx gieok …`
_OWN_COMMAND = re.compile(
    r"(?:cd\s+[^&;\n]+(?:&&|;)\s*)?(?:\w+=\S*\s+)*(?:uvx\s+|uv\s+run\s+|pipx\s+run\s+)?(?:\S*/)?gieok(?:\s|$)"
)
_NUMBERED = re.compile(r"^ *\d+(?:→|\t)", re.MULTILINE)
_WRAPPING = re.compile(r"</?(?:tool_use_error|persisted-output)>")
_BLANK_LINES = re.compile(r"\n(?:[ \t]*\n){2,}")


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call: what it was about (`title`, one line), its inputs as text, and the files it named."""

    name: str
    title: str
    text: str
    files: tuple[str, ...]
    is_own: bool


def read_call(name: str, inputs: Mapping[str, JSON]) -> ToolCall:
    """The call of tool `name` with cleaned `inputs`."""
    subject = next((key for key in _SUBJECTS if isinstance(inputs.get(key), str) and inputs[key]), None)
    about = str(inputs[subject]) if subject else ""
    lines = [f"{name}: {bound(about, INPUT_LIMIT)}" if about else name]
    for key, value in inputs.items():
        if key == subject or key in _SETTINGS or value is None or isinstance(value, bool | int | float):
            continue
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        if text.strip():
            lines.append(f"{key}: {bound(text, INPUT_LIMIT)}")
    files = [value for key in _FILES if isinstance(value := inputs.get(key), str) and value]
    first_line = about.strip().split("\n", 1)[0]
    return ToolCall(
        name=name,
        title=cut(f"{name}: {first_line}" if first_line else name, MAX_TITLE),
        text="\n".join(lines),
        files=tuple(dict.fromkeys(files)),
        is_own=_is_own(name, inputs),
    )


def read_result(content: JSON, cleaner: Cleaner) -> str:
    """A result's text, cleaned, without reminders and line numbers; not bounded yet."""
    text = cut_reminders(read_content(content, cleaner))
    return _BLANK_LINES.sub("\n\n", _NUMBERED.sub("", _WRAPPING.sub("", text))).strip()


def read_content(content: JSON, cleaner: Cleaner) -> str:
    """The text of a message's or result's content, cleaned; a mark for what is no text. Calls are no part of it."""
    if isinstance(content, str):
        return cleaner.text(content)
    blocks = content if isinstance(content, list) else [content]
    # Cleaned as one: a private part may begin in one block and end in another.
    return cleaner.text("\n\n".join(text for text in map(_block_text, blocks) if text.strip()))


def bound(text: str, limit: int) -> str:
    """`text`, or its head and tail with a mark of what is missing, `limit` characters without the mark."""
    if len(text) <= limit:
        return text
    head = floor_boundary(text, round(limit * HEAD_SHARE))
    tail = ceil_boundary(text, len(text) - (limit - head))
    return f"{text[:head].rstrip()}\n{mark(tail - head)}\n{text[tail:].lstrip()}"


def _block_text(block: JSON) -> str:
    if isinstance(block, str):
        return block
    if not isinstance(block, dict):
        return ""
    text = block.get("text")
    if isinstance(text, str):
        return text
    kind = block.get("type")
    if kind in ("image", "document"):
        source = block.get("source")
        media = source.get("media_type") if isinstance(source, dict) else None
        return f"[{kind}: {media}]" if isinstance(media, str) and len(media) < MAX_TITLE else f"[{kind}]"
    return ""


def _is_own(name: str, inputs: Mapping[str, JSON]) -> bool:
    command = inputs.get("command")
    return bool(_OWN_TOOL.match(name)) or (isinstance(command, str) and bool(_OWN_COMMAND.match(command.strip())))
