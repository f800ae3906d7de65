"""What the working child tells the process that guards its time."""

from __future__ import annotations

import json
import os
import signal
import time

from pipeline.hooks.guard import DEFAULT_TIMEOUT


class Reply:
    """Answers, and the time that is left for them. An answer may be replaced by a better one until `done`."""

    def __init__(self, writer: int, began: float) -> None:
        """`began` is in seconds of the monotonic clock."""
        self._writer = writer
        self._began = began
        self.timeout = DEFAULT_TIMEOUT
        self.answered = False
        """Whether the host has what it waits for: only then may work go on that takes long."""

    def allow(self, timeout: float) -> None:
        """The bound of this process, in seconds since it began."""
        self.timeout = timeout
        self._say(b"T" + repr(timeout).encode())

    @property
    def left(self) -> float:
        """Seconds until the host has its answer without us; 0 when it is late."""
        return max(0.0, self._began + self.timeout - time.monotonic())

    def offer(self, event: str, context: str) -> None:
        """An answer to be given if there is no time for a better one."""
        self._say(b"A" + _encoded(event, context))

    def give(self, event: str, context: str) -> None:
        """The answer. The host has it from now on."""
        self._say(b"F" + _encoded(event, context))
        self.answered = True

    def done(self) -> None:
        """What was offered is the answer, or there is none."""
        self._say(b"F")
        self.answered = True

    def nothing(self) -> None:
        """There is nothing to say, whatever was offered."""
        self._say(b"N")
        self.answered = True

    def _say(self, line: bytes) -> None:
        if self.answered:
            return
        try:
            rest = line + b"\n"
            while rest:
                rest = rest[os.write(self._writer, rest) :]
        except OSError:  # it has gone: nobody waits any more
            self.answered = True


def end_after(seconds: float) -> None:
    """Let the kernel end this process after so long, whatever it does then."""
    signal.setitimer(signal.ITIMER_REAL, max(0.001, seconds))


def _encoded(event: str, context: str) -> bytes:
    # ASCII with escapes: right whatever the host takes our bytes for, and on one line.
    return json.dumps({"hookSpecificOutput": {"hookEventName": event, "additionalContext": context}}).encode("ascii")
