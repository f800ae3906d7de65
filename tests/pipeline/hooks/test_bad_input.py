"""Whatever the host gives or the machine lacks: exit code 0, silence on stderr, bounded time."""

from __future__ import annotations

import json
import os
import pty
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Hook = Callable[..., Any]
Write = Callable[..., Path]
Log = Callable[[], str]


EVENTS = ["session-start", "user-prompt-submit", "pre-compact", "stop", "session-end"]
DEEP = b'{"prompt": ' + b"[" * 10_000 + b"]" * 10_000 + b"}"
BAD_JSON = {
    "empty": b"",
    "space": b" \n\t",
    "no JSON": b"prompt=x",
    "half": b'{"prompt": "x',
    "list": b'["prompt"]',
    "number": b"7",
    "null": b"null",
    "NaN": b'{"prompt": NaN, "session_id": Infinity}',
    "wrong types": json.dumps({"prompt": ["배포"], "session_id": 7, "transcript_path": {"a": 1}, "cwd": None}).encode(),
    "deep": DEEP,
    "lone surrogates": rb'{"prompt": "\ud800 \udc00\ud83d", "session_id": "\udfff", "cwd": "/\ud800", "source": 1}',
    "raw bytes": b'{"prompt": "\xff\xfe\x80"}',
    "NUL": rb'{"prompt": "a\u0000b", "transcript_path": "/a\u0000.jsonl", "session_id": "\u0000/../x"}',
    "long names": json.dumps({"session_id": "s" * 10**6, "transcript_path": "/" + "x" * 10**6 + ".jsonl"}).encode(),
    "a great number": b'{"prompt": ' + b"1" * 100_000 + b"}",
    "escape codes": rb'{"prompt": "\u001b[2J\u202e", "session_id": "\u001b]0;x\u0007"}',
}


@pytest.mark.parametrize("event", EVENTS)
@pytest.mark.parametrize("name", BAD_JSON)
def test_bad_json(stored: Path, hook: Hook, event: str, name: str) -> None:
    run = hook(event, BAD_JSON[name])
    assert run.silent
    assert run.seconds < 8


@pytest.mark.parametrize("event", EVENTS)
def test_fifty_megabytes(stored: Path, hook: Hook, log: Log, event: str) -> None:
    assert hook(event, b'{"prompt": "' + b"x" * 50_000_000 + b'"}').silent
    assert "50,000" in log()


def test_stdin_that_is_closed_or_a_terminal_or_stays_open(stored: Path, hook: Hook) -> None:
    assert hook("stop", stdin=subprocess.DEVNULL).silent
    controller, terminal = pty.openpty()
    run = hook("user-prompt-submit", stdin=terminal)
    os.close(terminal)
    os.close(controller)
    assert run.silent
    reader, writer = os.pipe()
    run = hook("user-prompt-submit", stdin=reader, env={"GIEOK_HOOKS_TIMEOUT": "0.7"})
    os.close(reader)
    os.close(writer)
    assert run.silent
    assert run.seconds < 4
    closed = subprocess.run(["sh", "-c", f"{sys.executable} -m pipeline hook stop <&- >&- 2>&-"], check=False)
    assert closed.returncode == 0


@pytest.fixture
def hostile(tmp_path: Path) -> dict[str, str]:
    folder = tmp_path / "hostile"
    folder.mkdir()
    line = '{"type":"user","uuid":"1","sessionId":"s","message":{"role":"user","content":"비밀 배포"}}\n'
    (folder / "good.jsonl").write_text(line, "utf-8")
    (folder / "good.txt").write_text(line, "utf-8")
    (folder / "link.jsonl").symlink_to(folder / "good.jsonl")
    (folder / "rows.jsonl").write_text('{"id": 1, "content": "비밀 배포"}\n', "utf-8")
    (folder / "dir.jsonl").mkdir()
    os.mkfifo(folder / "fifo.jsonl")
    here = socket.socket(socket.AF_UNIX)
    here.bind(str(folder / "socket.jsonl"))
    here.close()
    return {
        "passwd": "/etc/passwd",
        "relative": "../../x.jsonl",
        "climbing": f"{folder}/../hostile/good.jsonl",
        "suffix": str(folder / "good.txt"),
        "symlink": str(folder / "link.jsonl"),
        "no transcript": str(folder / "rows.jsonl"),
        "folder": str(folder / "dir.jsonl"),
        "fifo": str(folder / "fifo.jsonl"),
        "socket": str(folder / "socket.jsonl"),
        "device": "/dev/zero",
        "missing": str(folder / "none.jsonl"),
        "empty": "",
    }


@pytest.mark.parametrize("event", ["pre-compact", "stop", "session-end"])
def test_only_a_transcript_is_read(stored: Path, hook: Hook, log: Log, hostile: dict[str, str], event: str) -> None:
    for number, path in enumerate(hostile.values(), start=1):
        run = hook(event, {"session_id": "s", "transcript_path": path})
        assert run.silent, path
        assert run.seconds < 8
        assert log().count("SourceError") == number, path
    assert "비밀" not in hook("user-prompt-submit", {"prompt": "비밀 배포"}).context
    assert not list((stored / "hooks").glob("todo-*"))


