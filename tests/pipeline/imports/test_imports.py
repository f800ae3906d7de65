"""Memories of other tools: read from stores made here, found through the facade and the command line."""

from __future__ import annotations

import importlib.util
import json
import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from indexes.errors import SourceError, StoreError, UsageError
from pipeline import Gieok
from pipeline.cli import app
from pipeline.filters import SearchFilter
from pipeline.imports.base import Work

_spec = importlib.util.spec_from_file_location("import_stores", Path(__file__).with_name("stores.py"))
assert _spec
assert _spec.loader
stores = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(stores)

Open = Callable[..., Gieok]
Run = Callable[..., Any]
WORDS = {"embedder": {"model": "none"}}
WEEKDAYS = "deploy 수요일 배포"


@pytest.fixture
def memory(open_gieok: Open) -> Gieok:
    return open_gieok(**WORDS)


@pytest.fixture
def gieok(monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.setenv("GIEOK_EMBEDDER_MODEL", "none")
    return lambda *arguments: CliRunner().invoke(app, [str(a) for a in arguments], prog_name="gieok")


def found(memory: Gieok, query: str, **where: Any) -> list[str]:
    """The contents that a search finds."""
    hits = memory.search_index(query, filter=SearchFilter(**where), min_score=0)
    return [memory.get_details([hit.id])[0].content for hit in hits]


def change(path: Path, statement: str, *values: object) -> None:
    with closing(sqlite3.connect(path)) as db, db:
        db.execute(statement, values)


# --- claude-mem ---------------------------------------------------------------------------------


def test_claude_mem_is_found_in_korean_and_english(memory: Gieok, tmp_path: Path) -> None:
    report = memory.import_from("claude-mem", stores.claude_mem(tmp_path / "claude-mem.db"))
    assert report.rows == {"observations": 3, "prompts": 2, "summaries": 1}
    assert (report.sessions, report.indexed, report.found, report.memories) == (3, 3, 6, 6)
    assert not report.failed
    assert report.stores[0].layout == "claude-mem, schema 55"
    assert "금지하기로 결정했다" in found(memory, "금요일 배포 금지")[0]
    assert "visible rows" in found(memory, "window list rendering")[0]
    assert "Zebra" in found(memory, "zebra crossing")[0]


def test_what_claude_mem_knows_of_a_memory_is_kept(memory: Gieok, tmp_path: Path) -> None:
    memory.import_from("claude-mem", stores.claude_mem(tmp_path / "claude-mem.db"))
    hit = memory.search_index("수요일 배포", filter=SearchFilter(tags=["decision"]), min_score=0)[0]
    detail = memory.get_details([hit.id])[0]
    assert (detail.type, detail.session_id) == ("insight", "s-haru")
    assert detail.timestamp == datetime(2026, 1, 30, 5, 1, tzinfo=UTC)
    assert detail.metadata.files == ["deploy/run.sh", "docs/deploy.md"]
    assert detail.relations.parent_id is not None
    assert memory.get_details([detail.relations.parent_id])[0].content == "배포 규칙을 정하자"
    assert detail.sources[0].startswith("import:claude-mem:")


def test_the_timeline_runs_through_an_imported_session(memory: Gieok, tmp_path: Path) -> None:
    memory.import_from("claude-mem", stores.claude_mem(tmp_path / "claude-mem.db"))
    hit = memory.search_index("운영 장애", min_score=0)[0]
    around = memory.get_timeline([hit.id], 3)
    assert [item.type for item in around] == ["prompt", "insight", "insight"]
    assert [item.is_target for item in around] == [False, True, False]


def test_the_project_filter_parts_imported_projects(memory: Gieok, tmp_path: Path) -> None:
    memory.import_from("claude-mem", stores.claude_mem(tmp_path / "claude-mem.db"))
    assert found(memory, "window list", project="mado")
    assert not any("visible rows" in text for text in found(memory, "window list 배포", project="haru"))


def test_the_first_schema_of_claude_mem(memory: Gieok, tmp_path: Path) -> None:
    report = memory.import_from("claude-mem", stores.old_claude_mem(tmp_path / "old.db"))
    assert report.rows == {"observations": 1, "prompts": 1}
    assert "60초" in found(memory, "캐시 만료")[0]
    prompt = memory.search_index("점검", filter=SearchFilter(types=["prompt"]), min_score=0)[0]
    assert (prompt.session_id, prompt.timestamp) == ("s-old", datetime(2025, 10, 1, 9, tzinfo=UTC))


def test_a_second_import_skips_and_a_change_updates(memory: Gieok, tmp_path: Path) -> None:
    path = stores.claude_mem(tmp_path / "claude-mem.db")
    memory.import_from("claude-mem", path)
    before = memory.search_index("운영 장애", min_score=0)[0].id
    again = memory.import_from("claude-mem", path)
    assert (again.indexed, again.updated, again.skipped) == (0, 0, 3)
    change(path, "UPDATE observations SET narrative = '카나리 배포로 바꿨다' WHERE id = 1")
    third = memory.import_from("claude-mem", path)
    assert (third.updated, third.skipped, third.memories) == (1, 2, 6)
    assert memory.search_index("카나리", min_score=0)[0].id == before
    assert not any("운영 장애" in text for text in found(memory, "운영 장애"))


def test_a_session_that_is_gone_there_stays_here(memory: Gieok, tmp_path: Path) -> None:
    path = stores.claude_mem(tmp_path / "claude-mem.db")
    memory.import_from("claude-mem", path)
    for table in ("observations", "sdk_sessions", "user_prompts"):
        change(path, f"DELETE FROM {table}")
    memory.import_from("claude-mem", path)
    assert found(memory, "window list")


def test_ids_do_not_depend_on_where_the_store_lies(memory: Gieok, tmp_path: Path) -> None:
    path = stores.claude_mem(tmp_path / "claude-mem.db")
    first = memory.import_from("claude-mem", path)
    moved = path.rename(tmp_path / "moved.db")
    assert memory.import_from("claude-mem", moved).memories == first.memories


def test_indexing_the_folder_above_drops_nothing(memory: Gieok, tmp_path: Path, notes: Callable[..., Path]) -> None:
    folder = notes({"a.md": "다른 메모"}, "work")
    memory.import_from("claude-mem", stores.claude_mem(folder / "claude-mem.db"))
    for target in (folder, tmp_path, Path("/nonexistent/folder")):
        report = memory.index([target])
        assert report.removed == 0
    (folder / "claude-mem.db").unlink()
    assert memory.index([folder]).removed == 0
    assert found(memory, "운영 장애")


def test_secrets_private_parts_and_injected_blocks_stay_out(memory: Gieok, tmp_path: Path) -> None:
    path = stores.claude_mem(tmp_path / "claude-mem.db")
    key = "ghp_" + "Ab3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0dF3gH6"[:36]
    told = (
        f"token {key} <private>비밀</private> <gieok-memory>옛 답</gieok-memory> 보이는 말"
        " <claude-mem-context>주입된 것</claude-mem-context> <system-reminder>알림</system-reminder>"
    )
    change(path, "UPDATE user_prompts SET prompt_text = ? WHERE id = 1", told)
    report = memory.import_from("claude-mem", path)
    text = next(text for text in found(memory, "보이는 말") if "보이는" in text)
    for hidden in (key, "비밀", "옛 답", "주입된", "알림"):
        assert hidden not in text
    assert "[redacted:" in text
    assert any("secret" in notice.reason for notice in report.notices)


def test_odd_values_are_taken_as_far_as_they_go(memory: Gieok, tmp_path: Path) -> None:
    path = stores.claude_mem(tmp_path / "claude-mem.db")
    change(path, "UPDATE observations SET facts = '[broken', concepts = 42, title = ? WHERE id = 1", b"\xff\xfe blob")
    change(
        path,
        "UPDATE observations SET created_at_epoch = 'never', narrative = CAST(? AS TEXT) WHERE id = 2",
        b"caf\xe9 ok",
    )
    change(path, "UPDATE user_prompts SET prompt_text = '   ' WHERE id = 2")
    report = memory.import_from("claude-mem", path)
    assert not report.failed
    assert report.memories == 5
    said = " ".join(notice.reason for notice in report.notices)
    assert "broken JSON" in said
    assert "without a time" in said
    assert found(memory, "ok caf")


def test_a_newer_schema_is_named_and_nothing_is_written(memory: Gieok, tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"schema 999 of claude-mem.*Update gieok"):
        memory.import_from("claude-mem", stores.claude_mem(tmp_path / "c.db", schema=999))
    assert memory.status().memories == 0


def test_an_unknown_schema_is_named_and_nothing_is_written(memory: Gieok, tmp_path: Path) -> None:
    path = stores.build(tmp_path / "c.db", {"sdk_sessions": ["id INTEGER"], "observations": ["id INTEGER", "x TEXT"]})
    with pytest.raises(SourceError, match=r"unknown schema .observations and sdk_sessions"):
        memory.import_from("claude-mem", path)
    with pytest.raises(SourceError, match="schema 4 or later"):
        memory.import_from("claude-mem", stores.memory_layer(tmp_path / "e.db"))
    assert memory.status().memories == 0


# --- claude-memory-layer ------------------------------------------------------------------------


@pytest.mark.parametrize("turns", [True, False])
def test_claude_memory_layer(memory: Gieok, tmp_path: Path, turns: bool) -> None:
    path = stores.memory_layer(tmp_path / "events.sqlite", turns=turns)
    report = memory.import_from("claude-memory-layer", path)
    assert report.rows == {"prompts": 1, "responses": 1, "summaries": 1, "tools": 1}
    assert not report.failed
    hit = memory.search_index("idempotency key", filter=SearchFilter(project="payments"), min_score=0)[0]
    around = memory.get_timeline([hit.id], 5)
    assert [item.type for item in around] == ["prompt", "response", "tool", "insight"]
    call = memory.get_details([around[2].id])[0]
    assert call.metadata.tools == ["Bash"]
    assert "pytest -q" in call.content
    assert "Error:\n3 failed: 멱등 키 누락" in call.content
    assert (call.relations.parent_id is not None) == turns
    assert memory.import_from("claude-memory-layer", path).skipped == 1


def test_a_folder_gives_all_its_stores_and_names_those_that_fail(memory: Gieok, tmp_path: Path) -> None:
    folder = tmp_path / "memory"
    stores.memory_layer(folder / "events.sqlite")
    stores.memory_layer(folder / "projects" / "a1" / "events.sqlite")
    bad = folder / "projects" / "b2" / "events.sqlite"
    bad.parent.mkdir()
    bad.write_bytes(b"no database")
    report = memory.import_from("claude-memory-layer", folder)
    assert len(report.stores) == 2
    assert [failure.path for failure in report.failed] == [str(bad)]
    assert report.memories == 4  # one session in two stores is one session


def test_an_event_of_an_unknown_type_is_said_and_kept(memory: Gieok, tmp_path: Path) -> None:
    path = stores.memory_layer(tmp_path / "events.sqlite")
    change(path, "UPDATE events SET event_type = 'dream', metadata = '{' WHERE id = 'e1'")
    report = memory.import_from("claude-memory-layer", path)
    assert report.rows["others"] == 1
    assert any("type that is not known" in notice.reason for notice in report.notices)
    assert found(memory, "idempotency key", types=["insight"])


# --- memory-index -------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["plain", "fts5", "external"])
def test_an_index_of_notes(memory: Gieok, tmp_path: Path, form: str) -> None:
    path = tmp_path / "memory-index.db"
    columns = "path, title, content, date, tags"
    row = ("notes/금요일.md", "배포 규칙", "금요일에는 배포하지 않는다.", "2026-01-30", "ops, 규칙")
    with closing(sqlite3.connect(path)) as db, db:
        if form == "fts5":
            db.execute(f"CREATE VIRTUAL TABLE notes USING fts5({columns})")
        else:
            db.execute(f"CREATE TABLE notes (id INTEGER PRIMARY KEY, {columns})")
        if form == "external":
            db.execute("CREATE VIRTUAL TABLE notes_fts USING fts5(title, content, content='notes', content_rowid='id')")
        db.execute(f"INSERT INTO notes ({columns}) VALUES (?, ?, ?, ?, ?)", row)
    report = memory.import_from("memory-index", tmp_path)
    assert report.rows == {"notes": 1}
    hit = memory.search_index("금요일 배포", filter=SearchFilter(tags=["규칙"]), min_score=0)[0]
    assert hit.session_id == "notes/금요일.md"
    assert hit.timestamp.astimezone().date().isoformat() == "2026-01-30"
    with pytest.raises(SourceError, match="looks like an index of notes"):
        memory.import_from("memory-index", stores.build(tmp_path / "other.db", {"t": ["a TEXT", "b TEXT"]}))


# --- bad input ----------------------------------------------------------------------------------


def _bad(folder: Path, name: str) -> Path:
    path = folder / name
    match name:
        case "missing":
            pass
        case "empty":
            path.write_bytes(b"")
        case "text":
            path.write_text("not a database\n" * 100)
        case "duckdb":
            path.write_bytes(b"\0" * 8 + b"DUCK" + b"\0" * 100)
        case "folder":
            path.mkdir()
        case "fifo":
            os.mkfifo(path)
        case "loop":
            path.symlink_to(path)
        case "header":
            path.write_bytes(b"SQLite format 3\0" + b"\xff" * 4000)
        case "nothing":
            stores.build(path, {"t": ["x TEXT"]})
    return path


SAID = {
    "missing": "does not exist",
    "empty": "is empty",
    "text": "no SQLite database",
    "duckdb": "DuckDB",
    "folder": "holds no store of",
    "fifo": "is no file",
    "loop": "can't be read",
    "header": "damaged",
    "nothing": "is no",
}


@pytest.mark.parametrize("kind", ["claude-mem", "claude-memory-layer"])
@pytest.mark.parametrize("name", SAID)
def test_bad_stores_end_in_one_line(gieok: Run, tmp_path: Path, kind: str, name: str) -> None:
    ended = gieok("import", kind, _bad(tmp_path, name))
    assert ended.exit_code == 2
    assert SAID[name] in ended.stderr
    assert str(tmp_path / name) in ended.stderr
    assert ended.stderr.count("\n") == 1
    assert "Traceback" not in ended.output


def test_a_damaged_page_costs_only_the_sessions_on_it(memory: Gieok, tmp_path: Path) -> None:
    path = stores.claude_mem(tmp_path / "claude-mem.db")
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("CREATE INDEX by_session ON observations (memory_session_id)")
        stores.insert(
            db, "sdk_sessions", [{"content_session_id": f"s{n}", "memory_session_id": f"x{n}"} for n in range(20)]
        )
        rows = [{"memory_session_id": f"x{n}", "narrative": f"발견 {n} " + "말 " * 600} for n in range(20)]
        stores.insert(db, "observations", rows)
        size = db.execute("PRAGMA page_size").fetchone()[0]
    data = bytearray(path.read_bytes())
    start = data.index("발견 10 ".encode()) // size * size
    data[start : start + size] = b"\xee" * size
    path.write_bytes(data)
    report = memory.import_from("claude-mem", path)
    assert 0 < len(report.failed) < 8
    assert all("is damaged" in failure.reason for failure in report.failed)
    assert report.indexed == 23 - len(report.failed)
    assert "발견 19" in found(memory, "발견 19")[0]


def test_a_damaged_list_of_sessions_is_named(memory: Gieok, tmp_path: Path) -> None:
    path = stores.claude_mem(tmp_path / "claude-mem.db")
    with closing(sqlite3.connect(path)) as db:
        size = db.execute("PRAGMA page_size").fetchone()[0]
        page = db.execute("SELECT rootpage FROM sqlite_master WHERE name = 'sdk_sessions'").fetchone()[0]
    data = bytearray(path.read_bytes())
    data[(page - 1) * size : page * size] = b"\xee" * size
    path.write_bytes(data)
    with pytest.raises(SourceError, match="damaged"):
        memory.import_from("claude-mem", path)
    assert memory.status().memories == 0


def test_a_locked_store_is_named(memory: Gieok, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pipeline.imports.database.BUSY_SECONDS", 0.1)
    path = stores.claude_mem(tmp_path / "claude-mem.db")
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("PRAGMA locking_mode = EXCLUSIVE")
        db.execute("BEGIN EXCLUSIVE")
        with pytest.raises(SourceError, match="locked by the tool"):
            memory.import_from("claude-mem", path)


def test_a_store_in_use_is_read_and_not_changed(memory: Gieok, tmp_path: Path) -> None:
    path = stores.claude_mem(tmp_path / "claude-mem.db")
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("INSERT INTO user_prompts (content_session_id, prompt_text) VALUES ('s-mado', '아직 WAL에만 있다')")
        before = path.read_bytes()
        assert memory.import_from("claude-mem", path).rows["prompts"] == 3
        assert path.read_bytes() == before
    assert found(memory, "아직 WAL에만")


def test_a_link_to_a_store_is_followed(memory: Gieok, tmp_path: Path) -> None:
    link = tmp_path / "link.db"
    link.symlink_to(stores.claude_mem(tmp_path / "claude-mem.db"))
    assert memory.import_from("claude-mem", link).indexed == 3
    assert memory.import_from("claude-mem", tmp_path / "claude-mem.db").skipped == 3


def test_an_unknown_kind_and_a_read_only_store(memory: Gieok, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="claude-mem, claude-memory-layer, memory-index"):
        memory.import_from("mem0", tmp_path)
    memory.read_only = True
    with pytest.raises(StoreError):
        memory.import_from("claude-mem", stores.claude_mem(tmp_path / "c.db"))


# --- the command line ---------------------------------------------------------------------------


def test_a_dry_run_counts_shows_samples_and_writes_nothing(gieok: Run, tmp_path: Path) -> None:
    path = stores.claude_mem(tmp_path / "claude-mem.db")
    ended = gieok("import", "claude-mem", path, "--dry-run")
    assert ended.exit_code == 0
    assert "3 sessions, 3 observations, 2 prompts, 1 summaries" in ended.stdout
    assert ended.stdout.count("Sample: ") == 3
    assert "nothing was written" in ended.stdout
    assert not (tmp_path / "default-home").exists()
    assert gieok("import", "claude-mem", path).exit_code == 0
    told = json.loads(gieok("import", "claude-mem", path, "--dry-run", "--json").stdout)
    assert (told["dryRun"], told["skipped"], told["indexed"]) == (True, 3, 0)
    assert len(told["samples"]) == 3


def test_import_then_search_by_command(gieok: Run, tmp_path: Path) -> None:
    path = stores.claude_mem(tmp_path / ".claude-mem" / "claude-mem.db")
    told = json.loads(gieok("import", "claude-mem", path.parent, "--json", "--no-vectors").stdout)
    assert told["rows"] == {"observations": 3, "prompts": 2, "summaries": 1}
    hits = json.loads(gieok("search", "금요일", "배포", "--project", "haru", "--json").stdout)["index"]
    assert hits
    assert {hit["sessionId"] for hit in hits} == {"s-haru"}


def test_an_empty_store_is_nothing_found(gieok: Run, tmp_path: Path) -> None:
    tables = stores.claude_mem_tables(session="content_session_id", memory="memory_session_id", new=True)
    assert gieok("import", "claude-mem", stores.build(tmp_path / "c.db", tables)).exit_code == 1


# --- properties ---------------------------------------------------------------------------------

_VALUES = st.one_of(st.none(), st.integers(-(2**62), 2**62), st.floats(), st.text(max_size=40), st.binary(max_size=40))


@given(_VALUES)
def test_any_value_is_read_as_text_list_and_time(value: Any) -> None:
    work = Work(datetime(2026, 1, 1, tzinfo=UTC))
    work.text(value).encode()
    assert all("\n" not in item for item in work.items(value))
    moment = work.moment(value)
    assert moment is None or moment.tzinfo is not None


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(_VALUES, min_size=9, max_size=9))
def test_any_values_in_a_row_end_well(tmp_path: Path, memory: Gieok, values: list[Any]) -> None:
    path = tmp_path / "any.db"
    path.unlink(missing_ok=True)
    stores.claude_mem(path)
    change(
        path,
        "UPDATE observations SET title = ?, subtitle = ?, narrative = ?, facts = ?, concepts = ?, files_read = ?,"
        " created_at_epoch = ?, type = ?, prompt_number = ? WHERE id = 1",
        *values,
    )
    report = memory.import_from("claude-mem", path, dry_run=True)
    assert not report.failed
