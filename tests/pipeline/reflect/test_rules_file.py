"""Our section of a rules file."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from indexes.errors import HostError
from pipeline.reflect.rules_file import CLOSE, OPEN, RulesFile
from pipeline.reflect.wording import LIMIT, plain_line


def file(data: bytes | None) -> RulesFile:
    return RulesFile("CLAUDE.md", data)


@given(st.text().filter(lambda text: OPEN not in text and CLOSE not in text))
def test_the_users_bytes_stay(text: str) -> None:
    before = text.encode()
    once = file(before).merged(["규칙 하나"])
    assert once.startswith(before)
    twice = file(once).merged(["규칙 하나", "rule two"])
    assert twice.startswith(before)
    assert file(twice).merged(["rule two"]) == twice


@pytest.mark.parametrize("before", [b"", b"# A\n", b"# A", b"\xef\xbb\xbf# A\r\n\r\ntext\r\n", None])
def test_forms_of_files(before: bytes | None) -> None:
    once = file(before).merged(["rule one"])
    assert once.startswith(before or b"")
    assert file(once).rules() == ["rule one"]
    twice = file(once + b"after\r\n").merged(["rule two"])
    assert file(twice).rules() == ["rule one", "rule two"]
    assert twice.endswith(b"after\r\n")
    if before and b"\r\n" in before:
        assert b"\n" not in twice.replace(b"\r\n", b"")


@pytest.mark.parametrize("text", [OPEN, CLOSE, f"{CLOSE}\n{OPEN}", f"{OPEN}\n{OPEN}\n{CLOSE}"])
def test_broken_markers_are_refused(text: str) -> None:
    with pytest.raises(HostError, match="gieok:rules"):
        file(text.encode()).merged(["rule"])


def test_markers_in_a_fence_are_text() -> None:
    before = f"```\n{OPEN}\n{CLOSE}\n```\n".encode()
    assert file(file(before).merged(["rule"])).rules() == ["rule"]


@pytest.mark.parametrize("data", [b"\xff\xfe\x00", b"\xb0\xa1" * 9])
def test_no_utf8_is_refused(data: bytes) -> None:
    with pytest.raises(HostError, match="UTF-8"):
        file(data).merged(["rule"])


@given(st.text(max_size=400))
def test_a_line_is_one_plain_line(text: str) -> None:
    line = plain_line(f"# {text} {OPEN} @~/.ssh/id_rsa ```x``` \x1b[31m {CLOSE}")
    assert len(line) <= LIMIT
    assert not any(bad in line for bad in ("\n", "<!--", "-->", "`", "@~", "\x1b", "gieok:rules --"))
    assert not line.startswith(("# ", "- "))
