"""Which section a heading means."""

from __future__ import annotations

import pytest

from pipeline.diary.headings import HEADINGS, SECTIONS, section_of


@pytest.mark.parametrize("language", ["ko", "en"])
@pytest.mark.parametrize("section", SECTIONS)
def test_our_own_headings(language: str, section: str) -> None:
    heading = HEADINGS[language][section]  # type: ignore[index]
    for spelled in (heading, heading.upper(), heading.replace(" ", ""), f"3. **{heading}**:", f"✅ {heading}"):
        assert section_of(spelled) == section, spelled


@pytest.mark.parametrize(
    ("heading", "section"),
    [
        ("오늘 한 일", "work"),
        ("작업 내용", "work"),
        ("What I did", "work"),
        ("받은 피드백", "feedback"),
        ("결정 사항과 그 이유", "decisions"),
        ("Design decisions & rationale", "decisions"),
        ("반복된 실수", "mistakes"),
        ("Mistakes and root causes", "mistakes"),
        ("배운 점", "patterns"),
        ("Lessons learned", "patterns"),
        ("수행한 작엽", "work"),  # a typing mistake
    ],
)
def test_loose_spelling(heading: str, section: str) -> None:
    assert section_of(heading) == section


@pytest.mark.parametrize(
    "heading", ["", "###", "에러 처리 개선", "결제 오류 수정 작업 일지", "Error handling", "다음 할 일", "TODO"]
)
def test_other_headings_mean_none(heading: str) -> None:
    assert section_of(heading) is None
