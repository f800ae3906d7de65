"""The server over streamable HTTP, for the programs of this machine only."""

from __future__ import annotations

import errno
import socket
import sys
from typing import TYPE_CHECKING

import uvicorn
from mcp.server.transport_security import TransportSecuritySettings

from indexes.errors import UsageError
from pipeline.mcp.server import Opened, make_server

if TYPE_CHECKING:
    from collections.abc import Callable

    from pipeline.gieok import Gieok

HOST = "127.0.0.1"
PATH = "/mcp"


def serve_http(open_: Callable[[], Gieok], port: int) -> None:
    """Serve on loopback until Ctrl-C. Port 0 takes a free one. Raises UsageError if the port can't be had."""
    listening = _bound(port)
    port = listening.getsockname()[1]
    opened = Opened(open_)
    application = make_server(opened).streamable_http_app(
        streamable_http_path=PATH,
        json_response=True,
        stateless_http=True,  # nothing here belongs to a session, and a client survives a restart of the server
        host=HOST,
        # A web page that has its own name point here sends that name as host, and each page sends its origin: neither
        # may read memories.
        transport_security=TransportSecuritySettings(
            enable_dns_rebinding_protection=True,
            allowed_hosts=[f"{HOST}:{port}", f"localhost:{port}"],
            allowed_origins=[],
        ),
    )
    print(f"gieok mcp: http://{HOST}:{port}{PATH} (Ctrl-C ends it)", file=sys.stderr, flush=True)  # noqa: T201
    config = uvicorn.Config(application, log_level="error", access_log=False, timeout_graceful_shutdown=1)
    try:
        uvicorn.Server(config).run(sockets=[listening])
    except KeyboardInterrupt:
        pass  # uvicorn ends in good order and then raises it again
    finally:
        listening.close()
        opened.close()


def _bound(port: int) -> socket.socket:
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((HOST, port))
        listening.listen()  # from here on clients wait instead of being refused
    except (OSError, OverflowError) as error:
        listening.close()
        taken = isinstance(error, OSError) and error.errno == errno.EADDRINUSE
        why = "is in use" if taken else f"can't be used ({error})"
        raise UsageError(f"The port {port} {why}. Name another: gieok mcp --http PORT") from error
    return listening
