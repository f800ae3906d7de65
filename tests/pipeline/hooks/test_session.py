"""A session from its start to the next one's, and what is left behind: nothing."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from pipeline import Gieok, Settings

Hook = Callable[..., Any]
Write = Callable[..., Path]
Log = Callable[[], str]

NONE = Settings.model_validate({"embedder": {"model": "none"}})


def _found(home: Path, query: str) -> list[str]:
    with Gieok.open(home, NONE) as memory:
        return [
            detail.content for hit in memory.search_index(query, min_score=0) for detail in memory.get_details([hit.id])
        ]


def test_the_chain(stored: Path, hook: Hook, transcript: Write) -> None:
    assert hook("session-start", {"session_id": "s1", "source": "startup", "cwd": "/work/shop"}).silent  # no diary yet
    injected = hook("user-prompt-submit", {"session_id": "s1", "prompt": "배포 언제?"}).context
    assert "금요일" in injected
    path = transcript(
        "s1",
        ("user", f"배포 언제?\n{injected}"),
        ("assistant", "큐 이름을 mailqueue로 바꾸고 재시도는 세 번으로 결정했습니다."),
        ("user", "아니, 커밋하기 전에 항상 테스트를 먼저 돌려줘"),
    )
    given = {"session_id": "s1", "transcript_path": str(path), "cwd": "/work/shop"}
    assert hook("pre-compact", {**given, "trigger": "auto"}).silent
    diaries = list((stored / "diary").glob("*-session-*.md"))
    assert len(diaries) == 1
    assert "auto_generated: true" in diaries[0].read_text("utf-8")
    assert hook("stop", {**given, "stop_hook_active": False}).silent
    assert any("mailqueue" in text for text in _found(stored, "mailqueue"))
    assert hook("session-end", {**given, "reason": "prompt_input_exit"}).silent
    start = hook("session-start", {"session_id": "s2", "source": "startup", "cwd": "/work/shop"})
    assert start.context.startswith("<gieok-memory>")
    assert start.context.rstrip().endswith("</gieok-memory>")
    assert len(start.context) < 10_000
    text = hook("user-prompt-submit", {"session_id": "s2", "prompt": "mailqueue 재시도"}).context
    assert "mailqueue" in text


def test_an_injected_block_is_not_indexed_again(stored: Path, hook: Hook, transcript: Write) -> None:
    injected = hook("user-prompt-submit", {"session_id": "s1", "prompt": "배포 언제?"}).context
    path = transcript("s1", ("user", f"월요일 배포 부탁해\n{injected}"), ("assistant", f"보니 {injected} 그렇습니다"))
    hook("stop", {"session_id": "s1", "transcript_path": str(path)})
    mine = [text for text in _found(stored, "배포 월요일 부탁") if "부탁" in text or "그렇습니다" in text]
    assert mine
    assert not any("금지" in text or "matchCount" in text for text in mine)


def test_stop_again_takes_only_what_is_new(stored: Path, hook: Hook, transcript: Write) -> None:
    path = transcript("s1", ("user", "첫째 말은 사과"))
    given = {"session_id": "s1", "transcript_path": str(path)}
    hook("stop", given)
    with Gieok.open(stored, NONE) as memory:
        before = memory.status().memories
        assert memory.index([path], vectors=False).skipped == 1
    hook("stop", given)
    transcript("s1", ("assistant", "둘째 말은 바나나"))
    hook("stop", given)
    with Gieok.open(stored, NONE) as memory:
        assert memory.status().memories == before + 1


def test_a_fresh_installation_begins_to_remember(home: Path, hook: Hook, transcript: Write) -> None:
    path = transcript("s1", ("user", "오늘은 전화번호 형식을 정했다"))
    assert hook("stop", {"session_id": "s1", "transcript_path": str(path)}).silent
    assert home.stat().st_mode & 0o777 == 0o700
    assert _found(home, "전화번호 형식")


def test_switched_off(stored: Path, hook: Hook, transcript: Write) -> None:
    path = transcript("s1", ("user", "오늘은 전화번호 형식을 정했다"))
    env = {"GIEOK_EMBEDDER_MODEL": "none", "GIEOK_HOOKS_TRANSCRIPTS": "false"}
    for event in ("pre-compact", "stop", "session-end"):
        assert hook(event, {"session_id": "s1", "transcript_path": str(path)}, env=env).silent
    assert not (stored / "diary").exists()
    assert not any("전화번호" in text for text in _found(stored, "전화번호"))


def test_many_at_once_lose_nothing_and_leave_nothing(home: Path, hook: Hook, transcript: Write) -> None:
    paths = [transcript(f"s{n}", ("user", f"작업 {n}번은 zeta{n}zeta를 고치는 일")) for n in range(8)]
    with ThreadPoolExecutor(8) as pool:
        runs = list(pool.map(lambda path: hook("stop", {"transcript_path": str(path)}), paths))
    assert all(run.silent for run in runs)
    hook("stop", {"transcript_path": str(paths[0])})  # takes along what was left
    _settled(home)
    for number in range(8):
        assert _found(home, f"zeta{number}zeta"), number
    assert _workers(home) == []


def test_embedding_goes_on_after_the_answer_once_and_ends(home: Path, hook: Hook, transcript: Write) -> None:
    paths = [
        transcript(f"s{n}", *[("user", f"{n}-{k} 번째 긴 이야기 " + "배포 규칙과 재시도 " * 30) for k in range(30)])
        for n in range(4)
    ]
    with ThreadPoolExecutor(4) as pool:
        runs = list(pool.map(lambda path: hook("session-end", {"transcript_path": str(path)}, env={}), paths))
    assert all(run.silent for run in runs)
    deadline = time.monotonic() + 60
    most = 0
    while (workers := _workers(home)) and time.monotonic() < deadline:
        most = max(most, len(workers))
        time.sleep(0.1)
    assert _workers(home) == []
    with Gieok.open(home) as memory:
        status = memory.status()
    assert status.vectors.memories > 0


@pytest.mark.parametrize("event", ["stop", "session-end", "pre-compact"])
def test_a_worker_that_hangs_is_ended_by_its_timer(stored: Path, hook: Hook, transcript: Write, event: str) -> None:
    import fcntl

    path = transcript("s1", ("user", "기다리는 말"))
    (stored / "hooks").mkdir(exist_ok=True)
    with (stored / "store.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # the store's own lock is never given
        env = {
            "GIEOK_EMBEDDER_MODEL": "none",
            "GIEOK_HOOKS_TIMEOUT": "1",
            "GIEOK_HOOKS_BACKGROUND": "1.5",
            "GIEOK_STORE_BUSY_TIMEOUT": "300",
        }
        run = hook(event, {"session_id": "s1", "transcript_path": str(path)}, env=env)
        assert run.silent
        assert run.seconds < 4
        time.sleep(3.5)
        assert _workers(stored) == []
    assert list((stored / "hooks").glob("todo-*"))  # it is not lost
    hook("session-start", {"source": "startup"})
    _settled(stored)
    assert _found(stored, "기다리는")


def test_it_is_left_alone_after_three_tries(stored: Path, hook: Hook, transcript: Write, log: Log) -> None:
    path = transcript("s1", ("user", "말"))
    (stored / "hooks").mkdir(exist_ok=True)
    mark = stored / "hooks" / ("todo-" + "0" * 16)
    mark.write_bytes(b"3\n" + bytes(path))
    hook("session-start", {"source": "startup"})
    _settled(stored)
    assert not mark.exists()


def test_the_words_answer_when_the_model_takes_too_long(stored: Path, tmp_path: Path, log: Log) -> None:
    slow = tmp_path / "slow"
    slow.mkdir()
    (slow / "sitecustomize.py").write_text(
        "import sys, time\n"
        "class Slow:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name == 'indexes.bundled': time.sleep(30)\n"
        "sys.meta_path.insert(0, Slow())\n"
    )
    import os

    began = time.monotonic()
    run = subprocess.run(
        [sys.executable, "-m", "pipeline", "--home", str(stored), "hook", "user-prompt-submit"],
        input='{"prompt": "배포 언제?"}',
        capture_output=True,
        text=True,
        timeout=20,
        check=False,
        env={**os.environ, "PYTHONPATH": str(slow), "GIEOK_HOOKS_TIMEOUT": "3"},
    )
    assert time.monotonic() - began < 6
    assert (run.returncode, run.stderr) == (0, "")
    assert "additionalContext" in run.stdout
    assert "did not load in time" in log()


def _settled(home: Path) -> None:
    """Wait until what was handed on is done."""
    deadline = time.monotonic() + 20
    while (_workers(home) or list((home / "hooks").glob("todo-*"))) and time.monotonic() < deadline:
        time.sleep(0.1)


def _workers(home: Path) -> list[int]:
    """Processes of hooks of this home that are still there."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                words = (entry / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if b"hook" in words and bytes(home) in words:
                found.append(int(entry.name))
    return found