@pytest.mark.parametrize("event", EVENTS)
def test_a_store_that_is_missing_broken_or_locked(home: Path, hook: Hook, event: str, tmp_path: Path) -> None:

    given = {"prompt": "배포", "session_id": "s", "transcript_path": "/none.jsonl"}
    assert hook(event, given).silent
    assert not home.exists()  # nothing is made for nothing
    home.mkdir()
    (home / "memories.db").write_bytes(b"not a database, not at all" * 100)
    assert hook(event, given).silent
    (home / "memories.db").unlink()
    (home / "memories.db").mkdir()
    assert hook(event, given).silent
    file = tmp_path / "file"
    file.write_text("x")
    assert hook(event, given, at=file).silent
    assert hook(event, given, at=file / "below").silent


def test_a_locked_store_costs_no_more_than_the_bound(stored: Path, hook: Hook, transcript: Write) -> None:
    import sqlite3

    path = transcript("s1", ("user", "잠긴 동안에 한 말"))
    lock = sqlite3.connect(stored / "memories.db", isolation_level=None)
    lock.execute("BEGIN IMMEDIATE")
    env = {"GIEOK_EMBEDDER_MODEL": "none", "GIEOK_HOOKS_TIMEOUT": "1", "GIEOK_HOOKS_BACKGROUND": "0"}
    for event in EVENTS:
        run = hook(event, {"prompt": "한 말", "session_id": "s2", "transcript_path": str(path)}, env=env)
        assert (run.code, run.err) == (0, b"")
        assert run.seconds < 5
    lock.execute("ROLLBACK")
    lock.close()
    time.sleep(2.2)  # the workers' own timers
    assert hook("stop", {"transcript_path": str(path)}).silent  # what could not be done is made up for
    assert "잠긴 동안에" in hook("user-prompt-submit", {"prompt": "잠긴 동안", "session_id": "s2"}).context


@pytest.mark.parametrize("event", EVENTS)
@pytest.mark.parametrize(
    "wrong",
    [
        {"options": ("--config", "/none/config.toml")},
        {"env": {"GIEOK_HOOKS_TIMEOUT": "soon"}},
        {"env": {"GIEOK_NO_SUCH_SETTING": "1"}},
        {"options": ("--no-such-option",)},
        {"env": {"GIEOK_EMBEDDER_MODEL": "no/such-model"}},
    ],
    ids=["config", "value", "variable", "option", "model"],
)
def test_wrong_settings_block_nobody(stored: Path, hook: Hook, event: str, wrong: dict[str, object]) -> None:
    run = hook(event, {"prompt": "qqqq", "session_id": "s"}, **wrong)
    assert run.silent


def test_a_broken_settings_file_is_logged(stored: Path, hook: Hook, log: Log, tmp_path: Path) -> None:
    broken = tmp_path / "config.toml"
    broken.write_text("[hooks\n")
    assert hook("user-prompt-submit", {"prompt": "배포"}, options=("--config", str(broken))).silent
    assert "ConfigError" in log()
    assert (stored / "hooks.log").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("event", [None, "", "no-such-event", "UserPromptSubmit", "--help=no"])
def test_unknown_events_are_silent(hook: Hook, event: str | None) -> None:
    assert hook(event, {"prompt": "x"}).silent


def test_stdout_that_takes_nothing(stored: Path, hook: Hook) -> None:
    with Path("/dev/full").open("wb") as full:
        run = hook("user-prompt-submit", {"prompt": "배포"}, stdout=full)
    assert (run.code, run.err) == (0, b"")
    reader, writer = os.pipe()
    os.close(reader)
    run = hook("user-prompt-submit", {"prompt": "배포"}, stdout=writer)
    os.close(writer)
    assert (run.code, run.err) == (0, b"")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_home_that_cannot_be_written(stored: Path, hook: Hook, transcript: Write) -> None:
    stored.chmod(0o500)
    try:
        for event in EVENTS:
            run = hook(event, {"prompt": "배포", "transcript_path": str(transcript("s", ("user", "말")))})
            assert (run.code, run.err) == (0, b"")
    finally:
        stored.chmod(0o700)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_signals_end_it_with_success(stored: Path, number: signal.Signals) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "pipeline", "--home", str(stored), "hook", "user-prompt-submit"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    time.sleep(0.5)
    process.send_signal(number)
    assert process.wait(10) == 0
    assert process.communicate() == (b"", b"")


def test_a_log_is_bounded_and_holds_no_prompt(stored: Path, hook: Hook, log: Log) -> None:
    (stored / "hooks.log").write_text("x" * 70_000)
    hook("user-prompt-submit", b'{"prompt": "my secret prompt", ')
    assert len(log()) < 1000
    assert "secret" not in log()
    assert (stored / "hooks.log.1").stat().st_size == 70_000
