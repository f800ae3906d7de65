"""The server over HTTP, as a real process."""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest
from mcp import ClientSession
from mcp.client.streamable_http import streamable_http_client

PING = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "ping"})
HEADERS = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}


def start(home: Path, port: int) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "pipeline", "mcp", "--http", str(port), "--home", str(home)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "GIEOK_EMBEDDER_MODEL": "none", "PYTHONPATH": str(Path(__file__).parents[3])},
    )


@pytest.fixture
def port(tmp_path: Path) -> Iterator[int]:
    process = start(tmp_path / "home", 0)
    assert process.stderr
    found = re.search(r"http://127\.0\.0\.1:(\d+)/mcp", process.stderr.readline())
    assert found
    yield int(found[1])
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=10)
    assert (process.returncode, out) == (0, "")
    assert all(line.startswith("Invalid ") for line in err.splitlines()), "refused requests, and no tracebacks"


def test_the_client_of_the_sdk_keeps_and_finds_a_note(port: int) -> None:
    async def run() -> None:
        async with (
            streamable_http_client(f"http://127.0.0.1:{port}/mcp") as streams,
            ClientSession(streams[0], streams[1]) as session,
        ):
            await session.initialize()
            await session.call_tool("remember", {"text": "금요일에는 배포하지 않는다"})
            found = await session.call_tool("search", {"query": "금요일 배포", "min_score": 0})
            assert len(found.structured_content["index"]) == 1

    anyio.run(run)


@pytest.mark.parametrize("headers", [{"Host": "evil.example"}, {"Origin": "https://evil.example"}, {"Origin": "null"}])
def test_web_pages_and_other_names_are_refused(port: int, headers: dict[str, str]) -> None:
    def status(**more: str) -> int:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
        connection.request("POST", "/mcp", PING, {**HEADERS, **more})
        answer = connection.getresponse()
        answer.read()
        connection.close()
        return answer.status

    assert status(**headers) in (403, 421)
    assert status() == 200


def test_a_port_in_use_is_an_error_of_one_line(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        process = start(tmp_path / "home", taken.getsockname()[1])
        _, err = process.communicate(timeout=20)
    assert process.returncode == 2
    assert "is in use" in err
    assert err.count("\n") == 1


def test_a_missing_extra_names_the_install_command(tmp_path: Path) -> None:
    code = (
        "import importlib.util, sys; find = importlib.util.find_spec;"
        "importlib.util.find_spec = lambda name, *rest: None if name == 'mcp' else find(name, *rest);"
        "from pipeline.cli import main; sys.argv = ['gieok', 'mcp']; main()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=Path(__file__).parents[3])
    assert done.returncode == 2
    assert "gieok[mcp]" in done.stderr
    assert done.stdout == ""
