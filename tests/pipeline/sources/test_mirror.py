"""The Markdown mirror of claude-memory-layer."""

from __future__ import annotations

from datetime import UTC, datetime

from pipeline.sources.base import Reading, SourceText
from pipeline.sources.mirror import MirrorReader

MODIFIED = datetime(2026, 3, 1, tzinfo=UTC)
FIRST, SECOND = "1e97bc37-cfdb-41d2-97fe-8adce20db52d", "65bf8cff-b5ca-4506-b45b-abb5fc746a5c"


def block(identity: str, kind: str, content: str, session: str = "s-1", second: int = 0) -> str:
    return f"\n## 2026-02-25T12:31:{second:02}.398Z | {identity}\n- type: {kind}\n- session: {session}\n{content}"


def read(text: str) -> Reading:
    return MirrorReader().read(SourceText(text, "memory/2026-02-25.md", MODIFIED))


def test_blocks_become_memories() -> None:
    text = block(FIRST, "user_prompt", "스키마를 어떻게?") + block(
        SECOND, "agent_response", "## Answer\n\ntext", second=7
    )
    prompt, response = read(text).drafts
    assert (prompt.content, prompt.type, prompt.session_id) == ("스키마를 어떻게?", "prompt", "s-1")
    assert prompt.timestamp == datetime(2026, 2, 25, 12, 31, 0, 398_000, UTC)
    assert prompt.namespace == f"claude-memory-layer:{FIRST}"
    assert prompt.metadata == {"event_type": "user_prompt", "event_id": FIRST}
    assert (response.content, response.type, response.title) == ("## Answer\n\ntext", "response", "Answer")


def test_types() -> None:
    kinds = ["user_prompt", "agent_response", "tool_observation", "session_summary", "new_kind"]
    text = "".join(block(f"id-{number}", kind, "x") for number, kind in enumerate(kinds))
    assert [draft.type for draft in read(text).drafts] == ["prompt", "response", "tool", "insight", "insight"]


def test_long_blocks_are_cut_like_notes() -> None:
    long = "alpha beta gamma delta " * 100
    drafts = read(block(FIRST, "session_summary", f"# A\n{long}\n## B\n{long}")).drafts
    assert [(draft.place, draft.parent) for draft in drafts] == [
        (f"{FIRST}#1/A#1~1", None),
        (f"{FIRST}#1/A > B#1~1", f"{FIRST}#1/A#1~1"),
    ]


def test_ids_are_the_same_in_another_file() -> None:
    first = block(FIRST, "user_prompt", "a")
    places = [(draft.namespace, draft.place) for draft in read(first).drafts]
    moved = read(block(SECOND, "user_prompt", "b") + first).drafts[1:]
    assert [(draft.namespace, draft.place) for draft in moved] == places


def test_repeated_and_pending_ids() -> None:
    reading = read(block(FIRST, "user_prompt", "a") * 2 + block("pending-id", "user_prompt", "b") * 2)
    assert [draft.content for draft in reading.drafts] == ["a", "b", "b"]
    assert [draft.namespace for draft in reading.drafts][1:] == [None, None]
    assert len({draft.place for draft in reading.drafts}) == 3
    assert reading.notices == ("1 blocks repeat the id of an earlier one and were left out",)


def test_text_above_and_headings_that_only_look_alike_are_kept() -> None:
    reading = read("intro\n" + block(FIRST, "user_prompt", "## 2026-02-25T12:31:00.000Z | no block\ntext"))
    assert [draft.content for draft in reading.drafts] == ["intro", "## 2026-02-25T12:31:00.000Z | no block\ntext"]


def test_private_parts_end_with_their_block() -> None:
    reading = read(block(FIRST, "user_prompt", "a <private>secret") + block(SECOND, "user_prompt", "b"))
    assert [draft.content for draft in reading.drafts] == ["a ", "b"]


def test_accepts() -> None:
    accepts = MirrorReader().accepts
    assert accepts("a.md", block(FIRST, "user_prompt", "x"))
    assert not accepts("a.txt", block(FIRST, "user_prompt", "x"))
    assert not accepts("a.md", "## 2026-02-25T12:31:26.398Z | something\n\ntext")
