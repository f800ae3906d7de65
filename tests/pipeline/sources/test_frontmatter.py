"""Front matter, good and bad."""

from __future__ import annotations

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from indexes.types import JSON
from pipeline.sources.frontmatter import split_front_matter


def test_values_are_what_was_written() -> None:
    front = split_front_matter(
        "---\ndate: 2026-01-30\nsession: 01\ntime: 14:05\nn: 3\nx: 1.5\nok: true\nno: no\nnone:\n"
        "tags: [a, 한글]\n---\n# B\n"
    )
    assert front.data == {
        "date": "2026-01-30",
        "session": "01",
        "time": "14:05",
        "n": 3,
        "x": 1.5,
        "ok": True,
        "no": "no",
        "none": None,
        "tags": ["a", "한글"],
    }
    assert (front.body, front.notices) == ("# B\n", ())


@pytest.mark.parametrize(
    "text", ["", "# A\n", "---\n", "---\n\ntext\n\n---\nmore", "a\n---\nb: c\n---\n", "----\na: b\n----\n"]
)
def test_none(text: str) -> None:
    front = split_front_matter(text)
    assert (front.body, front.data) == (text, {})


def test_empty() -> None:
    assert split_front_matter("---\n---\nbody").body == "body"


def test_closed_by_dots() -> None:
    assert split_front_matter("---\na: b\n...\nbody").body == "body"


def test_not_closed_is_text_with_a_notice() -> None:
    front = split_front_matter("---\ntitle: a\n\n# Body\n")
    assert front.body == "---\ntitle: a\n\n# Body\n"
    assert "not closed" in front.notices[0]


@pytest.mark.parametrize(
    ("head", "data"),
    [
        ("title: DuckDB: 스키마\ndate: 2026-01-30", {"title": "DuckDB: 스키마", "date": "2026-01-30"}),
        ("title: 'open\ntags: a", {"title": "open", "tags": "a"}),
        ("a: &x [1]\nb: *x", {"a": "&x [1]", "b": "*x"}),
        ("a: !!python/object/apply:os.system [x]", {"a": "!!python/object/apply:os.system [x]"}),
        ("\ta: b", {}),
    ],
)
def test_broken_is_read_key_by_key(head: str, data: dict[str, JSON]) -> None:
    front = split_front_matter(f"---\n{head}\n---\nbody")
    assert (front.body, front.data) == ("body", data)
    assert front.notices[0].startswith("its front matter is not valid YAML (")


def test_the_line_of_the_mistake_is_named() -> None:
    front = split_front_matter("---\ndate: 2026-01-30\ntitle: a: b\n---\n")
    assert front.notices == (
        "its front matter is not valid YAML (line 3: mapping values are not allowed here; read key by key)",
    )


def test_bombs_are_harmless() -> None:
    laughs = "a: &a [x]\n" + "".join(
        f"{b}: &{b} [{', '.join(['*' + a] * 9)}]\n" for a, b in zip("abcdefgh", "bcdefghi", strict=True)
    )
    assert "aliases" in split_front_matter(f"---\n{laughs}---\n").notices[0]
    assert split_front_matter("---\na: " + "[" * 9_000 + "\n---\nbody").body == "body"


@given(st.text(max_size=200))
def test_total(text: str) -> None:
    split_front_matter(text)
    split_front_matter(f"---\n{text}\n---\n")


plain = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs", "Zl", "Zp"]), max_size=20)
values = st.one_of(st.none(), st.booleans(), st.integers(-(10**17), 10**17), plain, st.lists(plain, max_size=3))


@given(st.dictionaries(st.from_regex(r"[a-z_]{1,10}", fullmatch=True), values, min_size=1), plain)
def test_what_yaml_writes_comes_back(data: dict[str, JSON], body: str) -> None:
    head = yaml.safe_dump(data, allow_unicode=True)
    front = split_front_matter(f"---\n{head}---\n{body}")
    assert (front.data, front.body) == (data, body)
