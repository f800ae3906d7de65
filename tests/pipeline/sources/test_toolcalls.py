"""Tool calls and results as text."""

from __future__ import annotations

import pytest

from indexes.types import JSON
from pipeline.sources.cleaning import Cleaner
from pipeline.sources.toolcalls import INPUT_LIMIT, MAX_TITLE, bound, read_call, read_content, read_result


def test_a_call_begins_with_what_it_is_about() -> None:
    call = read_call(
        "Grep", {"output_mode": "content", "pattern": "스키마", "path": "/src", "-n": True, "glob": "*.py"}
    )
    assert call.title == "Grep: 스키마"
    assert call.text == "Grep: 스키마\npath: /src"
    assert call.files == ("/src",)


def test_an_edit_names_its_file_and_both_texts() -> None:
    call = read_call("Edit", {"file_path": "/a.py", "old_string": "x", "new_string": "y", "replace_all": False})
    assert call.text == "Edit: /a.py\nold_string: x\nnew_string: y"
    assert call.files == ("/a.py",)


def test_lists_are_shown_as_json_and_long_inputs_are_bounded() -> None:
    call = read_call("TodoWrite", {"todos": [{"content": "하나"}], "empty": "", "none": None})
    assert call.text == 'TodoWrite\ntodos: [{"content": "하나"}]'
    long = read_call("Write", {"file_path": "/a", "content": "x" * 10_000})
    assert "[… 9,300 characters left out …]" in long.text
    assert len(read_call("Bash", {"command": "y" * 500}).title) <= MAX_TITLE
    assert INPUT_LIMIT == 700


@pytest.mark.parametrize(
    "command",
    ["gieok search x", "  gieok", "cd /a && gieok show m", "LANG=C .venv/bin/gieok status", "uvx gieok search x"],
)
def test_own_commands(command: str) -> None:
    assert read_call("Bash", {"command": command}).is_own


@pytest.mark.parametrize(
    "command", ["git log --grep gieok", "gieokx", "cat gieok.md", "pip install gieok", "cd gieok && ls"]
)
def test_other_commands(command: str) -> None:
    assert not read_call("Bash", {"command": command}).is_own


def test_own_tools() -> None:
    assert read_call("mcp__gieok__search", {}).is_own
    assert read_call("mcp__plugin_gieok_gieok__show", {}).is_own
    assert not read_call("mcp__github__gieok", {}).is_own


def test_a_long_text_keeps_its_head_and_tail() -> None:
    text = "".join(str(number % 10) for number in range(200))
    # Two thirds of 90 from the beginning, the rest from the end.
    assert bound(text, 90) == f"{text[:60]}\n[… 110 characters left out …]\n{text[-30:]}"
    assert bound(text, 200) == text


def test_results_lose_line_numbers_reminders_and_wrapping() -> None:
    raw = "     1→def f():\n     2→    pass\n\n\n\n\n<system-reminder>x</system-reminder>"
    assert read_result(raw, Cleaner()) == "def f():\n    pass"
    assert read_result([{"type": "text", "text": "<tool_use_error>no</tool_use_error>"}], Cleaner()) == "no"


def test_images_become_marks() -> None:
    image: JSON = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBOR" * 100_000}}
    assert read_content([{"type": "text", "text": "look"}, image], Cleaner()) == "look\n\n[image: image/png]"
    assert read_content([{"type": "document"}, {"type": "thinking", "thinking": "x"}, 5, None, "s"], Cleaner()) == (
        "[document]\n\ns"
    )
