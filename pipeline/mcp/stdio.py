"""The server over stdin and stdout: one client, and an end as soon as that client is gone."""

from __future__ import annotations

import os
import re
import signal
import sys
import threading
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, BinaryIO, cast

import anyio
import anyio.to_thread
from mcp.server.stdio import stdio_server

from pipeline.mcp.server import Opened, make_server
from pipeline.notes import Origin

if TYPE_CHECKING:
    from collections.abc import Callable

    from pipeline.gieok import Gieok

LONGEST_LINE = 4_000_000
"""Bytes of a message. The longest that a tool takes, a note of 100,000 characters in escaped JSON, has 600,000."""
LAST_CALL = 1.5
"""Seconds that a call which is still at it has to finish once the client is gone: clients kill after two."""
PARENT_CHECK = 1.0
"""Seconds between looks at whether the client lives: stdin stays open if the dead client's other children hold it."""
_BLOCK = 65_536
_HIGH, _LOW = r"\\u[dD][89abAB][0-9a-fA-F]{2}", r"\\u[dD][c-fC-F][0-9a-fA-F]{2}"
_LONE = re.compile(rf"(?<!\\)((?:\\\\)*)(?:({_HIGH}{_LOW})|(?:{_HIGH}|{_LOW}))")
"""An escaped surrogate in JSON, with its other half or without: the SDK leaves a message with a lone one unanswered."""


def serve_stdio(open_: Callable[[], Gieok]) -> None:
    """Serve until stdin ends or the parent dies, then end the process at once; never returns."""
    # Ctrl-C and kill end the process at once: a thread that waits for stdin can't be interrupted otherwise. What is
    # being stored is stored whole or not at all.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    opened = Opened(open_)
    code = 0
    try:
        anyio.run(_serve, opened)
    except (BrokenPipeError, ConnectionResetError):
        pass  # the client is gone
    except BaseExceptionGroup as group:
        if group.subgroup(lambda error: not isinstance(error, BrokenPipeError)) is not None:
            print(f"gieok mcp: {group.exceptions[0]!r}"[:300], file=sys.stderr)  # noqa: T201
            code = 2
    # Python would wait for threads that are in the middle of a call, however long that takes.
    closing = threading.Thread(target=opened.close, daemon=True)
    closing.start()
    closing.join(LAST_CALL)
    os._exit(code)


async def _serve(opened: Opened) -> None:
    server = make_server(opened, origin=Origin.of_host())
    lines = cast("anyio.AsyncFile[str]", BoundedLines(_private_stdin()))
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_watch_parent)
        async with stdio_server(stdin=lines) as (read, write):
            await server.run(read, write, server.create_initialization_options())
        tasks.cancel_scope.cancel()


def _private_stdin() -> BinaryIO:
    """The client's messages on a descriptor of their own: nothing else that reads stdin can take them away."""
    private = os.fdopen(os.dup(0), "rb", buffering=0)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    return cast("BinaryIO", private)


def _whole(match: re.Match[str]) -> str:
    """The escapes of a match if they are a pair, else that of the replacement character."""
    return match[0] if match[2] else f"{match[1]}\\ufffd"


class BoundedLines:
    """The lines of a stream, as text. One of more than `longest` bytes is passed over, and memory stays small."""

    def __init__(self, stream: BinaryIO, longest: int = LONGEST_LINE) -> None:
        self._stream = stream
        self._longest = longest

    async def __aiter__(self) -> AsyncIterator[str]:
        buffer = bytearray()
        too_long = False
        while block := await anyio.to_thread.run_sync(self._read, abandon_on_cancel=True):
            *ends, rest = block.split(b"\n")
            for end in ends:
                buffer += end
                if not too_long and len(buffer) <= self._longest:
                    yield _LONE.sub(_whole, buffer.decode("utf-8", "replace"))
                else:
                    print(f"gieok mcp: a message of more than {self._longest:,} bytes was passed over", file=sys.stderr)  # noqa: T201
                buffer.clear()
                too_long = False
            if not too_long:
                buffer += rest
            if len(buffer) > self._longest:
                buffer.clear()
                too_long = True

    def _read(self) -> bytes:
        return self._stream.read(_BLOCK)


async def _watch_parent() -> None:
    parent = os.getppid()
    while os.getppid() == parent:
        await anyio.sleep(PARENT_CHECK)
    os._exit(0)
