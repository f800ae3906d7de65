"""How a Markdown body is divided, named and related."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from indexes.tokens import estimate_tokens
from pipeline.sources.blocks import split_blocks
from pipeline.sources.cutting import MAX_TOKENS
from pipeline.sources.sections import MAX_TITLE, split_sections

WORDS = "alpha beta gamma delta "


def text(tokens: int) -> str:
    """Words that are estimated at about so many tokens."""
    return (WORDS * round(tokens * 100 / estimate_tokens(WORDS * 100))).strip()


def layout(body: str) -> list[tuple[str, str | None]]:
    return [(piece.place, piece.parent) for piece in split_sections(body)]


def test_large_sections_stand_alone_and_know_their_parents() -> None:
    body = f"# A\n{text(300)}\n## B\n{text(300)}\n### C\n{text(300)}\n## D\n{text(300)}\n# E\n{text(300)}"
    assert layout(body) == [
        ("A#1~1", None),
        ("A > B#1~1", "A#1~1"),
        ("A > B > C#1~1", "A > B#1~1"),
        ("A > D#1~1", "A#1~1"),
        ("E#1~1", None),
    ]


def test_small_neighbours_join_up_to_a_window() -> None:
    body = "# A\n" + "".join(f"## B{number}\n{text(150)}\n" for number in range(4))
    # The bare heading goes with what it heads; three sections of 150 and headings stay below 500, four do not.
    assert layout(body) == [("A#1~1", None), ("A > B3#1~1", "A#1~1")]
    assert [piece.title() for piece in split_sections(body)] == ["A > B0, B1, B2", "A > B3"]


def test_only_siblings_join() -> None:
    body = f"# A\n{text(300)}\n## B\n{text(450)}\n### C\n{text(100)}\n# D\n{text(100)}"
    assert [place for place, _ in layout(body)] == ["A#1~1", "A > B#1~1", "A > B > C#1~1", "D#1~1"]


def test_a_heading_with_a_line_leads_what_it_heads() -> None:
    body = f"# A\none line\n\n## B\n{text(600)}\n## C\n{text(600)}"
    assert [piece.content.split("\n")[0] for piece in split_sections(body)] == ["# A", "## C"]
    assert layout(body)[1] == ("A > C#1~1", "A#1~1")


def test_a_skipped_level_has_the_next_heading_above_as_parent() -> None:
    assert layout(f"# A\n{text(300)}\n#### B\n{text(300)}")[1] == ("A > B#1~1", "A#1~1")


def test_equal_headings_are_counted() -> None:
    body = f"## 결정\n{text(300)}\n## 결정\n{text(300)}"
    assert layout(body) == [("결정#1~1", None), ("결정#2~1", None)]


def test_places_survive_edits_elsewhere() -> None:
    sections = [f"## S{number}\n{text(300)}\n" for number in range(4)]
    before = {piece.place: piece.content for piece in split_sections("# A\n" + text(300) + "\n" + "".join(sections))}
    sections.insert(1, f"## New\n{text(1_000)}\n")
    after = {piece.place: piece.content for piece in split_sections("# A\n" + text(300) + "\n" + "".join(sections))}
    assert before.items() <= after.items()


def test_parts_of_a_long_section_belong_to_its_first() -> None:
    body = "# A\n\n" + "\n\n".join([text(300)] * 4)
    assert layout(body) == [("A#1~1", None), ("A#1~2", "A#1~1")]
    assert [piece.title() for piece in split_sections(body)] == ["A", "A (2)"]


def test_text_above_the_first_heading() -> None:
    assert layout(f"{text(300)}\n# A\n{text(300)}") == [("#1~1", None), ("A#1~1", None)]


def test_titles_are_short_and_keep_both_ends() -> None:
    def titles(*headings: str) -> list[str]:
        body = "".join(f"{'#' * level} {heading}\n{text(300)}\n" for level, heading in enumerate(headings, start=1))
        return [piece.title("note") for piece in split_sections(body)]

    assert titles("A", "B")[-1] == "note > A > B"
    assert titles("note", "B")[-1] == "note > B"
    assert titles("A" * 60, "B" * 60, "C")[-1] == "note > … > C"
    assert all(len(title) <= MAX_TITLE for title in titles("가 나" * 100, "다 라" * 100))


lines = st.lists(
    st.one_of(
        st.from_regex(r"#{1,4} [a-c]", fullmatch=True),
        st.sampled_from(["", "", "```", "~~~", "---", "===", "<!-- x", "-->", "- item", "> quote", "글", "    code"]),
        st.integers(1, 400).map(lambda count: text(4 * count)),
    ),
    max_size=40,
)


@given(lines)
def test_every_line_lands_once_and_fences_stay_whole(drawn: list[str]) -> None:
    # Each line gets a number, so that equal lines can be told apart. A fence's closing line must stay bare.
    numbered = [f"{line} n{number}" if line and line[0] not in "`~-=" else line for number, line in enumerate(drawn)]
    body = "\n".join(numbered)
    pieces = split_sections(body)
    contents = [piece.content for piece in pieces]
    wanted = Counter(line for line in numbered if line.strip())
    got = Counter(line for content in contents for line in content.split("\n") if line.strip())
    long = {line for line in wanted if len(line) > MAX_TOKENS}  # may be cut between words
    assert {line: count for line, count in got.items() if line in wanted and line not in long} == {
        line: count for line, count in wanted.items() if line not in long
    }
    assert "".join("".join(contents).split()) == "".join(body.split())
    for block in split_blocks(body):
        if block.kind == "fence":
            assert any(block.text in content for content in contents)
    places = [piece.place for piece in pieces]
    assert len(set(places)) == len(places)
    for number, piece in enumerate(pieces):
        assert piece.parent is None or piece.parent in places[:number]
