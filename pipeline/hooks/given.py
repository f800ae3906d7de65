"""What the host gives a hook on stdin, taken with care: anybody may have written it."""

from __future__ import annotations

import json
import os
import select
import stat
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from indexes.errors import UsageError

LARGEST = 16_000_000
"""Bytes of JSON that are looked at. The host's own are some kilobytes, and a prompt."""
_LONGEST_NAME = 4_096


@dataclass(frozen=True, slots=True)
class Given:
    """Fields of the host's JSON that hooks use; what is missing or of another type is empty."""

    session_id: str = ""
    transcript_path: str = ""
    cwd: str = ""
    prompt: str = ""
    source: str = ""

    @property
    def project(self) -> str | None:
        """The last part of the project's folder, which is the project of what a transcript holds."""
        folder = os.environ.get("CLAUDE_PROJECT_DIR") or self.cwd
        return Path(folder).name or None


def read_given(left: Callable[[], float]) -> Given:
    """Read stdin to its end, at most for as long as `left` says. Raises UsageError, which quotes nothing of it."""
    return parse_given(_read(left))


def parse_given(data: bytes) -> Given:
    """The fields of one JSON object. Raises UsageError."""
    if not data.strip():
        raise UsageError("The hook was given nothing on stdin.")
    try:
        values = json.loads(data.decode("utf-8-sig", "replace"))
    except (ValueError, RecursionError) as error:
        raise UsageError(f"The hook was given no JSON that can be read ({type(error).__name__}).") from None
    if not isinstance(values, dict):
        raise UsageError(f"The hook was given a JSON {type(values).__name__}, not an object.")

    def text(name: str, most: int = _LONGEST_NAME) -> str:
        value = values.get(name)
        if not isinstance(value, str) or len(value) > most:
            return ""
        return value.encode("utf-8", "replace").decode()  # half of a surrogate pair is no text

    return Given(
        session_id=text("session_id", 200),
        transcript_path=text("transcript_path"),
        cwd=text("cwd"),
        prompt=text("prompt", LARGEST),
        source=text("source", 40),
    )


def _read(left: Callable[[], float]) -> bytes:
    try:
        if os.isatty(0):
            return b""
        regular = stat.S_ISREG(os.fstat(0).st_mode)
    except OSError:  # closed
        return b""
    parts: list[bytes] = []
    size = 0
    while regular or select.select([0], [], [], left())[0]:
        part = os.read(0, 1 << 20)
        if not part:
            break
        size += len(part)
        if size <= LARGEST:  # the rest is taken, too: a host whose pipe breaks would call that a failure
            parts.append(part)
    else:
        raise UsageError("The hook's stdin was not closed in time.")
    if size > LARGEST:
        raise UsageError(f"The hook was given {size:,} bytes; more than {LARGEST:,} are not looked at.")
    return b"".join(parts)
