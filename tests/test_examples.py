"""The example memories and the labelled sample: well-formed, consistent, and as varied as their READMEs say."""

from __future__ import annotations

import json
import re
from collections import Counter
from datetime import date, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parent.parent
MEMORIES = ROOT / "examples" / "memories"
SAMPLE = ROOT / "eval" / "sample"
DIARIES = sorted((MEMORIES / "diary").glob("*.md"))
TRANSCRIPTS = sorted((MEMORIES / "transcripts").glob("*.jsonl"))
SECTIONS = ["수행한 작업", "피드백 및 수정 지시", "설계 결정 및 이유", "실수 및 원인", "반복 패턴"]
TYPES = {"prompt", "response", "tool", "insight"}
HANGUL = re.compile("[가-힣]")

Row = dict[str, Any]


def rows(path: Path) -> list[Row]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def judgements(split: str) -> list[tuple[str, str]]:
    header, *lines = (SAMPLE / "qrels" / f"{split}.tsv").read_text(encoding="utf-8").splitlines()
    assert header == "query-id\tcorpus-id\tscore"
    cells = [line.split("\t") for line in lines]
    assert all(score == "1" for _, _, score in cells)
    return [(query, document) for query, document, _ in cells]


def front_matter(path: Path) -> tuple[Row, str]:
    _, head, body = path.read_text(encoding="utf-8").split("---\n", 2)
    return yaml.safe_load(head), body


def is_korean(text: str) -> bool:
    return len(HANGUL.findall(text)) > len(text) / 10


# --- examples/memories ---


def test_there_are_enough_files_of_each_kind() -> None:
    count = Counter(path.relative_to(MEMORIES).parts[0] for path in MEMORIES.rglob("*") if path.is_file())
    assert count == {"diary": 18, "notes": 25, "transcripts": 2, "imports": 1}, "examples/README.md says so too"


@pytest.mark.parametrize("path", DIARIES, ids=lambda path: path.stem)
def test_a_diary_has_the_front_matter_and_the_sections(path: Path) -> None:
    head, body = front_matter(path)
    assert set(head) == {"date", "session", "team_id", "task_id", "tags", "auto_generated"}
    assert path.stem == f"{head['date']}-session-{head['session']:02d}"
    assert date(2026, 1, 1) <= date.fromisoformat(head["date"]) <= date(2026, 3, 31)
    assert head["team_id"] == "haru"
    assert head["tags"]
    assert [line[3:] for line in body.splitlines() if line.startswith("## ")] == SECTIONS


def test_one_diary_comes_from_the_hook() -> None:
    assert [path.stem for path in DIARIES if front_matter(path)[0]["auto_generated"]] == ["2026-02-20-session-03"]


@pytest.mark.parametrize("pattern", ["금요일 배포 금지", "마이그레이션 순서를 지킨다", "테스트를 먼저 쓰"])
def test_patterns_repeat_over_diaries(pattern: str) -> None:
    """What a search for patterns shall find stands in the last section of at least three diaries."""
    last = [path.read_text(encoding="utf-8").split("## 반복 패턴")[1] for path in DIARIES]
    assert sum(pattern in section for section in last) >= 3


def test_dates_that_are_called_friday_are_fridays() -> None:
    for day in ("2026-01-16", "2026-01-30", "2026-02-06", "2026-02-13", "2026-03-06"):
        assert date.fromisoformat(day).weekday() == 4
        assert any(path.stem.startswith(day) and re.search("금요일|Friday", path.read_text()) for path in DIARIES)


def test_notes_are_in_both_languages_with_code_lists_and_tables() -> None:
    notes = [path.read_text(encoding="utf-8") for path in (MEMORIES / "notes").rglob("*.md")]
    korean = sum(map(is_korean, notes))
    assert korean >= 10
    assert len(notes) - korean >= 5
    for mark in ("```sql", "```python", "```bash", "```ts", "\n- ", "\n1. ", "|---|", "PAY-4821"):
        assert any(mark in note for note in notes), mark


