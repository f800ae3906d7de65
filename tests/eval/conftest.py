"""A tiny labelled set."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

DOCUMENTS = [
    {
        "_id": "deploy",
        "title": "배포",
        "text": "배포는 금요일에 금지한다. 롤백 담당자를 먼저 정한다.",
        "metadata": {"type": "insight"},
    },
    {
        "_id": "index",
        "title": "",
        "text": "주문 테이블의 복합 인덱스가 테이블보다 커져서 다시 만들었다.",
        "metadata": {"type": "response", "session_id": "db"},
    },
    {
        "_id": "ticket",
        "title": "",
        "text": "PAY-4821: the refund job retries twice and then pages the on-call engineer.",
        "metadata": {"type": "note", "timestamp": "2026-01-30T10:00:00Z"},
    },
    {
        "_id": "cache",
        "title": "Cache",
        "text": "The session cache forgets an entry after thirty minutes.",
        "metadata": {},
    },
    {"_id": "lunch", "title": "", "text": "점심은 회사 앞 국수집에서 먹었다.", "metadata": {}},
]
QUERIES = {
    "q1": "배포 금지 요일",
    "q2": "복합 인덱스 크기",
    "q3": "PAY-4821",
    "q4": "how long does the cache keep sessions",
}
QRELS = {"q1": {"deploy": 1}, "q2": {"index": 1}, "q3": {"ticket": 1}, "q4": {"cache": 1}}

MakeSet = Callable[..., Path]


@pytest.fixture
def make_set(tmp_path: Path) -> MakeSet:
    """Write a set; what is not given is a good one of five documents and four queries."""

    def make(
        name: str = "tiny",
        documents: Sequence[Mapping[str, Any]] = DOCUMENTS,
        queries: Mapping[str, str] | Sequence[Mapping[str, Any]] = QUERIES,
        qrels: Mapping[str, Mapping[str, int]] | str = QRELS,
        splits: Sequence[str] = ("dev", "test"),
    ) -> Path:
        folder = tmp_path / name
        (folder / "qrels").mkdir(parents=True)
        rows = (
            [{"_id": key, "text": text} for key, text in queries.items()] if isinstance(queries, Mapping) else queries
        )
        for file, lines in (("corpus", documents), ("queries", rows)):
            text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
            (folder / f"{file}.jsonl").write_text(text, encoding="utf-8")
        table = (
            qrels
            if isinstance(qrels, str)
            else "query-id\tcorpus-id\tscore\n"
            + "".join(f"{query}\t{doc}\t{grade}\n" for query, docs in qrels.items() for doc, grade in docs.items())
        )
        for split in splits:
            (folder / "qrels" / f"{split}.tsv").write_text(table, encoding="utf-8")
        return folder

    return make


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Kept indexes, shared by all tests: the same set is embedded once."""
    return tmp_path_factory.mktemp("eval-cache")
