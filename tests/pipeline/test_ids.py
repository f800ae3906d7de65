"""Ids: pinned, because a change would orphan every id that people wrote down."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from pipeline.ids import memory_id


def test_ids_are_what_they_were() -> None:
    # printf '/notes/a.md\0제목#0' | sha256sum | cut -c1-64 | xxd -r -p | base32, its first 12 characters
    assert memory_id("/notes/a.md", "제목#0") == "mem_dji6kpdvcac4"


@given(st.text(), st.text(), st.text(), st.text())
def test_ids_depend_on_both_parts_and_nothing_else(a: str, b: str, c: str, d: str) -> None:
    assert re.fullmatch(r"mem_[a-z2-7]{12}", memory_id(a, b))
    assert memory_id(a, b) == memory_id(a, b)
    if "\0" not in a + b + c + d and (a, b) != (c, d):
        assert memory_id(a, b) != memory_id(c, d)
