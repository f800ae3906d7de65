"""The table of commands says what the commands say, and `gieok --help` imports none of them."""

from __future__ import annotations

import subprocess
import sys

import pytest
from typer.testing import CliRunner

from pipeline.cli import app
from pipeline.cli.lazy import ALIASES, COMMANDS


@pytest.mark.parametrize("name", COMMANDS)
def test_the_summary_of_a_command_is_the_beginning_of_its_help(name: str) -> None:
    shown = CliRunner().invoke(app, [name, "--help"], prog_name="gieok", terminal_width=200)
    assert shown.exit_code == 0, shown.output
    body = " ".join(shown.stdout.split("\n\n", 1)[1].split())
    assert body.startswith(COMMANDS[name][1])


def test_an_alias_is_a_command_that_the_help_does_not_list() -> None:
    listed = CliRunner().invoke(app, ["--help"], prog_name="gieok").stdout
    for alias in ALIASES:
        assert CliRunner().invoke(app, [alias, "--help"], prog_name="gieok").exit_code == 0
        assert f"\n  {alias} " not in listed


def test_a_mistyped_command_is_named_with_the_one_that_was_meant() -> None:
    shown = CliRunner().invoke(app, ["serach", "x"], prog_name="gieok")
    assert shown.exit_code == 2
    assert "search" in shown.output


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["search", "--help"], ["serach"]])
def test_help_imports_nothing_that_only_a_store_needs(arguments: list[str]) -> None:
    heavy = "{'numpy', 'onnxruntime', 'tantivy', 'tokenizers', 'sqlite3', 'rich'}"
    code = (
        "import sys\n"
        "from pipeline.start import main\n"
        f"sys.argv = ['gieok', *{arguments!r}]\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        f"print(sorted({heavy} & sys.modules.keys()), file=sys.stderr)\n"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ended.stderr.splitlines()[-1] == "[]"
