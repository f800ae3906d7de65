from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from eval import cli

MakeSet = Callable[..., Path]


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    """Run the command line in this process: exit code, stdout, stderr."""
    monkeypatch.setenv("COLUMNS", "200")

    def run(*arguments: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["eval", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        out, err = capsys.readouterr()
        return int(ended.value.code or 0), out, err

    return run


Call = Callable[..., tuple[int, str, str]]


def test_figures_and_report_are_written(call: Call, make_set: MakeSet, cache: Path, tmp_path: Path) -> None:
    folder, out = make_set(), tmp_path / "out"
    for command in ("run", "compare"):
        code, stdout, _ = call(command, folder, "--out", out, "--cache", cache)
        assert code == 0
        assert "Written" in stdout
    code, stdout, _ = call("fusion", folder, "--out", out, "--cache", cache)
    assert code == 0
    assert "Best of 700 settings on dev" in stdout
    assert {path.name for path in out.iterdir()} == {"run.json", "compare.json", "fusion.json", "report.html"}
    sets = json.loads((out / "run.json").read_text(encoding="utf-8"))["sets"]
    assert list(sets["tiny"]) == ["words", "vectors", "rrf", "default"]
    compare = json.loads((out / "compare.json").read_text(encoding="utf-8"))
    assert [row["k"] for row in compare["sets"]["tiny"]] == [5, 10, 20]
    report = (out / "report.html").read_text(encoding="utf-8")
    assert all(f'<section id="{name}">' in report for name in ("run", "compare", "fusion"))


def test_problems_are_printed_by_name_and_count(call: Call, make_set: MakeSet, cache: Path) -> None:
    folder = make_set(qrels={"q1": {"deploy": 1, "gone": 1}})
    _, stdout, _ = call("run", folder, "--cache", cache)
    assert "tiny: judged documents that are not in the corpus: 1 (gone)" in stdout


def test_the_worst_queries_are_listed_on_request(call: Call, make_set: MakeSet, cache: Path) -> None:
    _, stdout, _ = call("run", make_set(), "--cache", cache, "--worst", 2)
    assert stdout.count("tiny q") == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("run", "nowhere"), "No dataset 'nowhere'"),
        (("run", "sample", "--split", "train"), "no split 'train'; it has: dev, test"),
        (("compare", "sample", "--config", "none.toml"), "No settings file at none.toml"),
    ],
)
def test_wrong_input_is_one_line_and_exit_code_2(call: Call, arguments: tuple[str, ...], message: str) -> None:
    code, stdout, stderr = call(*arguments)
    assert code == 2
    assert stdout == ""
    assert len(stderr.strip().splitlines()) == 1
    assert message in stderr


def test_a_data_folder_that_is_not_there_is_refused(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIEOK_DATA", "/nowhere")
    code, _, stderr = call("run")
    assert code == 2
    assert "GIEOK_DATA names /nowhere, which is no folder" in stderr


def test_sets_are_listed_with_problems_and_refusals(
    call: Call, make_set: MakeSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = make_set("good")
    make_set("broken", qrels={"q1": {"deploy": 0}})
    make_set("odd", qrels={"q1": {"deploy": 1}, "q2": {"index": 0}})
    monkeypatch.setenv("GIEOK_DATA", str(folder.parent))
    code, stdout, _ = call("datasets")
    assert code == 0
    flat = " ".join(stdout.split())
    assert "refused" in flat
    assert "queries without a relevant document: 1 (q2)" in flat
    assert all(name in flat for name in ("good", "sample", "MIRACL-ko", "Ko-StrategyQA", "LoCoMo", "scifact"))
