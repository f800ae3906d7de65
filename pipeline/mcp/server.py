"""Our tools behind the MCP SDK's server: every call answers, whatever goes wrong inside."""

from __future__ import annotations

import os
import sys
import threading
import traceback
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import anyio.to_thread
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    ListToolsResult,
    PaginatedRequestParams,
    TextContent,
)
from mcp_types import Tool as ListedTool

from indexes.errors import GieokError
from pipeline.mcp.guide import INSTRUCTIONS
from pipeline.mcp.replies import for_tools
from pipeline.mcp.tools import BY_NAME, TOOLS, Tool
from pipeline.plaintext import clean, cut, fold, shown
from pipeline.version import VERSION

if TYPE_CHECKING:
    from pipeline.gieok import Gieok
    from pipeline.notes import Origin

NAME = "gieok"
LONGEST_ERROR = 600


class Opened:
    """The store, opened by the first call that needs it: a server that nobody asks costs no memory and no time."""

    def __init__(self, open_: Callable[[], Gieok]) -> None:
        self._open = open_
        self._lock = threading.Lock()
        self._memory: Gieok | None = None

    def __call__(self) -> Gieok:
        """The store. Raises what opening it raises, and tries again the next time."""
        with self._lock:
            if self._memory is None:
                self._memory = self._open()
            return self._memory

    def close(self) -> None:
        """Close it, after the calls that are at it."""
        with self._lock:
            if self._memory is not None:
                self._memory.close()
                self._memory = None


def make_server(opened: Callable[[], Gieok], *, origin: Origin | None = None) -> Server[Any]:
    """A server with our tools. `origin` is written into the notes that agents leave."""

    async def list_tools(context: object, params: PaginatedRequestParams | None) -> ListToolsResult:
        return ListToolsResult(tools=[ListedTool.model_validate(tool.listed()) for tool in TOOLS])

    async def call_tool(context: object, params: CallToolRequestParams) -> CallToolResult:
        tool = BY_NAME.get(params.name)
        if tool is None:
            known = ", ".join(BY_NAME)
            raise MCPError(INVALID_PARAMS, f"There is no tool {shown(params.name)!r}. Tools: {known}")
        # In a thread, so that pings and other calls are answered meanwhile; given up if the client gives up.
        return await anyio.to_thread.run_sync(_answer, tool, opened, params.arguments, origin, abandon_on_cancel=True)

    return Server(NAME, version=VERSION, instructions=INSTRUCTIONS, on_list_tools=list_tools, on_call_tool=call_tool)


def _answer(
    tool: Tool, opened: Callable[[], Gieok], given: dict[str, Any] | None, origin: Origin | None
) -> CallToolResult:
    try:
        reply = tool.run(opened, given, origin)
    except GieokError as error:
        return _failed(f"Error: {for_tools(str(error))}")
    except BaseException as error:  # the panics of tantivy are not Exceptions, and none may end the server
        if os.environ.get("GIEOK_DEBUG") == "1":
            traceback.print_exc(file=sys.stderr)
        return _failed(f"Error: unexpected {type(error).__name__}: {error}")
    return CallToolResult(content=[TextContent(text=reply.text)], structured_content=reply.structured)


def _failed(message: str) -> CallToolResult:
    return CallToolResult(content=[TextContent(text=cut(fold(clean(message)), LONGEST_ERROR))], is_error=True)
