"""From a file to drafts, whichever reader takes it."""

from __future__ import annotations

import json
import os
import unicodedata
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from indexes.errors import SourceError
from indexes.types import JSON
from pipeline.sources.base import Reader, Reading, SourceText
from pipeline.sources.read import fingerprint, load, parse
from pipeline.sources.registry import READERS, reader_for
from pipeline.sources.walker import Found, walk

LIMIT = 1_000_000


def read(path: Path) -> Reading:
    (found,) = walk([path], max_bytes=LIMIT)
    assert isinstance(found, Found)
    return parse(load(found.path, max_bytes=LIMIT), found, redact=True)


@pytest.mark.parametrize(
    ("label", "head", "reader"),
    [
        ("a.md", "# A", "markdown"),
        ("A.MARKDOWN", "", "markdown"),
        ("a.md", "## 2026-02-25T12:31:26Z | x\n- type: y\n- session: z\n", "claude-memory-layer-mirror"),
        ("a.jsonl", '{"content": "x"}', "jsonl"),
        ("a.jsonl", '{"type": "user", "sessionId": "x"}', "transcript"),
        ("a.json", "[]", "jsonl"),
        ("a.txt", '{"sessionId": "x"}', "plain"),
        ("Makefile", "all:", "plain"),
    ],
)
def test_which_reader(label: str, head: str, reader: str) -> None:
    assert reader_for(label, head).name == reader


def test_from_bytes_to_drafts(tmp_path: Path) -> None:
    path = tmp_path / "회의.md"
    path.write_bytes("# 결정\r\n\r\n배포는 금요일에 금지한다\r\n".encode("cp949"))
    os.utime(path, (1_769_781_900, 1_769_781_900))
    reading = read(path)
    assert [draft.content for draft in reading.drafts] == ["# 결정\n\n배포는 금요일에 금지한다"]
    assert reading.drafts[0].timestamp == datetime(2026, 1, 30, 14, 5, tzinfo=UTC)
    assert "CP949" in reading.notices[0]


def test_nfd_and_nfc_files_read_the_same(tmp_path: Path) -> None:
    contents = []
    for form in ("NFC", "NFD"):
        path = tmp_path / f"{form}.md"
        path.write_text(unicodedata.normalize(form, "# 결정\n\n값은 각각 다르다"), encoding="utf-8")
        contents += [(draft.content, draft.place) for draft in read(path).drafts]
    assert contents[0] == contents[1]


def test_drafts_that_say_nothing_are_dropped(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    path.write_text("<private>all of it")
    assert read(path).drafts == []


def test_the_fingerprint_changes_with_bytes_and_reader(monkeypatch: pytest.MonkeyPatch) -> None:
    first = fingerprint(b"# A", "a.md", redact=True)
    assert first == fingerprint(b"# A", "moved/b.md", redact=True)
    assert first != fingerprint(b"# B", "a.md", redact=True)
    assert first != fingerprint(b"# A", "a.txt", redact=True)
    reader = reader_for("a.md", "")
    monkeypatch.setattr(reader, "version", reader.version + 1)
    assert first != fingerprint(b"# A", "a.md", redact=True)


class TestLoad:
    def test_what_is_no_file(self, tmp_path: Path) -> None:
        os.mkfifo(tmp_path / "pipe")
        (tmp_path / "link").symlink_to("/etc/passwd")
        for name, reason in (("pipe", "no longer a file"), (".", "no longer a file"), ("link", "can't be read")):
            with pytest.raises(SourceError, match=reason):
                load(tmp_path / name, max_bytes=LIMIT)

    def test_what_is_gone(self, tmp_path: Path) -> None:
        with pytest.raises(SourceError, match="No such file"):
            load(tmp_path / "none", max_bytes=LIMIT)

    def test_what_has_grown(self, tmp_path: Path) -> None:
        path = tmp_path / "a.md"
        path.write_bytes(b"x" * 11)
        assert load(path, max_bytes=11) == b"x" * 11
        with pytest.raises(SourceError, match="11 bytes, more than"):
            load(path, max_bytes=10)


# --- What holds for every reader -------------------------------------------------------------------------------------

NAMES = {"transcript": "a.jsonl", "jsonl": "a.jsonl", "claude-memory-layer-mirror": "a.md", "markdown": "a.md"}
every_reader = pytest.mark.parametrize("reader", READERS, ids=lambda reader: reader.name)
MODIFIED = datetime(2026, 2, 1, tzinfo=UTC)

MARKDOWN = ["# A\n", "---\n", "```\n", "<!--", "-->", "date: x\n", "글 \n\n", "</private>", "\ud800", "\x1b[1m"]
MIRROR = ["## 2026-02-25T12:31:26Z | id\n", "- type: user_prompt\n- session: s\n"]
ROWS: list[JSON] = [
    [1],
    {"content": "a"},
    {"content": "a", "id": 1, "parent": 1, "metadata": {"x": 1e400}},
    {"type": "user", "uuid": "u\ud800", "sessionId": "s", "message": {"content": "<private>"}},
    {"type": "assistant", "uuid": "v", "message": {"content": [{"type": "tool_use"}, {"type": "text", "text": "t"}]}},
    {"type": "user", "message": {"content": [{"type": "tool_result"}, {"type": "image"}, 5]}},
]
pieces = st.sampled_from(MARKDOWN + MIRROR + ["{"] + [json.dumps(row) + "\n" for row in ROWS])
texts = st.lists(pieces | st.text(max_size=20), max_size=20).map("".join)


@every_reader
@given(text=texts)
def test_total(reader: Reader, text: str) -> None:
    reading = reader.read(SourceText(text, NAMES.get(reader.name, "a.txt"), MODIFIED))
    places = [draft.place for draft in reading.drafts]
    assert len(set(places)) == len(places)
    for draft in reading.drafts:
        assert draft.parent is None or draft.parent in places
        assert draft.session_id
        assert draft.timestamp.tzinfo is not None
        json.dumps(dict(draft.metadata), allow_nan=False)
        for said in (draft.content, draft.title, draft.place, draft.session_id):
            assert said == unicodedata.normalize("NFC", said)
            said.encode("utf-8")
    assert all("\n" not in notice for notice in reading.notices)


@every_reader
def test_nothing_private_and_nothing_of_ours(reader: Reader) -> None:
    said = "before <private>S3CRET</private> <gieok-memory>S3CRET</gieok-memory> after"
    text = {
        "transcript": json.dumps({"type": "user", "uuid": "u", "message": {"content": said}}),
        "jsonl": json.dumps({"content": said, "title": said, "metadata": {said: said}}),
        "claude-memory-layer-mirror": f"## 2026-02-25T12:31:26Z | x\n- type: user_prompt\n- session: s\n{said}",
        "markdown": f"---\ntitle: {said}\nx: {said}\n---\n# {said}\n{said}",
    }.get(reader.name, said)
    reading = reader.read(SourceText(text, NAMES.get(reader.name, "a.txt"), MODIFIED))
    assert "before" in reading.drafts[0].content
    assert "after" in reading.drafts[0].content
    assert "S3CRET" not in repr(reading)
