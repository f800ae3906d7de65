"""Which files are found, in which order, and what becomes of everything else."""

from __future__ import annotations

import os
import socket
import tempfile
import unicodedata
from collections.abc import Iterator
from pathlib import Path

import pytest

from pipeline.sources.walker import Found, Problem, identity_of, walk

LIMIT = 1_000


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "notes"
    folder.mkdir()
    return folder


def write(path: Path, text: str = "text") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def labels(*paths: Path) -> list[str]:
    found = list(walk(paths, max_bytes=LIMIT))
    assert not [item for item in found if isinstance(item, Problem)]
    return [item.label for item in found if isinstance(item, Found)]


def problems(*paths: Path) -> list[Problem]:
    return [item for item in walk(paths, max_bytes=LIMIT) if isinstance(item, Problem)]


def test_a_folder_gives_its_notes_by_name_and_counts_the_rest(root: Path) -> None:
    for name in ("b.md", "a/z.txt", "나.MD", "가.jsonl", "main.py", "a/logo.png"):
        write(root / name)
    found = walk([root], max_bytes=LIMIT)
    assert [item.label for item in found if isinstance(item, Found)] == ["a/z.txt", "b.md", "가.jsonl", "나.MD"]
    assert found.passed_over == 2


def test_what_is_found_says_where_it_is(root: Path) -> None:
    path = write(root / "sub" / "a.md")
    assert list(walk([root], max_bytes=LIMIT)) == [Found(path, str(path), str(root), "sub/a.md")]
    assert list(walk([path], max_bytes=LIMIT)) == [Found(path, str(path), str(path.parent), "a.md")]


def test_hidden_names_are_left_out_unless_named(root: Path) -> None:
    write(root / "a.md")
    hidden = write(root / ".hidden" / "b.md")
    secret = write(root / ".c.md")
    assert labels(root) == ["a.md"]
    assert labels(hidden.parent) == ["b.md"]
    assert labels(secret) == [".c.md"]


def test_a_named_file_may_have_any_name(root: Path) -> None:
    assert labels(write(root / "Makefile")) == ["Makefile"]


class TestGitignore:
    def test_rules_of_every_level_and_exceptions(self, root: Path) -> None:
        write(root / ".gitignore", "build/\n*.txt\n!keep.txt\n")
        write(root / "sub" / ".gitignore", "/local.md\n!*.txt\n")
        for name in ("build/a.md", "b.txt", "keep.txt", "sub/local.md", "sub/deep/local.md", "sub/c.txt"):
            write(root / name)
        assert labels(root) == ["keep.txt", "sub/c.txt", "sub/deep/local.md"]

    def test_rules_of_the_repository_around_the_folder(self, root: Path) -> None:
        (root / ".git").mkdir()
        write(root / ".gitignore", "drafts/\n/docs/old.md\n")
        for name in ("docs/old.md", "docs/new.md", "docs/drafts/a.md"):
            write(root / name)
        assert labels(root / "docs") == ["new.md"]

    def test_a_folder_that_is_ignored_but_named_is_taken(self, root: Path) -> None:
        (root / ".git").mkdir()
        write(root / ".gitignore", "private/\n")
        write(root / "private" / "a.md")
        assert labels(root) == []
        assert labels(root / "private") == ["a.md"]

    def test_rules_outside_a_repository_do_not_reach_down(self, root: Path) -> None:
        write(root / ".gitignore", "*.md\n")
        write(root / "docs" / "a.md")
        assert labels(root / "docs") == ["a.md"]

    def test_a_whitelist(self, root: Path) -> None:
        write(root / ".gitignore", "*\n!*/\n!*.md\n")
        write(root / "inner" / ".gitignore", "sub/**\n!sub/c.md\n")
        write(root / "inner" / "sub" / "b.md")
        write(root / "inner" / "sub" / "c.md")
        write(root / "sub" / "a.md")
        write(root / "sub" / "b.txt")
        assert labels(root) == ["inner/sub/c.md", "sub/a.md"]

    def test_a_folder_that_a_nearer_rule_lets_in(self, root: Path) -> None:
        write(root / ".gitignore", "build\n")
        write(root / "sub" / ".gitignore", "!build/\n")
        write(root / "build" / "a.md")
        write(root / "sub" / "build" / "b.md")
        assert labels(root) == ["sub/build/b.md"]

    def test_a_rule_in_another_unicode_form_fits(self, root: Path) -> None:
        write(root / ".gitignore", unicodedata.normalize("NFD", "비밀.md") + "\n")
        write(root / unicodedata.normalize("NFC", "비밀.md"))
        assert labels(root) == []

    def test_a_broken_rule_costs_only_itself(self, root: Path) -> None:
        (root / ".gitignore").write_bytes(b"!\n\xff\xfe\nb.md\n")
        write(root / "a.md")
        write(root / "b.md")
        assert labels(root) == ["a.md"]


