"""Every reader on what people really write. The data lies outside the repository."""

from __future__ import annotations

from pathlib import Path

import pytest

from indexes.tokens import estimate_tokens
from pipeline.sources.base import Draft
from pipeline.sources.cutting import MAX_TOKENS, TAIL
from pipeline.sources.read import load, parse
from pipeline.sources.walker import Found, walk

pytestmark = pytest.mark.shared_data


def read_all(root: Path) -> tuple[list[Draft], list[str], int]:
    drafts: list[Draft] = []
    notices: list[str] = []
    files = 0
    for found in walk([root], max_bytes=10_000_000):
        assert isinstance(found, Found), found
        reading = parse(load(found.path, max_bytes=10_000_000), found, redact=True)
        drafts += reading.drafts
        notices += reading.notices
        files += 1
    return drafts, notices, files


@pytest.mark.parametrize(("folder", "expected"), [("til_ko", 373), ("observations_en", 137)])
def test_notes(shared_data: Path, folder: str, expected: int) -> None:
    drafts, notices, files = read_all(shared_data / folder)
    assert files == expected
    # Two passwords of examples, a generated one and two tokens of a link; nothing else is taken for a secret.
    masked = ["1 secret masked (password 1)"] * 3 + ["2 secrets masked (credential 2)"]
    assert sorted(notices) == (masked if folder == "til_ko" else [])
    sizes = sorted(estimate_tokens(draft.content) for draft in drafts)
    # Only a code fence makes a memory longer, and few have so long a one.
    assert sum(size > MAX_TOKENS + TAIL for size in sizes) <= len(sizes) // 100
    assert 200 <= sizes[len(sizes) // 2] <= MAX_TOKENS


def test_transcripts(shared_data: Path) -> None:
    drafts, notices, files = read_all(shared_data / "transcripts")
    assert files == 14
    assert all("cut in the middle" in notice for notice in notices)
    kinds = [draft.type for draft in drafts]
    assert (kinds.count("tool"), kinds.count("insight")) == (312, 6)  # tool_use blocks and summary lines in the files
    assert all(estimate_tokens(draft.content) < 1_000 for draft in drafts)
    assert not any("<system-reminder>" in draft.content for draft in drafts if draft.type == "prompt")
    assert {draft.project for draft in drafts if draft.project} >= {"cli"}
