"""Queries that are a dialogue: what counts as one, and that its last turn leads."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline import Gieok
from pipeline.dialogue import last_turn

RACE = "Bart: Nervous, the race is on Friday."
WHY = "도우미: 금요일은 안 돼요.\n왜냐하면\n사고가 났거든요."


@pytest.mark.parametrize(
    ("query", "last"),
    [
        (f"Bart: I won!\nAssistant: How do you feel?\n{RACE}", RACE),
        (f"사용자: 배포는?\n{WHY}", WHY),
        ("배포를 언제 하지?", None),
        ("첫 줄\n둘째 줄", None),
        ("Traceback (most recent call last):\n  File x\nValueError: no", None),
        ("note: one speaker is no dialogue", None),
        ("http://a.b/c\nhttp://d.e/f", None),
        ("12:30 meeting\n13:30 lunch", None),
        ("", None),
    ],
)
def test_the_last_turn(query: str, last: str | None) -> None:
    assert last_turn(query) == last


@given(st.text())
def test_any_text_is_a_dialogue_or_none(text: str) -> None:
    last = last_turn(text)
    assert last is None or set(last.splitlines()) <= set(text.splitlines())


def test_what_was_said_last_decides(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("정산 배치는 새벽 두 시에 돈다.\n", encoding="utf-8")
    (tmp_path / "b.md").write_text("알림 서버는 포트 9000을 쓴다.\n", encoding="utf-8")
    turns = ["사용자: 정산 배치는 몇 시에 돌지?", "도우미: 새벽 두 시입니다.", "사용자: 알림 서버는 포트가 뭐지?"]
    with Gieok.open(tmp_path / "home") as memory:
        memory.index([tmp_path / "a.md", tmp_path / "b.md"])
        first = memory.find("\n".join(turns)).result.index[0]
        before = memory.find("\n".join([turns[2], "도우미: 9000입니다.", turns[0]])).result.index[0]
    assert first.summary.startswith("알림 서버")
    assert before.summary.startswith("정산 배치")
