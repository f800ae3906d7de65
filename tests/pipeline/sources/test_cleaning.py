"""What is taken out of every text, whoever reads it."""

from __future__ import annotations

import pytest

from indexes.types import JSON
from pipeline.sources.cleaning import ENCODED_RUN, MAX_DEPTH, Cleaner


def test_a_text_and_what_is_said_of_it() -> None:
    cleaner = Cleaner()
    assert cleaner.text("a<private>b</private>c<gieok-memory>d</gieok-memory>\x1b[31me\x1b[0m") == "ace"
    assert cleaner.notices() == ["1 <private> part left out", "1 earlier answer of gieok left out"]


def test_a_tag_that_an_escape_sequence_breaks() -> None:
    assert Cleaner().text("<pri\x1b[0mvate>secret</private>") == ""


@pytest.mark.parametrize("head", ["", "data:image/png;base64,"])
def test_encoded_data_becomes_a_mark(head: str) -> None:
    cleaner = Cleaner()
    data = head + "iVBORw0KGgo+" * 1_000 + "=="
    assert (
        cleaner.text(f"![shot]({data}) done")
        == f"![shot]([… {len(data):,} characters of encoded data left out …]) done"
    )
    assert cleaner.notices() == ["1 block of encoded data replaced by a mark"]


def test_hashes_and_prose_are_no_data() -> None:
    text = "sha512 " + "0123456789abcdef" * 8 + " " + "가" * ENCODED_RUN
    assert Cleaner().text(text) == text


def test_json_to_its_names_and_depth() -> None:
    deep: JSON = "<private>s</private>x"
    for _ in range(MAX_DEPTH + 5):
        deep = [deep]
    value: JSON = {"a<private>k</private>": ["<private>s", 1, None, True, float("inf")], "deep": deep}
    cleaned = Cleaner().json(value)
    assert isinstance(cleaned, dict)
    assert cleaned["a"] == ["", 1, None, True, "inf"]
    assert "s" not in str(cleaned["deep"])


def test_in_a_note_a_marker_of_ours_that_is_never_closed_is_a_word() -> None:
    text = "마커 `<gieok-memory>` 는 주입 표시다.\n\n중요한 결정은 남는다."
    by_hand, from_host = Cleaner(by_hand=True), Cleaner()
    assert by_hand.text(text) == text
    assert by_hand.notices() == []
    assert by_hand.text("앞 <gieok-memory>답</gieok-memory> 뒤 <gieok-memory> 끝") == "앞  뒤 <gieok-memory> 끝"
    assert "중요한" not in from_host.text(text)  # a host may have cut our answer short
    from_host.text("<gieok-memory>또</gieok-memory>")
    assert from_host.notices() == ["2 earlier answers of gieok left out"]
