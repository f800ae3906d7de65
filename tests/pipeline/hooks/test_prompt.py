"""The prompt hook: what is injected, and what is not."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given as example
from hypothesis import strategies as st

from pipeline.hooks.query import HEAD, TAIL, query_of

Hook = Callable[..., Any]
Write = Callable[..., Path]


def test_context_stands_between_markers_with_its_figures(stored: Path, hook: Hook) -> None:
    run = hook("user-prompt-submit", {"prompt": "배포 언제?", "session_id": "s1"})
    assert (run.code, run.err) == (0, b"")
    assert json.loads(run.out)["hookSpecificOutput"]["hookEventName"] == "UserPromptSubmit"
    text = run.context
    assert text.startswith("<gieok-memory>\n")
    assert text.endswith("\n</gieok-memory>")
    assert "배포는 금요일에 금지한다" in text
    figures = re.search(r"\*matchCount: (\d+), expandedCount: (\d+), estimatedTokens: (\d+)\*\n</gieok-memory>$", text)
    assert figures is not None
    lines = len(re.findall(r"^\| mem_", text, re.MULTILINE))
    assert int(figures[1]) == lines >= 1
    assert 0 < int(figures[3]) <= 1000


@pytest.mark.parametrize(
    "prompt",
    [
        "",
        "   \n",
        "/memory 배포",
        "/plugin:do",
        "네",
        "ok, go ahead",
        "계속해줘!",
        "qwzxv bnmkj",
        "<private>배포</private>",
    ],
)
def test_nothing_is_injected_without_something_to_say(stored: Path, hook: Hook, prompt: str) -> None:
    assert hook("user-prompt-submit", {"prompt": prompt, "session_id": "s"}).silent


def test_a_path_at_the_start_is_no_slash_command() -> None:
    assert query_of("/home/haru/배포.md 고쳐줘") == "/home/haru/배포.md 고쳐줘"


@pytest.mark.parametrize("prompt", ["배포", "배포 언제?", "스키마", "PAY-4821"])
def test_short_prompts_are_not_skipped(stored: Path, hook: Hook, prompt: str) -> None:
    assert hook("user-prompt-submit", {"prompt": prompt}).context


def test_the_same_is_not_injected_twice_into_a_session(stored: Path, hook: Hook) -> None:
    asked = {"prompt": "배포 언제?", "session_id": "s1"}
    assert hook("user-prompt-submit", asked).context
    assert hook("user-prompt-submit", asked).silent
    assert hook("user-prompt-submit", {**asked, "session_id": "s2"}).context
    states = list((stored / "hooks").glob("seen-*"))
    assert len(states) == 2
    assert {path.stat().st_mode & 0o777 for path in states} == {0o600}
    assert not any("배포" in path.read_text("utf-8") for path in states)
    hook("session-start", {"session_id": "s1", "source": "resume"})
    assert hook("user-prompt-submit", asked).silent
    hook("session-start", {"session_id": "s1", "source": "compact"})
    assert hook("user-prompt-submit", asked).context


def test_the_session_itself_is_left_out_until_it_is_compacted(stored: Path, hook: Hook, transcript: Write) -> None:
    path = transcript("s1", ("user", "캐시 만료는 얼마로 할까"), ("assistant", "캐시 만료는 90초로 정했습니다."))
    hook("stop", {"session_id": "s1", "transcript_path": str(path)})
    asked = {"prompt": "캐시 만료", "session_id": "s1"}
    assert "90초" in hook("user-prompt-submit", {**asked, "session_id": "s2"}).context
    assert hook("user-prompt-submit", asked).silent
    hook("session-start", {"session_id": "s1", "source": "compact"})
    assert "90초" in hook("user-prompt-submit", asked).context


def test_a_project_alone_if_so_set(stored: Path, hook: Hook, transcript: Write) -> None:
    path = transcript("old", ("user", "배포 창구는 다섯 시에 닫는다"))
    hook("stop", {"transcript_path": str(path)})
    env = {"GIEOK_EMBEDDER_MODEL": "none", "GIEOK_HOOKS_THIS_PROJECT": "true", "CLAUDE_PROJECT_DIR": ""}
    text = hook("user-prompt-submit", {"prompt": "배포", "cwd": "/work/shop"}, env=env).context
    assert "다섯 시" in text
    assert "금요일" not in text
    assert "금요일" in hook("user-prompt-submit", {"prompt": "배포", "cwd": "/work/shop"}).context


def test_a_hundred_thousand_characters_are_cut_to_a_query(stored: Path, hook: Hook) -> None:
    prompt = "배포 언제 하지? " + "x1y2 로그 줄\n" * 10_000
    assert len(prompt) > 70_000
    run = hook("user-prompt-submit", {"prompt": prompt})
    assert (run.code, run.err) == (0, b"")
    assert len(query_of(prompt)) <= HEAD + TAIL


@example(st.text(max_size=300).map(lambda text: text * 200))
def test_a_query_is_bounded_whatever_the_prompt(prompt: str) -> None:
    assert len(query_of(prompt)) <= HEAD + TAIL + 1


def test_what_was_injected_is_no_part_of_a_query() -> None:
    assert query_of("배포 <gieok-memory>금요일</gieok-memory> 언제") == "배포 언제"


def test_a_flood_stays_within_what_the_host_takes(home: Path, hook: Hook, notes: Write) -> None:
    folder = notes({f"{n}.md": f"# 배포 {n}\n\n" + f"배포 항목 {n} " + "a b c d e f g h i j " * 200 for n in range(40)})
    hook("user-prompt-submit", {"prompt": "x"})
    from pipeline import Gieok, Settings

    with Gieok.open(home, Settings.model_validate({"embedder": {"model": "none"}})) as memory:
        memory.index([folder])
    env = {
        "GIEOK_EMBEDDER_MODEL": "none",
        "GIEOK_HOOKS_MAX_TOKENS": "50000",
        "GIEOK_BUDGET_MAX_TOTAL_TOKENS": "50000",
        "GIEOK_LAYER1_TOP_K": "100",
        "GIEOK_LAYER1_MIN_SCORE": "0",
    }
    text = hook("user-prompt-submit", {"prompt": "배포 항목 자세히 알려줘"}, env=env).context
    assert 0 < len(text) < 10_000
    assert text.endswith("</gieok-memory>")


def test_with_vectors_an_english_question_finds_the_korean_note(home: Path, hook: Hook, notes: Write) -> None:
    from pipeline import Gieok

    folder = notes({"a.md": "# 배포 규칙\n\n배포는 금요일에 금지한다.\n", "b.md": "# 점심\n\n점심은 김밥이 좋다.\n"})
    with Gieok.open(home) as memory:
        memory.index([folder])
    env = {"GIEOK_HOOKS_TIMEOUT": "30", "GIEOK_LAYER1_MIN_SCORE": "0.5"}
    run = hook("user-prompt-submit", {"prompt": "Why can't we deploy on Fridays?"}, env=env)
    assert "금요일" in run.context
    assert os.path.exists(home / "noise.npz")  # noqa: PTH110 - the model was used
