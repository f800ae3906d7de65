"""The process that the host waits for: it guards the time and does nothing else.

The work is done by a forked child, so that nothing in it can hold up the prompt or end with another code than 0: not a
model that loads for minutes, not C code that can't be interrupted, not a crash, not memory that runs out. The child
has a timer of the kernel besides, which ends it even if this process is gone.
"""

from __future__ import annotations

import os
import select
import signal
import sys
import time
from contextlib import suppress
from types import FrameType
from typing import NoReturn

from pipeline.hooks.command import HookCall

DEFAULT_TIMEOUT = 2.0
"""Seconds until the settings are read, `hooks.timeout` afterwards."""
HAND_ON_AFTER = 1.0
"""Seconds that the end of a session waits: the host gives all its hooks 1.5."""
LONGEST = 15.0
"""Seconds after which a child ends that has not said how long it needs."""
_LARGEST_ANSWER = 1 << 20

HANDED_ON = frozenset({"stop", "session-end", "pre-compact", "session-start"})
"""Events whose child may go on when the host no longer waits."""


class _Stopped(BaseException):
    """SIGTERM, SIGINT, SIGHUP."""


def guarded(call: HookCall) -> NoReturn:
    """Run a hook, and end this process with 0 whatever happens."""
    began = time.monotonic()
    try:
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, _stop)
        if call.event:
            _guard(call, began)
    except BaseException:  # noqa: S110 - nobody may be told: the host shows what a hook says
        pass
    os._exit(0)


def _stop(number: int, frame: FrameType | None) -> None:
    raise _Stopped


def _guard(call: HookCall, began: float) -> None:
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        _work(call, writer, began)
    os.close(writer)
    finished, answer = False, b""
    with suppress(_Stopped):
        finished, answer = _wait(call, reader, began)
    if not finished and call.event not in HANDED_ON:  # those are ended by their own timer, and a lock keeps them few
        os.kill(child, signal.SIGKILL)
    if answer:
        _write(answer)


def _wait(call: HookCall, reader: int, began: float) -> tuple[bool, bytes]:
    """Whether the child has finished before time was up, and its last answer."""
    timeout = DEFAULT_TIMEOUT
    buffer, answer = b"", b""
    while True:
        allowed = min(timeout, HAND_ON_AFTER) if call.event == "session-end" else timeout
        left = began + allowed - time.monotonic()
        if left <= 0 or not select.select([reader], [], [], left)[0]:
            return False, answer
        part = os.read(reader, 1 << 16)
        if not part or len(buffer) > _LARGEST_ANSWER:
            return not part, answer
        *lines, buffer = (buffer + part).split(b"\n")
        for line in lines:
            kind, content = line[:1], line[1:]
            if kind == b"T":
                timeout = float(content)
            elif kind == b"A":
                answer = content
            elif kind == b"F":
                return True, content or answer
            elif kind == b"N":
                return True, b""


def _write(answer: bytes) -> None:
    rest = answer + b"\n"
    while rest:
        rest = rest[os.write(1, rest) :]


def _work(call: HookCall, writer: int, began: float) -> NoReturn:
    """The child: silent, in a session of its own, and never without a timer."""
    try:
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGALRM):
            signal.signal(number, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_REAL, LONGEST)
        if call.event in HANDED_ON:
            os.setsid()  # the host may end the group of a hook that has answered
        nothing = os.open(os.devnull, os.O_RDWR)
        os.dup2(nothing, 1)
        os.dup2(nothing, 2)
        sys.stdout = sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115, PTH123 - until the end

        from pipeline.hooks.events import run
        from pipeline.hooks.reply import Reply

        run(call, Reply(writer, began))
    except BaseException:  # noqa: S110 - the panics of tantivy are not Exceptions; `run` has logged what it could
        pass
    os._exit(0)
