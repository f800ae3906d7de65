"""Layer 3 for a query: the part of a memory that matches, and never more than was asked for."""

from __future__ import annotations

from pathlib import Path

import pytest

from indexes.errors import UsageError
from pipeline import Gieok, Settings
from pipeline.budget import cost
from pipeline.settings import Embedder

FILLER = "\n\n".join(f"점검 {number}: 서버 {number}번의 로그를 보고 이상이 없음을 적었다. " * 4 for number in range(40))
NEEDLE = "멱등 키는 구독과 청구 기간으로 만든다. 그래서 같은 청구가 두 번 나가지 않는다."


@pytest.fixture(params=["none", "e5-small-ko-en"])
def memory(request: pytest.FixtureRequest, tmp_path: Path):
    text = f"{FILLER}\n\n{NEEDLE}\n\n{FILLER}"
    (tmp_path / "log.jsonl").write_text(f'{{"id": "1", "content": {_json(text)}}}\n', encoding="utf-8")
    with Gieok.open(tmp_path / "home", Settings(embedder=Embedder(model=request.param))) as opened:
        opened.index([tmp_path / "log.jsonl"])
        yield opened


def _json(text: str) -> str:
    import json

    return json.dumps(text, ensure_ascii=False)


def test_a_query_gives_the_part_that_matches(memory: Gieok) -> None:
    (hit,) = memory.search_index("멱등 키", min_score=0.0)
    (whole,) = memory.get_details([hit.id])
    (part,) = memory.get_details([hit.id], "멱등 키는 무엇으로 만들지?")
    assert NEEDLE in part.content
    assert cost(whole.content) > 4 * cost(part.content)
    assert cost(part.content) <= memory.settings.layer3.section_tokens + 30  # the marks of what is left out
    assert "characters before this left out" in part.content
    assert part.metadata == whole.metadata


def test_max_tokens_bounds_a_detail_with_and_without_a_query(memory: Gieok) -> None:
    (hit,) = memory.search_index("멱등 키", min_score=0.0)
    (short,) = memory.get_details([hit.id], max_tokens=60)
    assert short.content.startswith("점검 0")
    assert cost(short.content) <= 90
    (part,) = memory.get_details([hit.id], "멱등 키", max_tokens=100_000)
    assert "left out" not in part.content


def test_bad_bounds_are_refused(memory: Gieok) -> None:
    with pytest.raises(UsageError, match="max_tokens is 0"):
        memory.get_details(["mem_x"], max_tokens=0)
    with pytest.raises(UsageError, match="empty"):
        memory.get_details(["mem_x"], "  ")
