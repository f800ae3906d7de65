"""Transcripts of coding agents: what stays, what belongs together, and what is left out."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest

from indexes.tokens import estimate_tokens
from indexes.types import JSON
from pipeline.sources.base import Draft, Reading, SourceText
from pipeline.sources.own import OWN_CLOSE, OWN_OPEN
from pipeline.sources.transcript import TranscriptReader

MODIFIED = datetime(2026, 3, 1, tzinfo=UTC)
SESSION = "acdd84ab-e724-42c8-925d-420b2a4f1861"


def line(kind: str, uuid: str, parent: str | None, content: JSON, **more: JSON) -> dict[str, JSON]:
    """A line as the tool writes it; `content` is that of its message."""
    return {
        "type": kind,
        "uuid": uuid,
        "parentUuid": parent,
        "sessionId": SESSION,
        "isSidechain": False,
        "cwd": "/home/dev/projects/cli",
        "gitBranch": "main",
        "timestamp": "2026-02-13T14:28:05.492Z",
        "message": {"role": kind, "id": f"msg-{uuid}", "content": content},
        **more,
    }


def call(identity: str, name: str, **inputs: JSON) -> list[JSON]:
    return [{"type": "tool_use", "id": identity, "name": name, "input": inputs}]


def result(identity: str, content: JSON, **more: JSON) -> list[JSON]:
    return [{"type": "tool_result", "tool_use_id": identity, "content": content, **more}]


def read_text(text: str, label: str = "p/session.jsonl") -> Reading:
    return TranscriptReader().read(SourceText(text, label, MODIFIED))


def read(*lines: JSON, label: str = "p/session.jsonl") -> Reading:
    return read_text("\n".join(json.dumps(item, ensure_ascii=False) for item in lines) + "\n", label)


def said(reading: Reading) -> list[tuple[str, str]]:
    return [(draft.type, draft.content) for draft in reading.drafts]


def only(reading: Reading) -> Draft:
    (draft,) = reading.drafts
    return draft


def test_a_turn() -> None:
    reading = read(
        line("user", "u1", None, "스키마를 고쳐 줘"),
        line("progress", "x1", "u1", None),
        line("assistant", "a1", "x1", [{"type": "thinking", "thinking": "hm"}]),
        line("assistant", "a2", "a1", [{"type": "text", "text": "파일을 본다."}], timestamp="2026-02-13T14:28:07Z"),
        line("assistant", "a3", "a2", call("t1", "Read", file_path="/src/db.py")),
        line("user", "u2", "a3", result("t1", "     1→x = 1")),
        line("assistant", "a4", "u2", [{"type": "text", "text": "고쳤다."}]),
    )
    assert said(reading) == [
        ("prompt", "스키마를 고쳐 줘"),
        ("response", "파일을 본다."),
        ("tool", "Read: /src/db.py\n\nResult:\nx = 1"),
        ("response", "고쳤다."),
    ]
    prompt, response, tool, answer = reading.drafts
    assert [draft.place for draft in reading.drafts] == ["u1", "a2", "call:t1", "a4"]
    assert [draft.parent for draft in reading.drafts] == [None, "u1", "a2", "call:t1"]
    assert (prompt.session_id, prompt.namespace, prompt.project) == (SESSION, SESSION, "cli")
    assert prompt.metadata == {"cwd": "/home/dev/projects/cli", "git_branch": "main"}
    assert response.timestamp == datetime(2026, 2, 13, 14, 28, 7, tzinfo=UTC)
    assert (tool.files, tool.tools, tool.title) == (("/src/db.py",), ("Read",), "Read: /src/db.py")
    assert answer.files == ()
    assert reading.notices == ()


def test_one_message_in_several_lines_is_one_memory() -> None:
    lines = [
        line("assistant", uuid, None, [{"type": "text", "text": text}])
        for uuid, text in (("a1", "First"), ("a2", "First and more"), ("a3", "Second"))
    ]
    for item in lines:
        item["message"]["id"] = "msg-1"  # type: ignore[index, call-overload]
    reading = read(*lines, line("user", "u1", "a3", "next"))
    assert said(reading) == [("response", "First and more\n\nSecond"), ("prompt", "next")]
    assert reading.drafts[1].parent == "a1"


def test_calls_of_one_message_meet_their_results_in_any_order() -> None:
    reading = read(
        line("assistant", "a1", None, call("t1", "Bash", command="ls") + call("t2", "Bash", command="pwd")),
        line("user", "u1", "a1", result("t2", "/src") + result("t1", "no such file", is_error=True)),
    )
    assert said(reading) == [("tool", "Bash: ls\n\nError:\nno such file"), ("tool", "Bash: pwd\n\nResult:\n/src")]
    assert reading.drafts[0].metadata["error"] is True


@pytest.mark.parametrize(
    "noise",
    [
        line("user", "n", None, "internal", isMeta=True),
        line("user", "n", None, "<system-reminder>x</system-reminder>"),
        line("user", "n", None, "[Request interrupted by user]"),
        line("assistant", "n", None, [{"type": "text", "text": "API Error"}], isApiErrorMessage=True),
        line("system", "n", None, "hook done"),
        {"type": "file-history-snapshot", "messageId": "n", "snapshot": {}},
        {"type": "queue-operation", "operation": "enqueue", "content": "/exit", "sessionId": SESSION},
        {"type": "kind-of-the-future", "content": [1]},
        {"type": "user", "uuid": "n", "message": "not an object"},
        {"type": "assistant", "uuid": "n", "message": {"content": {"text": 5}}},
    ],
)
def test_noise_is_left_out_and_passed_through(noise: JSON) -> None:
    reading = read(line("user", "u1", None, "before"), noise, line("user", "u2", "u1", "after"))
    assert said(reading) == [("prompt", "before"), ("prompt", "after")]


def test_a_chain_through_noise_reaches_the_nearest_memory() -> None:
    noise = [line("progress", f"n{number}", f"n{number - 1}" if number else "u1", None) for number in range(5_000)]
    reading = read(line("user", "u1", None, "before"), *noise, line("user", "u2", "n4999", "after"))
    assert reading.drafts[1].parent == "u1"


def test_summaries_are_insights() -> None:
    reading = read(
        {"type": "summary", "summary": "Fix lint errors", "leafUuid": "u9"},
        {"type": "summary", "summary": "Elsewhere", "leafUuid": "gone"},
        line("user", "u9", None, "old"),
        line("user", "c1", None, "This session is continued …", isCompactSummary=True),
    )
    assert said(reading) == [
        ("insight", "Fix lint errors"),
        ("insight", "Elsewhere"),
        ("prompt", "old"),
        ("insight", "This session is continued …"),
    ]
    assert {draft.session_id for draft in reading.drafts} == {SESSION}
    assert len({draft.timestamp for draft in reading.drafts}) == 1


def test_side_chains_are_marked() -> None:
    assert only(read(line("user", "u1", None, "search the code", isSidechain=True))).metadata["sidechain"] is True


def test_a_copy_of_the_file_makes_the_same_memories() -> None:
    lines = [line("user", "u1", None, "a"), line("assistant", "a1", "u1", call("t1", "Bash", command="ls"))]

    def places(label: str) -> list[tuple[str | None, str]]:
        return [(draft.namespace, draft.place) for draft in read(*lines, label=label).drafts]

    assert places("a.jsonl") == places("copy/b.jsonl")


def test_repeated_lines_are_left_out() -> None:
    one = line("user", "u1", None, "a")
    reading = read(one, one)
    assert said(reading) == [("prompt", "a")]
    assert reading.notices == ("1 lines repeat an earlier one and were left out",)


class TestBounds:
    def test_a_huge_result(self) -> None:
        reading = read(
            line("assistant", "a1", None, call("t1", "Bash", command="cat log")),
            line("user", "u1", "a1", result("t1", "word " * 100_000 + "exit 1")),
        )
        content = only(reading).content
        assert content.startswith("Bash: cat log\n\nResult:\nword word")
        assert "characters left out …]" in content
        assert content.endswith("exit 1")
        assert estimate_tokens(content) < 1_000
        assert reading.notices == ("1 long texts were cut in the middle, with a mark",)

    def test_a_screenshot(self) -> None:
        image: JSON = {"type": "image", "source": {"media_type": "image/png", "data": "iVBORw0KGgo" * 100_000}}
        reading = read(
            line("user", "u1", None, [{"type": "text", "text": "look"}, image]),
            line("assistant", "a1", "u1", call("t1", "Shot")),
            line("user", "u2", "a1", result("t1", [image])),
        )
        assert said(reading) == [
            ("prompt", "look\n\n[image: image/png]"),
            ("tool", "Shot\n\nResult:\n[image: image/png]"),
        ]

    def test_a_long_answer_is_cut_in_parts(self) -> None:
        text = "\n\n".join(["alpha beta gamma delta " * 60] * 6)
        reading = read(line("assistant", "a1", None, [{"type": "text", "text": text}]))
        assert [(draft.place, draft.parent) for draft in reading.drafts] == [("a1", None), ("a1~2", "a1")]
        assert "".join("".join(draft.content for draft in reading.drafts).split()) == "".join(text.split())


class TestBrokenFiles:
    def test_cut_off_in_the_middle_and_at_the_end(self) -> None:
        first, second, third = (json.dumps(line("user", f"u{n}", None, f"text {n}")) for n in range(3))
        reading = read_text(f"{first}\n{second[:80]}\n[1, 2]\n{third}\n{first[:50]}")
        assert said(reading) == [("prompt", "text 0"), ("prompt", "text 2")]
        assert reading.notices == (
            "line 2 skipped: not valid JSON",
            "line 3 skipped: JSON, but not an object",
            "line 5, the last one, skipped: it is not complete",
        )

    def test_a_result_whose_call_is_lost(self) -> None:
        draft = only(read(line("user", "u1", None, result("t1", "found"))))
        assert (draft.content, draft.tools) == ("unknown tool\n\nResult:\nfound", ())

    def test_a_call_whose_result_is_lost(self) -> None:
        assert only(read(line("assistant", "a1", None, call("t1", "Bash", command="ls")))).content == "Bash: ls"

    def test_a_loop_of_parents(self) -> None:
        reading = read(line("user", "u1", "u2", "a"), line("user", "u2", "u1", "b"))
        assert [draft.parent for draft in reading.drafts] == [None, "u1"]

    def test_without_session_or_time(self) -> None:
        reading = read({"type": "user", "uuid": "u1", "parentUuid": None, "message": {"content": "a"}})
        assert (only(reading).session_id, only(reading).timestamp) == ("session", MODIFIED)


class TestOwnOutput:
    def test_an_earlier_answer_is_not_indexed_again(self) -> None:
        memory = f"{OWN_OPEN}\n## Related Memories\n| mem_1 | OLD |\n{OWN_CLOSE}"
        reading = read(
            line("user", "u1", None, f"{memory}\n배포는 언제?"),
            line("assistant", "a1", "u1", call("t1", "mcp__gieok__search", query="OLD")),
            line("user", "u2", "a1", result("t1", "OLD")),
            line("assistant", "a2", "u2", call("t2", "Bash", command="gieok search OLD")),
            line("user", "u3", "a2", result("t2", "OLD")),
            line("assistant", "a3", "u3", [{"type": "text", "text": "금요일이다."}]),
        )
        assert said(reading) == [("prompt", "배포는 언제?"), ("response", "금요일이다.")]
        assert reading.drafts[1].parent == "u1"
        assert reading.notices == ("2 calls of gieok itself left out", "1 earlier answer of gieok left out")

    def test_unclosed_it_ends_with_its_message(self) -> None:
        reading = read(line("user", "u1", None, f"a {OWN_OPEN} OLD"), line("user", "u2", "u1", "b"))
        assert said(reading) == [("prompt", "a"), ("prompt", "b")]


def test_private_parts_nowhere() -> None:
    secret = "<private>S3CRET</private>"
    reading = read(
        line("user", "u1", None, f"a {secret} b", cwd=f"/home/{secret}", gitBranch=secret, sessionId=f"s{secret}"),
        line("assistant", "a1", "u1", call("t1", secret, command=secret, file_path=secret, x={secret: [secret]})),
        line("user", "u2", "a1", result("t1", [{"type": "text", "text": "head <private>S3CRET"}])),
        line("user", "u3", "u2", "S3CRET</private> c"),
        {"type": "summary", "summary": secret + "sum", "leafUuid": "u1"},
    )
    assert "S3CRET" not in repr(reading.drafts)
    assert "S3CRET" not in repr(reading.notices)
    assert [draft.content for draft in reading.drafts if draft.type != "tool"] == ["a  b", "c", "sum"]


def test_accepts() -> None:
    accepts = TranscriptReader().accepts
    first = json.dumps(line("user", "u1", None, "x"))
    assert accepts("a.jsonl", first)
    assert accepts("a.jsonl", "[1]\n" + first)
    assert accepts("a.jsonl", first[:200])  # a first line longer than the head
    assert accepts("a.jsonl", '{"type":"summary","summary":"x","leafUuid":"y"}')
    assert not accepts("a.md", first)
    assert not accepts("a.jsonl", '{"content": "about sessionId", "id": 1}')
