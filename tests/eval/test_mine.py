from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from eval.mine import mine
from indexes.errors import UsageError
from pipeline import Gieok

NOTES = {
    "a.md": "# 배포 규칙\n\n배포는 금요일에 금지한다. 롤백 담당자를 정한다.\n",
    "b.md": "# Refund job\n\nThe job in src/app/refund.py retries PAY-4821 twice.\n",
    "c.md": "# API 캐시\n\nAPI 응답은 redis_cache 에 삼십분 동안 보관한다.\n",
}


def test_both_tools_are_asked_every_kind_of_query(open_gieok: Callable[..., Gieok], notes: Callable[..., Path]) -> None:
    gieok = open_gieok()
    gieok.index([notes(NOTES)])
    file = mine(gieok, sample=10)
    assert (file.memories, file.with_vectors, file.sampled) == (3, 3, 3)
    assert set(file.kinds) == {
        "title",
        "keywords",
        "particles changed",
        "spacing changed",
        "NFD",
        "mixed script",
        "identifier",
    }
    for rows in file.kinds.values():
        assert list(rows) == ["gieok", "grep"]
        assert rows["gieok"].queries == rows["grep"].queries > 0
        assert rows["gieok"].in_ten == 1
    # Decomposed Hangul shares no letter with the text: grep finds a memory by a Latin word of the query at most.
    assert file.kinds["NFD"]["grep"].in_ten < 1
    assert file.kinds["title"]["grep"].in_ten == 1


def test_no_text_of_the_user_is_in_the_figures(open_gieok: Callable[..., Gieok], notes: Callable[..., Path]) -> None:
    gieok = open_gieok()
    gieok.index([notes(NOTES)])
    written = mine(gieok).model_dump_json()
    assert not any(word in written for word in ("배포", "refund", "redis_cache"))


def test_an_empty_store_is_refused_with_the_next_step(open_gieok: Callable[..., Gieok]) -> None:
    with pytest.raises(UsageError, match="gieok index PATH"):
        mine(open_gieok())
