"""What gieok put into a conversation does not come back as a memory."""

from __future__ import annotations

import pytest

from pipeline.sources.own import OWN_CLOSE, OWN_OPEN, cut_own


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        (f"a {OWN_OPEN}\n## Related Memories\n{OWN_CLOSE}b", "a b"),
        ('a <GIEOK-Memory query="x" >old</gieok-memory >b', "a b"),
        (f"a{OWN_OPEN}never closed", "a"),
        (f"a{OWN_CLOSE}b", "ab"),
        ("the gieok-memory tag", "the gieok-memory tag"),
    ],
)
def test_cut(text: str, kept: str) -> None:
    assert cut_own(text)[0] == kept


def test_a_text_that_goes_on_making_new_tags_is_given_up() -> None:
    text = OWN_CLOSE
    for _ in range(1_000):
        text = f"</gieok-{text}memory>"
    assert cut_own(f"{text} kept?")[0] == ""
