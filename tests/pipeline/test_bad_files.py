"""Files that broke indexing: each is reported or read, and the file beside it is indexed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pipeline import Gieok
from pipeline.sources.base import Draft
from pipeline.sources.blocks import split_blocks
from pipeline.sources.frontmatter import split_front_matter

Open = Callable[..., Gieok]
Notes = Callable[..., Path]
ROOT = Path(__file__).parents[2]

BAD = {
    "huge number": ("x.jsonl", '{"content": "a", "timestamp": 1' + "0" * 400 + "}"),
    "odd timestamp tag": ("x.md", "---\ndate: !!timestamp x\n---\nbody\n"),
    "odd bool tag": ("x.md", "---\ntags: !!bool foo\n---\nbody\n"),
    "empty int tag": ("x.md", '---\ntags: !!int ""\n---\nbody\n'),
    "empty float tag": ("x.md", '---\ntitle: !!float ""\n---\nbody\n'),
    "surrogate in YAML": (
        "x.md",
        '---\ntitle: "\\ud800"\ntags: ["\\udfff"]\ndate: "\\ud800"\nx: "\\ud800"\n---\nbody\n',
    ),
    "surrogates in JSON": (
        "x.jsonl",
        '{"content": "a \\ud800", "title": "\\ud800", "tags": ["\\udc00"], "session": "\\ud800", "id": "\\ud800",'
        ' "files": ["\\ud800"], "tools": ["\\ud800"], "timestamp": "\\ud800", "\\ud800": {"\\ud800": "\\ud800"}}',
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_a_bad_file_does_not_stop_the_one_beside_it(open_gieok: Open, notes: Notes, name: str) -> None:
    file, text = BAD[name]
    memory = open_gieok()
    report = memory.index([notes({file: text, "z.md": "배포 메모"})], vectors=False)
    assert report.indexed + len(report.failed) == 2
    assert memory.search_index("배포 메모")
    json.loads(memory.find("body a 배포").result.to_json())


def test_a_reader_that_fails_names_the_file(open_gieok: Open, notes: Notes, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> list[Draft]:
        raise ZeroDivisionError("oops")

    monkeypatch.setattr("pipeline.sources.markdown.split_sections", broken)
    report = open_gieok().index([notes({"a.md": "글", "b.txt": "배포 메모"})], vectors=False)
    assert report.indexed == 1
    assert "ZeroDivisionError (oops); please report it" in report.failed[0].reason


TAGS = [f"!!{tag}" for tag in ("int", "float", "bool", "null", "timestamp", "binary", "set", "omap", "pairs")]
SIGNS = ["!x", '""', "x", "[", "]", "{", "}", ":", "-", "1e999", "~", "&a", "*a", "|", ">", "\n", " ", "\t"]


@given(st.lists(st.sampled_from(TAGS + SIGNS), max_size=12))
@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
def test_front_matter_is_total(parts: list[str]) -> None:
    split_front_matter(f"---\nkey: {' '.join(parts)}\n---\nbody\n")


@pytest.mark.parametrize(
    ("line", "title"),
    [
        ("# a", "a"), ("## a ##", "a"), ("# a #b", "a #b"), ("# a#", "a#"), ("#", ""), ("# ##", ""),
        ("###### x \t#  ", "x"),
        ("# a" + " " * 200_000 + "b", "a" + " " * 200_000 + "b"),  # took hours with a pattern
    ],
)  # fmt: skip
def test_headings_by_hash(line: str, title: str) -> None:
    (block,) = [block for block in split_blocks(line) if block.kind == "heading"]
    assert block.title.split() == title.split()


def gieok(*arguments: str, **streams: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "pipeline", *arguments],
        cwd=ROOT,
        text=True,
        stderr=subprocess.PIPE,
        check=False,
        **streams,
    )  # type: ignore[call-overload, no-any-return]


@pytest.mark.parametrize("path", ["~nosuchuser/x", "a" * 5000])
def test_paths_that_cannot_be_are_named_and_the_rest_goes_on(notes: Notes, tmp_path: Path, path: str) -> None:
    good = notes({"a.md": "배포 메모"})
    run = gieok("index", path, str(good), "--no-vectors", "--home", str(tmp_path / "h"), stdout=subprocess.PIPE)
    assert run.returncode == 2
    assert "1 indexed" in run.stdout
    assert "Traceback" not in run.stderr
    assert "unexpected" not in run.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
@pytest.mark.parametrize("arguments", [["--help"], ["status"]])
def test_a_full_stdout_is_one_line(arguments: list[str]) -> None:
    with Path("/dev/full").open("w") as full:
        run = gieok(*arguments, stdout=full)
    assert run.returncode == 2
    assert "Traceback" not in run.stderr
    assert len(run.stderr.splitlines()) == 1


@pytest.mark.skipif(os.name != "posix", reason="closes a file descriptor in a shell")
def test_a_closed_stdout_is_no_error(tmp_path: Path) -> None:
    Gieok.open(tmp_path / "home").close()
    run = subprocess.run(
        ["sh", "-c", f"'{sys.executable}' -m pipeline --home '{tmp_path}/home' status >&-"],
        cwd=ROOT,
        text=True,
        stderr=subprocess.PIPE,
        check=False,
    )
    assert run.returncode == 0
    assert run.stderr == ""