class TestOneFileOneIdentity:
    def test_however_its_path_is_spelled(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        path = write(root / "a.md")
        monkeypatch.chdir(root)
        alias = root.parent / "alias"
        alias.symlink_to(root)
        spellings = [path, Path("a.md"), root / ".." / "notes" / "a.md", alias / "a.md", root, alias]
        assert labels(*spellings) == ["a.md"]
        assert {identity_of(spelling / "a.md") for spelling in (root, alias)} == {str(path)}

    def test_names_that_differ_only_in_form(self, root: Path) -> None:
        composed = write(root / unicodedata.normalize("NFC", "메모.md"))
        decomposed = write(root / unicodedata.normalize("NFD", "메모.md"))
        if composed.samefile(decomposed):
            pytest.skip("this file system takes both names for one")
        found = list(walk([root], max_bytes=LIMIT))
        # Sorted by NFC name and then as they are: the decomposed one begins with a lower code point.
        assert [type(item) for item in found] == [Found, Problem]
        assert found[0].identity == found[1].identity == str(composed)
        assert isinstance(found[1], Problem)
        assert str(decomposed) in found[1].reason

    def test_label_and_identity_are_nfc(self, root: Path) -> None:
        write(root / unicodedata.normalize("NFD", "각") / unicodedata.normalize("NFD", "메모.md"))
        (item,) = walk([root], max_bytes=LIMIT)
        assert isinstance(item, Found)
        assert item.label == "각/메모.md"
        assert item.identity == f"{root}/각/메모.md"


class TestLinks:
    def test_inside_the_root_it_adds_nothing(self, root: Path) -> None:
        write(root / "a.md")
        (root / "b.md").symlink_to(root / "a.md")
        (root / "loop").symlink_to(root)
        assert labels(root) == ["a.md"]

    def test_to_a_hidden_file_it_adds_nothing(self, root: Path) -> None:
        (root / "b.md").symlink_to(write(root / ".secret" / "a.md"))
        assert labels(root) == []

    def test_out_of_the_root_it_is_refused(self, root: Path) -> None:
        outside = write(root.parent / "outside" / "a.md")
        (root / "file.md").symlink_to(outside)
        (root / "folder").symlink_to(outside.parent)
        (root / "gone.md").symlink_to(root / "nothing.md")
        found = problems(root)
        assert [Path(problem.path).name for problem in found] == ["file.md", "folder", "gone.md"]
        assert f"name {outside}" in found[0].reason
        assert "leaves the folder" in found[1].reason
        assert "to nothing" in found[2].reason

    def test_into_another_named_root_is_no_problem(self, root: Path) -> None:
        other = write(root.parent / "other" / "a.md")
        (root / "a.md").symlink_to(other)
        assert labels(root, other.parent) == ["a.md"]


class TestProblems:
    def test_a_missing_path(self, root: Path) -> None:
        assert problems(root / "none.md") == [Problem(f"{root}/none.md", "does not exist", f"{root}/none.md")]

    def test_pipes_and_sockets_are_named_and_not_opened(self, root: Path) -> None:
        os.mkfifo(root / "pipe.md")
        # Directly below /tmp: the path of a socket has at most 107 bytes.
        with tempfile.TemporaryDirectory(dir="/tmp") as short, socket.socket(socket.AF_UNIX) as server:
            server.bind(f"{short}/s.md")
            found = problems(root, Path(short))
        assert [problem.reason for problem in found] == [
            "is a named pipe, not a file; it was not opened",
            "is a socket, not a file; it was not opened",
        ]

    def test_a_device(self) -> None:
        assert [problem.reason for problem in problems(Path("/dev/null"))] == [
            "is a device, not a file; it was not opened"
        ]

    def test_a_large_file_says_how_to_take_it(self, root: Path) -> None:
        write(root / "a.md", "x" * (LIMIT + 1))
        write(root / "b.md", "x" * LIMIT)
        first, second = walk([root], max_bytes=LIMIT)
        assert isinstance(first, Problem)
        assert "1,001 bytes, more than sources.max_file_bytes = 1,000" in first.reason
        assert first.identity == f"{root}/a.md"
        assert isinstance(second, Found)

    def test_a_path_with_a_nul(self) -> None:
        assert [problem.reason for problem in problems(Path("a\0b"))] == ["is no path: it holds a NUL character"]

    def test_a_name_that_is_not_unicode(self, root: Path) -> None:
        try:
            (root / os.fsdecode(b"\xff.md")).write_text("text")
        except OSError:
            pytest.skip("this file system takes only Unicode names")
        (problem,) = problems(root)
        assert "not Unicode" in problem.reason
        assert (problem.path + problem.identity).encode("utf-8")

    def test_an_unreadable_folder_does_not_stop_the_rest(self, as_nobody: Path) -> None:
        write(as_nobody / "b.md")
        locked = as_nobody / "a"
        locked.mkdir(mode=0o000)
        try:
            first, second = walk([as_nobody], max_bytes=LIMIT)
        finally:
            locked.chmod(0o700)
        assert first == Problem(str(locked), "can't be read (Permission denied)", str(locked))
        assert isinstance(second, Found)

    def test_folders_deeper_than_pythons_stack(self, root: Path) -> None:
        deep = root
        for _ in range(1_200):
            deep = deep / "d"
            deep.mkdir()
        (deep / "a.md").write_text("text")
        assert labels(root) == ["d/" * 1_200 + "a.md"]
        (deep / "a.md").unlink()
        while deep != root:  # shutil.rmtree, which would tidy up later, recurses
            deep.rmdir()
            deep = deep.parent


@pytest.fixture
def as_nobody() -> Iterator[Path]:
    """A folder, and no right to read what others may not: root may read everything."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder).resolve()
        path.chmod(0o777)
        if os.geteuid() != 0:
            yield path
            return
        os.seteuid(65_534)
        try:
            yield path
        finally:
            os.seteuid(0)
