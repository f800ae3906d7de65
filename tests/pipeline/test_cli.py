from __future__ import annotations

import importlib.util
import json
import os
import pty
import re
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from pipeline import Gieok
from pipeline.cli import app

ROOT = Path(__file__).parents[2]
HOSTILE = "\x1b[35m빨강 [bold]x[/bold] [글](http://evil) \x1b]8;;http://evil\x07link"
NOTES: dict[str, str | bytes] = {
    "schema.md": "---\ndate: 2026-01-30\ntags: [db]\nsession: s-schema\n---\n"
    "# DuckDB 스키마 설계\n\n이벤트 소싱을 쓰기로 했다.",
    "deploy.md": "---\ndate: 2026-02-10\ntags: [ops]\n---\n# 배포 규칙\n\n배포는 금요일에 금지한다. memory:safe",
    "hostile.md": f"---\ndate: 2026-02-11\n---\n# 화면\n\n{HOSTILE}",
}

Run = Callable[..., Any]


@pytest.fixture
def gieok(monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run a command in this process: `gieok("search", "배포")` has exit_code, stdout and stderr. Words only."""
    monkeypatch.setenv("GIEOK_EMBEDDER_MODEL", "none")
    return lambda *arguments: CliRunner().invoke(app, list(arguments), prog_name="gieok")


@pytest.fixture
def indexed(gieok: Run, notes: Callable[..., Path]) -> Run:
    """`gieok` over a store that holds NOTES."""
    assert gieok("index", str(notes(NOTES))).exit_code == 0
    return gieok


def process(*arguments: str, environment: Mapping[str, str] | None = None, **how: Any) -> subprocess.Popen[bytes]:
    environment = {**os.environ, "GIEOK_EMBEDDER_MODEL": "none", **(environment or {})}
    command = [sys.executable, "-m", "pipeline", *arguments]
    return subprocess.Popen(command, cwd=ROOT, env=environment, **{"stdout": -1, "stderr": -1, **how})


def one_line(text: str) -> bool:
    return text.count("\n") == 1 and text.endswith("\n")


def first_id(gieok: Run, query: str) -> str:
    return str(json.loads(gieok("search", query, "--json").stdout)["index"][0]["id"])


# --- index --------------------------------------------------------------------------------------


def test_index_counts_and_a_second_run_skips(gieok: Run, notes: Callable[..., Path]) -> None:
    folder = str(notes(NOTES))
    first, second = gieok("index", folder), gieok("index", folder)
    assert (first.exit_code, second.exit_code) == (0, 0)
    assert "Files: 3 indexed, 0 updated, 0 skipped, 0 removed, 0 failed" in first.stdout
    assert "Files: 0 indexed, 0 updated, 3 skipped, 0 removed, 0 failed" in second.stdout


def test_a_missing_path_fails_but_the_rest_is_indexed(gieok: Run, notes: Callable[..., Path]) -> None:
    result = gieok("index", "nowhere.md", str(notes(NOTES)))
    assert result.exit_code == 2
    assert "3 indexed" in result.stdout
    assert re.search(r"^Failed: .*nowhere\.md: .+$", result.stdout, re.MULTILINE)
    assert gieok("search", "배포").exit_code == 0


def test_a_folder_without_notes_is_nothing_found(gieok: Run, notes: Callable[..., Path]) -> None:
    result = gieok("index", str(notes({"main.py": "x = 1"})))
    assert result.exit_code == 1
    assert "nothing to index" in result.stderr


def test_index_without_a_path_finishes_what_is_pending(indexed: Run) -> None:
    assert indexed("index").exit_code == 0


# --- search -------------------------------------------------------------------------------------


def test_search_shows_hits_with_their_layer(indexed: Run) -> None:
    one, two, three = (indexed("search", "스키마", "설계", "--layer", str(layer)) for layer in (1, 2, 3))
    assert (one.exit_code, two.exit_code, three.exit_code) == (0, 0, 0)
    assert one.stdout.startswith('1 match for "스키마 설계"  (layer 1, about ')
    assert re.search(
        r"^#1 \[mem_\w+\] DuckDB 스키마 설계: 이벤트 소싱을 쓰기로 했다\. \(\d\.\d\d\)  ", one.stdout, re.MULTILINE
    )
    assert re.search(r"^Hint: gieok show mem_\w+$", one.stdout, re.MULTILINE)
    assert "\n   DuckDB 스키마 설계" in two.stdout
    assert "\nsession   s-schema\n" in three.stdout


def test_json_is_the_result_and_nothing_else(indexed: Run) -> None:
    result = indexed("search", "스키마", "--json", "--layer", "3")
    answer = json.loads(result.stdout)
    assert list(answer) == ["index", "details", "meta"]
    assert list(answer["index"][0]) == ["id", "summary", "score", "type", "timestamp", "sessionId"]
    assert answer["index"][0]["sessionId"] == "s-schema"
    assert answer["meta"]["totalMatches"] == 1
    with Gieok.open() as memory:
        assert result.stdout == memory.find("스키마", layer=3).result.to_json() + "\n"


def test_nothing_found_is_1_with_the_reason(indexed: Run) -> None:
    shown, as_json = indexed("search", "qxzvwk"), indexed("search", "qxzvwk", "--json")
    assert (shown.exit_code, as_json.exit_code) == (1, 1)
    assert "qxzvwk" in shown.stdout
    assert json.loads(as_json.stdout)["index"] == []
    assert "qxzvwk" in as_json.stderr


def test_an_empty_store_names_the_next_step(gieok: Run) -> None:
    gieok("index")
    result = gieok("search", "배포")
    assert result.exit_code == 1
    assert "gieok index PATH" in result.stdout
    assert "gieok index PATH" in gieok("status").stdout


@pytest.mark.parametrize(
    "query",
    [
        ["-배포"],
        ["-배포", "-k", "3"],
        ["--", "-배포"],
        ["--", "--배포"],
        ["->", "배포"],
        ["배포는", "금요일에"],
        ["memory:safe"],
        ["배포", "*"],
    ],
)
def test_any_words_are_a_query(indexed: Run, query: list[str]) -> None:
    result = indexed("search", *query)
    assert result.exit_code == 0, result.stderr
    assert "배포 규칙" in result.stdout


@pytest.mark.parametrize(
    ("options", "found"),
    [
        (["--tag", "ops"], True),
        (["--tag", "db"], False),
        (["--tag", "db", "--tag", "ops"], True),
        (["--since", "2026-02-10", "--until", "2026-02-10"], True),
        (["--until", "2026-02-09"], False),
        (["--session", "s-schema"], False),
        (["--project", "x"], False),
        (["--team", "x"], False),
        (["--task", "x"], False),
        (["--type", "tool"], False),
        (["--type", "tool", "--type", "prompt", "--type", "response", "--type", "insight"], True),
        (["--min-score", "0"], True),
    ],
)
def test_filters_narrow(indexed: Run, options: list[str], found: bool) -> None:
    assert indexed("search", "배포", *options).exit_code == (0 if found else 1)


def test_top_k_limits_the_hits(indexed: Run) -> None:
    assert len(json.loads(indexed("search", "배포 스키마", "-k", "1", "--json").stdout)["index"]) == 1
    assert len(json.loads(indexed("search", "배포 스키마", "-k", "5", "--json").stdout)["index"]) == 2


# --- timeline, show, status, rebuild --------------------------------------------------------------


def test_timeline_and_show_take_a_beginning_of_an_id(indexed: Run) -> None:
    memory_id = first_id(indexed, "스키마")
    near, whole, same = (indexed(name, memory_id[:10]) for name in ("timeline", "show", "get"))
    assert (near.exit_code, whole.exit_code) == (0, 0)
    assert re.search(r"^\d\d:\d\d  ▶ \[mem_\w+\] DuckDB", near.stdout, re.MULTILINE)
    assert "이벤트 소싱을 쓰기로 했다." in whole.stdout
    assert whole.stdout == same.stdout


def test_timeline_and_show_as_json(indexed: Run) -> None:
    memory_id = first_id(indexed, "스키마")
    near = json.loads(indexed("timeline", memory_id, "--window", "0", "--json").stdout)
    assert [(item["id"], item["isTarget"]) for item in near["timeline"]] == [(memory_id, True)]
    whole = json.loads(indexed("show", memory_id, "--json").stdout)
    assert [item["id"] for item in whole["details"]] == [memory_id]
    assert whole["details"][0]["metadata"]["hasCode"] is False


def test_status_and_rebuild(indexed: Run) -> None:
    assert json.loads(indexed("status", "--json").stdout)["memories"] == 3
    assert "memories  3" in indexed("status").stdout
    for part in ([], ["words"], ["vectors"], ["all"]):
        assert indexed("rebuild", *part).exit_code == 0
    assert indexed("search", "배포").exit_code == 0


# --- options and mistakes -------------------------------------------------------------------------


def test_shared_options_stand_before_or_after_the_command(indexed: Run, tmp_path: Path) -> None:
    other = str(tmp_path / "other")
    assert indexed("--home", other, "search", "배포").exit_code == 2  # no store there
    assert indexed("--home", other, "index").exit_code == 0
    assert indexed("--home", other, "search", "배포").exit_code == 1
    assert indexed("search", "배포", "--home", other).exit_code == 1
    assert indexed("--home", other, "search", "배포", "--home", os.environ["GIEOK_HOME"]).exit_code == 0
    config = tmp_path / "config.toml"
    config.write_text("[layer1]\ntop_k = 1\n", encoding="utf-8")
    for arguments in (
        ["--config", str(config), "search", "배포 스키마"],
        ["search", "배포 스키마", "--config", str(config)],
    ):
        assert indexed(*arguments).stdout.startswith("1 match")


@pytest.mark.parametrize(
    "arguments",
    [
        ["search", "배포", "--type", "nonsense"],
        ["search", "배포", "--since", "gestern"],
        ["search", " "],
        ["show", "mem_nothing"],
        ["timeline", "mem_nothing"],
        ["show", "../../x"],
        ["--config", "/nowhere/config.toml", "status"],
        ["--home", "/dev/null/x", "status"],
    ],
)
def test_a_mistake_is_one_line_and_2(gieok: Run, arguments: list[str]) -> None:
    result = gieok(*arguments)
    assert result.exit_code == 2
    assert one_line(result.stderr)
    assert result.stdout == ""
    assert "unexpected" not in result.stderr


@pytest.mark.parametrize(
    "arguments",
    [["nonsense"], ["search"], ["show"], ["search", "배포", "--layer", "4"], ["search", "--layr", "2", "배포"],
     ["search", "배포", "-x"], ["search", "배포", "-k", "0"], ["search", "배포", "-k", "x"], ["rebuild", "x"]],
)  # fmt: skip
def test_wrong_usage_is_2(gieok: Run, arguments: list[str]) -> None:
    result = gieok(*arguments)
    assert result.exit_code == 2
    assert "Error: " in result.stderr
    assert result.stdout == ""


def failing(error: BaseException) -> Callable[..., Any]:
    def fail(*_: object, **__: object) -> None:
        raise error

    return fail


class Panic(BaseException):
    """Like pyo3's, which is no Exception."""


@pytest.mark.parametrize("error", [RuntimeError("two\nlines \x1b[31m"), Panic("at the disco"), MemoryError()])
def test_what_nobody_expected_is_one_line_too(
    gieok: Run, monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    monkeypatch.setattr(Gieok, "open", failing(error))
    result = gieok("status")
    assert result.exit_code == 2
    assert one_line(result.stderr)
    assert result.stderr.startswith(f"Error: unexpected {type(error).__name__}: ")
    assert "GIEOK_DEBUG=1" in result.stderr
    assert "\x1b" not in result.stderr
    monkeypatch.setenv("GIEOK_DEBUG", "1")
    assert "Traceback (most recent call last)" in gieok("status").stderr


def test_ctrl_c_is_calm(gieok: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Gieok, "index", failing(KeyboardInterrupt()))
    result = gieok("index")
    assert result.exit_code == 130
    assert result.stderr == "stopped; what was stored stays. `gieok index` resumes.\n"


def test_version(gieok: Run) -> None:
    assert re.fullmatch(r"gieok \d+\.\d+\.\S+\n", gieok("--version").stdout)


# --- the process ----------------------------------------------------------------------------------


@pytest.mark.parametrize("command", [[], ["search"]])
def test_help_loads_nothing_heavy(command: list[str]) -> None:
    # Newer versions of typer load pydantic themselves, to parse the options of a command.
    heavy = ["numpy", "tantivy", "fastembed", "onnxruntime", "rich", "yaml", *([] if command else ["pydantic"])]
    code = (
        f"import sys\nfrom pipeline.cli import main\nsys.argv = ['gieok', *{command}, '--help']\n"
        "try: main()\nexcept SystemExit as end: print('code', end.code)\n"
        f"print([name for name in {heavy} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("Usage: gieok")
    assert done.stdout.endswith("code 0\n[]\n")


def test_a_pipe_gets_plain_text_in_utf8_whatever_the_locale(indexed: Run) -> None:
    locale = {"LC_ALL": "C", "LANG": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PYTHONIOENCODING": ""}
    run = process("search", "빨강", "--layer", "3", environment=locale)
    out, err = run.communicate(timeout=60)
    assert run.returncode == 0, err.decode()
    shown = out.decode("utf-8")
    assert "빨강 [bold]x[/bold]" in shown
    assert '"빨강"' in shown.splitlines()[0]
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]", shown)


@pytest.mark.parametrize("no_color", [{}, {"NO_COLOR": "1"}])
def test_a_terminal_gets_colours_but_not_from_memories(indexed: Run, no_color: dict[str, str]) -> None:
    ours, theirs = pty.openpty()
    environment = {"TERM": "xterm-256color", "COLUMNS": "200", **no_color}
    run = process("search", "빨강", "--layer", "3", environment=environment, stdout=theirs)
    os.close(theirs)
    shown = b""
    try:
        while part := os.read(ours, 65_536):
            shown += part
    except OSError:  # Linux: the other side has been closed
        pass
    finally:
        os.close(ours)
    assert run.wait(timeout=60) == 0
    run.communicate()
    text = shown.decode("utf-8")
    assert "[bold]x[/bold]" in text
    assert ("\x1b[" in text) == (not no_color)
    assert "\x1b[35m" not in text
    assert "\x1b]" not in text


def test_a_reader_that_leaves_early_is_no_error(gieok: Run, notes: Callable[..., Path]) -> None:
    text = "\n\n".join(f"{number}번 문장이다. 배포" for number in range(200))
    assert gieok("index", str(notes({f"{n}.md": text for n in range(20)}))).exit_code == 0
    ids = [item["id"] for item in json.loads(gieok("search", "배포", "-k", "100", "--json").stdout)["index"]]
    run = process("show", *ids)
    assert run.stdout is not None
    run.stdout.close()
    assert run.stderr is not None
    with run.stderr:
        assert run.stderr.read() == b""
    assert run.wait(timeout=60) == 0


def test_the_page_about_the_command_line_is_up_to_date() -> None:
    spec = importlib.util.spec_from_file_location("gen_cli_docs", ROOT / "scripts" / "gen_cli_docs.py")
    assert spec is not None
    assert spec.loader is not None
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    assert script.main(["--check"]) == 0, "run: python scripts/gen_cli_docs.py"
