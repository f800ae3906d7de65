"""Notes that are kept on purpose."""

from __future__ import annotations

import json
import stat
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from indexes.errors import StoreBusyError, StoreError, UsageError
from pipeline import Gieok
from pipeline.cli import app
from pipeline.notes import MAX_CHARACTERS, Origin, compose, write
from pipeline.sources.frontmatter import split_front_matter

NOW = datetime(2026, 1, 30, 14, 5, tzinfo=UTC)
Open = Callable[..., Gieok]
WORDS = {"embedder": {"model": "none"}}


def test_a_note_is_found_at_once_and_is_a_private_file(open_gieok: Open) -> None:
    memory = open_gieok(**WORDS)
    kept = memory.remember("금요일에는 배포하지 않는다.", title="배포 규칙", tags=["rule", "배포"], project="haru")
    hit = memory.search_index("금요일 배포", min_score=0)[0]
    assert [hit.id] == kept.ids == [kept.id]
    path = Path(kept.path)
    assert path.parent == memory.home / "notes"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    front = split_front_matter(path.read_text(encoding="utf-8"))
    assert front.data["title"] == "배포 규칙"
    assert front.data["tags"] == ["rule", "배포"]
    assert front.data["project"] == "haru"
    assert "date" in front.data
    assert not front.notices


def test_a_note_survives_the_indexing_of_other_folders_and_of_those_above(
    open_gieok: Open, notes: Callable[..., Path], tmp_path: Path
) -> None:
    memory = open_gieok(".hidden/home", **WORDS)
    kept = memory.remember("멱등 키를 쓴다")
    memory.index([notes({"a.md": "다른 메모"})])
    memory.index([tmp_path])  # walks past the hidden folder in which the home lies
    memory.index([memory.home])
    assert memory.get_details([str(kept.id)])[0].content == "멱등 키를 쓴다"


def test_a_note_survives_an_ignored_home(open_gieok: Open, tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".gitignore").write_text("home/\n*.md\n")
    memory = open_gieok(**WORDS)
    kept = memory.remember("멱등 키를 쓴다")
    assert kept.ids
    memory.index([tmp_path])
    assert memory.get_details(kept.ids)


def test_index_makes_up_for_a_note_that_a_crash_kept_from_being_indexed(open_gieok: Open) -> None:
    memory = open_gieok(**WORDS)
    write(compose("멱등 키를 쓴다", now=NOW), memory.home / "notes")
    assert memory.search_index("멱등 키", min_score=0) == []
    memory.index()
    assert memory.search_index("멱등 키", min_score=0)


