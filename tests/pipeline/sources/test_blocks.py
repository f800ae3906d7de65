"""Where headings, fences and paragraphs begin and end."""

from __future__ import annotations

import pytest

from pipeline.sources.blocks import Block, plain_title, split_blocks


def shape(text: str) -> list[tuple[str, str]]:
    return [(block.kind, block.text) for block in split_blocks(text)]


@pytest.mark.parametrize(
    ("text", "level", "title"),
    [
        ("# A", 1, "A"),
        ("   ### A ##", 3, "A"),
        ("#\tA", 1, "A"),
        ("##", 2, ""),
        ("###### **B** `c` [d](http://e) _f_", 6, "B c d f"),
        ("A\n===", 1, "A"),
        ("제목\n---", 2, "제목"),
    ],
)
def test_headings(text: str, level: int, title: str) -> None:
    assert list(split_blocks(text)) == [Block("heading", tuple(text.split("\n")), level, title)]


def test_blank_lines_are_counted() -> None:
    assert [block.gap for block in split_blocks("\n# A\ntext\n\n\n- item\n```\n\n```\n\nB\n---\n")] == [1, 0, 2, 0, 1]


@pytest.mark.parametrize(
    "text",
    [
        "#tag",
        "####### seven",
        "    # code",
        "\\# escaped",
        "two lines\nand a rule\n---",
        "- item\n---",
        "> quote\n---",
        "| cell |\n---",
        "1. item\n---",
        "text\n-",
    ],
)
def test_no_headings(text: str) -> None:
    assert all(block.kind == "text" for block in split_blocks(text))


@pytest.mark.parametrize(
    "fence",
    [
        "```\n# no\n\ntext\n```",
        "~~~python\n# no\n~~~",
        "````\n```\n# no\n````",
        "  ```java\n  # no\n  ```",
        "- ```\n  # no\n  ```",
        "> ```\n> # no\n> ```",
    ],
)
def test_fences_are_one_block(fence: str) -> None:
    assert shape(f"before\n{fence}\nafter") == [("text", "before"), ("fence", fence), ("text", "after")]


def test_an_unclosed_fence_is_text_and_hides_no_heading() -> None:
    assert shape("```js\ncode\n# A\n") == [("text", "```js\ncode"), ("heading", "# A")]


def test_code_in_a_line_opens_no_fence() -> None:
    assert shape("```x``` y\n# A\n```") == [("text", "```x``` y"), ("heading", "# A"), ("text", "```")]


@pytest.mark.parametrize("html", ["<!-- # no\n\n# no\n-->", "<pre>\n# no\n</pre>", "<SCRIPT src='x'>\n# no\n</script>"])
def test_comments_and_raw_html_hold_no_headings(html: str) -> None:
    assert shape(f"{html}\n# A") == [("text", html), ("heading", "# A")]


def test_many_openings_stay_cheap() -> None:
    # Quadratic work would be 4e8 steps and minutes.
    assert len(list(split_blocks("```a\n\n" * 20_000))) == 20_000
    assert len(list(split_blocks("<!-- a\n\n" * 20_000))) == 20_000


def test_titles_without_markup() -> None:
    assert plain_title("![logo](x.png) **snake_case** <b>x</b>  y") == "logo snake_case x y"
    assert plain_title("**") == "**"
