"""What was injected into a session already: an agent need not pay twice for the same lines.

One small file a session in `<home>/hooks/`, with ids and how far each was opened. No text.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from dataclasses import dataclass, field
from pathlib import Path

MOST_IDS = 500
MOST_FILES = 50
DAYS = 14

LINE, SURROUNDINGS, WHOLE = 1, 2, 3
"""How far a memory was opened."""


@dataclass
class Seen:
    """Of one session. `compacted`: the agent has forgotten what was said before, also in the session itself."""

    path: Path | None
    opened: dict[str, int] = field(default_factory=dict)
    compacted: bool = False

    @classmethod
    def of(cls, home: Path, session_id: str) -> Seen:
        """What is known of a session. Without an id, or with a file that can't be read, nothing is."""
        if not session_id:
            return cls(None)
        path = folder(home) / f"seen-{hashlib.sha256(session_id.encode()).hexdigest()[:16]}.json"
        try:
            values = json.loads(path.read_bytes())
            opened = {str(name): int(far) for name, far in values["opened"].items()}
            return cls(path, opened, bool(values["compacted"]))
        except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
            return cls(path)

    def knows(self, memory_id: str, far: int) -> bool:
        """Whether a memory was opened so far, or farther."""
        return self.opened.get(memory_id, 0) >= far

    def add(self, memory_id: str, far: int) -> None:
        """A memory was opened so far."""
        far = max(far, self.opened.pop(memory_id, 0))
        self.opened[memory_id] = far

    def forget(self) -> None:
        """The conversation was compacted: what was injected is no longer in it."""
        self.opened.clear()
        self.compacted = True

    def save(self) -> None:
        """Write it, whole or not at all, and drop old ones. Raises OSError."""
        if self.path is None:
            return
        self.path.parent.mkdir(mode=0o700, exist_ok=True)
        kept = dict(list(self.opened.items())[-MOST_IDS:])
        new = self.path.with_name(f"{self.path.name}.{os.getpid()}.new")
        handle = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
        try:
            with open(handle, "w", encoding="utf-8") as stream:  # noqa: PTH123 - a handle
                json.dump({"opened": kept, "compacted": self.compacted}, stream)
            new.replace(self.path)
        finally:
            new.unlink(missing_ok=True)
        _tidy(self.path.parent)


def folder(home: Path) -> Path:
    """Where hooks keep what they need between two calls."""
    return home / "hooks"


def _tidy(place: Path) -> None:
    found = []
    for path in place.glob("seen-*"):
        try:
            found.append((path.stat().st_mtime, path))
        except FileNotFoundError:  # another hook tidies, too
            continue
    found.sort(reverse=True)
    for number, (moment, path) in enumerate(found):
        if number >= MOST_FILES or moment < time.time() - DAYS * 86_400:
            path.unlink(missing_ok=True)
