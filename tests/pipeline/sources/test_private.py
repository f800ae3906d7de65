"""Nothing private gets through, however the tag is written; text that only looks like it is left alone."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.sources.private import cut_private

TAGS = [
    "<private>{}</private>",
    "<private >{}</private >",
    "<PRIVATE>{}</Private>",
    "< private >{}< / private >",
    "<private reason='key' level=2>{}</private>",
    "<private\n>{}</private\n>",
    "<private>{}</private",
    "<private/>{}</private>",
    "<private><private>x</private>{}</private>",
    "＜private＞{}＜/private＞",
    "<ｐｒｉｖａｔｅ>{}</ｐｒｉｖａｔｅ>",
    "<𝐩𝐫𝐢𝐯𝐚𝐭𝐞>{}</𝐩𝐫𝐢𝐯𝐚𝐭𝐞>",
    "<pri\u200bvate>{}</pri\u00advate>",
    "<\u2060private\ufeff>{}</private>",
    "&lt;private&gt;{}&lt;/private&gt;",
    "&#60;private&#62;{}&#x3c;/private&#x3e;",
    "\\u003cprivate\\u003e{}\\u003c/private\\u003e",
    "<private>{}<\\/private>",
]


@pytest.mark.parametrize("tag", TAGS)
def test_every_spelling(tag: str) -> None:
    assert cut_private("before " + tag.format("secret") + " after") == ("before  after", 1)


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("a<private>secret", "a"),
        ("a<private", "a"),
        ("a<private>s</private>b<private>s", "ab"),
        ("a<private><private>s</private>s", "a"),
        ("secret</private>b", "b"),
        ("s<private>s</private>s</private>b", "b"),
        ("<pri<private>x</private>vate>secret", ""),  # what is left on both sides makes a tag
        ("secret<private", "secret"),
    ],
)
def test_fails_closed(text: str, kept: str) -> None:
    assert cut_private(text)[0] == kept


@pytest.mark.parametrize(
    "text",
    ["private notes", "<privately>x</privately>", "<private-key>x", "#include <private/a.h>", "std::vector<privateer>"],
)
def test_other_names_are_kept(text: str) -> None:
    assert cut_private(text) == (text, 0)


def test_cuts_are_counted() -> None:
    assert cut_private("<private>a</private> b <private>c</private>") == (" b ", 2)


@given(st.text(max_size=40), st.text(max_size=40), st.sampled_from(TAGS), st.booleans())
def test_no_surroundings_uncover_it(before: str, after: str, tag: str, closed: bool) -> None:
    whole = tag.format("S3CRET") if closed else tag.split("{}")[0] + "S3CRET"
    kept, count = cut_private(before + whole + after)
    assert "S3CRET" not in kept
    assert count >= 1
    assert cut_private(kept) == (kept, 0)