@pytest.mark.parametrize("path", TRANSCRIPTS, ids=lambda path: path.stem)
def test_a_transcript_is_a_chain_of_messages(path: Path) -> None:
    lines = rows(path)
    messages = [row for row in lines if "uuid" in row]
    uuids = [row["uuid"] for row in messages]
    assert len(set(uuids)) == len(uuids)
    assert [row["parentUuid"] for row in messages] == [None, *uuids[:-1]]
    assert len({(row["sessionId"], row["cwd"], row["gitBranch"]) for row in messages}) == 1
    times = [datetime.fromisoformat(row["timestamp"]) for row in messages]
    assert times == sorted(times)
    assert {row["type"] for row in lines} == {
        "summary",
        "user",
        "assistant",
        "progress",
        "system",
        "file-history-snapshot",
    }


@pytest.mark.parametrize("path", TRANSCRIPTS, ids=lambda path: path.stem)
def test_every_tool_result_belongs_to_a_call(path: Path) -> None:
    blocks = [
        block
        for row in rows(path)
        if isinstance(content := row.get("message", {}).get("content"), list)
        for block in content
    ]
    calls = [block["id"] for block in blocks if block["type"] == "tool_use"]
    assert calls
    assert calls == [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]


def test_the_import_has_our_row_shape() -> None:
    lines = rows(MEMORIES / "imports" / "team-memory.jsonl")
    assert len({row["id"] for row in lines}) == len(lines) >= 10
    for row in lines:
        assert set(row) == {"id", "content", "type", "timestamp", "session", "tags"}
        assert row["type"] in TYPES
        assert datetime.fromisoformat(row["timestamp"]).tzinfo is not None


# --- eval/sample ---


def test_the_corpus_is_sound() -> None:
    corpus = rows(SAMPLE / "corpus.jsonl")
    assert len({row["_id"] for row in corpus}) == len(corpus) == 130
    assert len({row["text"] for row in corpus}) == len(corpus)
    for row in corpus:
        assert set(row) == {"_id", "title", "text", "metadata"}
        assert set(row["metadata"]) == {"type", "timestamp", "session"}
        assert row["metadata"]["type"] in TYPES
        assert datetime.fromisoformat(row["metadata"]["timestamp"]).tzinfo is not None
    assert sum(is_korean(row["text"]) for row in corpus) == 72
    assert sum(len(row["text"]) > 600 for row in corpus) >= 6


def test_queries_and_kinds_are_as_the_readme_says() -> None:
    queries, unanswerable = rows(SAMPLE / "queries.jsonl"), rows(SAMPLE / "unanswerable.jsonl")
    both = queries + unanswerable
    assert len({row["_id"] for row in both}) == len(both)
    assert len({row["text"] for row in both}) == len(both)
    assert all(set(row) == {"_id", "text", "metadata"} and row["text"].strip() for row in both)
    told = re.findall(r"^\| `([a-z-]+)` \| (\d+) \|", (SAMPLE / "README.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert Counter(row["metadata"]["kind"] for row in both) == {kind: int(count) for kind, count in told}
    assert len(queries) == 139
    assert len(unanswerable) == 38


def test_every_query_has_an_answer_in_one_split_and_every_answer_exists() -> None:
    dev, test = judgements("dev"), judgements("test")
    asked = {row["_id"] for row in rows(SAMPLE / "queries.jsonl")}
    known = {row["_id"] for row in rows(SAMPLE / "corpus.jsonl")}
    in_dev, in_test = ({query for query, _ in split} for split in (dev, test))
    assert in_dev | in_test == asked
    assert not in_dev & in_test
    assert (len(in_dev), len(in_test)) == (70, 69)
    assert {document for _, document in dev + test} <= known
    assert len(set(dev + test)) == len(dev + test)


def test_questions_across_languages_are_across_languages() -> None:
    language = {row["_id"]: is_korean(row["text"]) for row in rows(SAMPLE / "corpus.jsonl")}
    queries = {row["_id"]: row for row in rows(SAMPLE / "queries.jsonl")}
    for query, document in judgements("dev") + judgements("test"):
        kind, text = queries[query]["metadata"]["kind"], queries[query]["text"]
        if kind in {"ko-en", "en-ko"}:
            assert bool(HANGUL.search(text)) == (kind == "ko-en")
            assert language[document] == (kind == "en-ko")