def test_a_note_that_cannot_be_indexed_is_in_its_file_and_says_so(
    open_gieok: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = open_gieok(**WORDS)

    def busy(*_: Any, **__: Any) -> None:
        raise StoreBusyError("Another process is writing.")

    monkeypatch.setattr(memory, "index", busy)
    kept = memory.remember("멱등 키를 쓴다")
    assert kept.id is None
    assert "gieok index" in kept.notices[0]
    assert "멱등 키를 쓴다" in Path(kept.path).read_text(encoding="utf-8")


@pytest.mark.parametrize("text", ["", " \n", "<private>all of it</private>", "x" * (MAX_CHARACTERS + 1)])
def test_what_is_empty_or_too_long_is_refused_and_writes_nothing(open_gieok: Open, text: str) -> None:
    memory = open_gieok(**WORDS)
    with pytest.raises(UsageError) as caught:
        memory.remember(text)
    assert "\n" not in str(caught.value)
    assert not (memory.home / "notes").exists()


def test_private_parts_reach_neither_the_file_nor_its_name(open_gieok: Open) -> None:
    memory = open_gieok(**WORDS)
    kept = memory.remember(
        "배포 <private>hunter2</private> 규칙",
        title="제목<private>hunter2</private>",
        tags=["<private>hunter2</private>"],
    )
    assert "hunter2" not in kept.path + Path(kept.path).read_text(encoding="utf-8")
    assert "1 <private> part left out" in kept.notices


def test_secrets_are_masked(open_gieok: Open) -> None:
    secret = "ghp_" + "a1B2c3D4e5F6" * 3
    memory = open_gieok(**WORDS)
    kept = memory.remember(f"토큰은 {secret} 이다", title=f"토큰 {secret}")
    assert secret not in Path(kept.path).read_text(encoding="utf-8")
    assert secret.lower() not in kept.path.lower()


@pytest.mark.parametrize("title", ["../../etc/passwd", "/abs", "..", "a\0b", "CON", "session", "한" * 200, "🙂", "-rf"])
def test_a_title_is_no_path(tmp_path: Path, title: str) -> None:
    path = write(compose("text", title=title, now=NOW), tmp_path / "notes")
    assert path.parent == tmp_path / "notes"
    assert path.name.startswith("2026-01-30-")
    assert "session-01" not in path.name


def test_equal_notes_get_numbers(tmp_path: Path) -> None:
    names = [write(compose("같은 메모", now=NOW), tmp_path / "notes").name for _ in range(3)]
    assert names == [f"2026-01-30-같은-메모-0{number}.md" for number in (1, 2, 3)]


def test_a_link_in_the_way_is_not_followed(tmp_path: Path) -> None:
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "2026-01-30-x-01.md").symlink_to(tmp_path / "elsewhere")
    assert write(compose("x", now=NOW), folder).name == "2026-01-30-x-02.md"
    assert not (tmp_path / "elsewhere").exists()


def test_a_folder_that_is_a_file_is_an_error_of_one_line(tmp_path: Path) -> None:
    (tmp_path / "notes").write_text("")
    with pytest.raises(StoreError, match="can't be written"):
        write(compose("x", now=NOW), tmp_path / "notes")


@given(st.text(max_size=60), st.text(max_size=60), st.lists(st.text(max_size=20), max_size=3))
def test_front_matter_gives_back_what_went_in(title: str, project: str, tags: list[str]) -> None:
    note = compose("본문\n---\ntags: [x]\n---\n", title=title, project=project, tags=tags, now=NOW)
    front = split_front_matter(note.content)
    assert not front.notices
    assert front.body.strip() == "본문\n---\ntags: [x]\n---"
    for name in ("title", "project"):
        assert isinstance(front.data.get(name, ""), str)
    assert all(isinstance(tag, str) and "\n" not in tag for tag in front.data.get("tags", []))
    assert "/" not in note.name


def test_the_origin_is_that_of_the_host() -> None:
    origin = Origin.of_host({"CLAUDE_CODE_SESSION_ID": "abc-1", "CLAUDE_PROJECT_DIR": "/home/me/haru"})
    assert origin == Origin("abc-1", "haru")
    assert Origin.of_host({"CLAUDE_CODE_SESSION_ID": "../x y"}) == Origin()
    note = compose("x", origin=origin, now=NOW)
    assert split_front_matter(note.content).data["session_id"] == "abc-1"


def test_the_command_keeps_a_note_from_its_words_and_from_stdin(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIEOK_EMBEDDER_MODEL", "none")
    home = ["--home", str(tmp_path / "home")]
    words = CliRunner().invoke(app, ["remember", "금요일", "배포", "금지", "--tag", "rule", "--json", *home])
    assert words.exit_code == 0, words.output
    kept = json.loads(words.stdout)
    assert "금요일 배포 금지" in Path(kept["path"]).read_text(encoding="utf-8")
    piped = CliRunner().invoke(app, ["remember", "-", *home], input="표준 입력에서".encode())
    assert piped.exit_code == 0, piped.output
    assert "표준-입력에서" in piped.stdout
    assert len(list((tmp_path / "home" / "notes").iterdir())) == 2
    assert CliRunner().invoke(app, ["remember", "", *home]).exit_code == 2
