"""What finds a memory besides its own text: its neighbours if it is a turn, its path, its files, its branch."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from pipeline import Gieok, Settings
from pipeline.settings import Embedder

WORDS_ONLY = Settings(embedder=Embedder(model="none"))


def written(path: Path, *rows: dict[str, object]) -> Path:
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    return path


def turn(key: str, content: str, session: str | None = "s1", minute: int = 0, **more: object) -> dict[str, object]:
    row = {"id": key, "content": content, "timestamp": f"2026-01-30T14:{minute:02}:00Z", **more}
    return row | ({"session": session} if session else {})


@pytest.fixture
def words(tmp_path: Path) -> Iterator[Gieok]:
    with Gieok.open(tmp_path / "home", WORDS_ONLY) as memory:
        yield memory


def found(memory: Gieok, query: str) -> list[str]:
    return [item.summary for item in memory.search_index(query, min_score=0.0)]


def test_an_answer_is_found_by_what_was_asked(words: Gieok, tmp_path: Path) -> None:
    rows = [
        turn("1", "점심은 김밥으로 하자", "s0"),
        turn("2", "결제 재시도는 몇 번까지 해?", minute=1, type="prompt"),
        turn("3", "다섯 번이요.", minute=2, type="response"),
        turn("4", "다섯 번이요.", "s2", minute=3, type="response"),
    ]
    words.index([written(tmp_path / "talk.jsonl", *rows)])
    # The question itself, then its answer; the same words in another session are no hit.
    ids = [item.id for item in words.search_index("결제 재시도", min_score=0.0)]
    sessions = [detail.session_id for detail in words.get_details(ids)]
    assert (found(words, "결제 재시도"), sessions) == (["결제 재시도는 몇 번까지 해?", "다섯 번이요."], ["s1", "s1"])


def test_a_turn_forgets_a_neighbour_that_is_gone(words: Gieok, tmp_path: Path) -> None:
    question, answer = turn("1", "결제 재시도는?", type="prompt"), turn("2", "다섯 번이요.", minute=1, type="response")
    file = written(tmp_path / "talk.jsonl", question, answer)
    words.index([file])
    assert len(found(words, "재시도")) == 2
    written(file, answer)
    words.index([file])
    assert found(words, "재시도") == []


def test_rows_without_a_session_are_no_conversation(words: Gieok, tmp_path: Path) -> None:
    words.index([written(tmp_path / "rows.jsonl", turn("1", "결제 재시도", None), turn("2", "다섯 번", None))])
    assert found(words, "재시도") == ["결제 재시도"]


def test_vectors_of_turns_lean_on_their_neighbours(tmp_path: Path) -> None:
    rows = [
        turn("1", "What should we name the new puppy?", "s1", 1),
        turn("2", "Let's call him that, yes!", "s1", 2),
        turn("3", "How do we renew the TLS certificate?", "s2", 3),
        turn("4", "Let's call him that, yes!", "s2", 4),
    ]
    with Gieok.open(tmp_path / "home") as memory:
        memory.index([written(tmp_path / "talk.jsonl", *rows)])
        ranked = memory.rank("a name for the dog").vectors
        assert ranked is not None
        order = [memory.memories([rid])[0].metadata["key"] for rid in ranked.ids.tolist()]
    assert order.index("2") < order.index("4")  # the same words, in another conversation


def test_names_of_files_branches_and_paths_find_a_memory(words: Gieok, tmp_path: Path) -> None:
    rows = [
        turn("1", "멱등 키를 넣었다", None, files=["/home/me/app/charge_attempts.py"]),
        turn("2", "재시도 간격을 늘렸다", None, metadata={"git_branch": "fix/backoff-jitter"}),
        turn("3", "색인을 두 번 만들지 않는다", None, metadata={"path": "notes/Database/slow queries.md"}),
    ]
    words.index([written(tmp_path / "rows.jsonl", *rows)])
    (tmp_path / "runbook").mkdir()
    (tmp_path / "runbook" / "certificate-renewal.md").write_text("석 달마다 한다.\n", encoding="utf-8")
    words.index([tmp_path / "runbook"])
    assert found(words, "charge_attempts.py") == ["멱등 키를 넣었다"]
    assert found(words, "backoff jitter") == ["재시도 간격을 늘렸다"]
    # A row without a title is led by the name of the file that it is from.
    assert found(words, "slow queries") == ["slow queries: 색인을 두 번 만들지 않는다"]
    assert found(words, "certificate renewal") == ["석 달마다 한다."]
    assert found(words, "home") == []  # of a file's path only the name


def test_a_change_of_files_alone_is_found(words: Gieok, tmp_path: Path) -> None:
    file = written(tmp_path / "rows.jsonl", turn("1", "고쳤다", None, files=["a_first.py"]))
    words.index([file])
    written(file, turn("1", "고쳤다", None, files=["b_second.py"]))
    words.index([file])
    assert (found(words, "a_first"), found(words, "b_second")) == ([], ["고쳤다"])


def test_no_word_of_a_neighbour_outlives_it_when_turns_change_places(words: Gieok, tmp_path: Path) -> None:
    alpha, mid, gamma, delta = (
        turn(str(number), text, "s1", minute)
        for number, (text, minute) in enumerate(
            [("alpha zebrafish", 0), ("mid walrusese", 2), ("gamma quokkas", 2), ("delta octopi", 2)]
        )
    )
    file = written(tmp_path / "talk.jsonl", alpha, mid, gamma, delta)
    words.index([file])
    assert found(words, "walrusese")[0] == "mid walrusese"
    written(file, alpha, delta, gamma)
    words.index([file])
    assert found(words, "walrusese") == []
    assert found(words, "quokkas") == ["gamma quokkas", "delta octopi"]  # beside each other, now the other way round
