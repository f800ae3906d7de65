"""The five sections of a diary entry, and the headings that mean them, however they are spelled."""

from __future__ import annotations

import re
import unicodedata
from difflib import SequenceMatcher
from typing import Final, Literal, TypeAlias

Section: TypeAlias = Literal["work", "feedback", "decisions", "mistakes", "patterns"]
Language: TypeAlias = Literal["ko", "en"]

SECTIONS: Final[tuple[Section, ...]] = ("work", "feedback", "decisions", "mistakes", "patterns")
HEADINGS: Final[dict[Language, dict[Section, str]]] = {
    "ko": {
        "work": "수행한 작업",
        "feedback": "피드백 및 수정 지시",
        "decisions": "설계 결정 및 이유",
        "mistakes": "실수 및 원인",
        "patterns": "반복 패턴",
    },
    "en": {
        "work": "Work done",
        "feedback": "Feedback and corrections",
        "decisions": "Decisions and why",
        "mistakes": "Mistakes and causes",
        "patterns": "Recurring patterns",
    },
}
NOTHING: Final[dict[Language, str]] = {"ko": "없음", "en": "None"}
"""What stands in a section that has nothing."""

# Most telling first: "repeated mistakes" is about mistakes, "patterns of work" about patterns.
_WORDS: Final[tuple[tuple[Section, frozenset[str]], ...]] = (
    (
        "mistakes",
        frozenset(
            ["실수", "실수들", "오류", "에러", "잘못", "mistake", "mistakes", "error", "errors", "failure", "failures"]
        ),
    ),
    (
        "feedback",
        frozenset(
            ["피드백", "지적", "수정지시", "feedback", "correction", "corrections", "instruction", "instructions"]
        ),
    ),
    ("decisions", frozenset(["결정", "결정사항", "설계결정", "decision", "decisions", "decided"])),
    (
        "patterns",
        frozenset(
            ["패턴", "반복", "반복패턴", "교훈", "pattern", "patterns", "recurring", "repeated", "lesson", "lessons"]
        ),
    ),
    ("mistakes", frozenset(["원인", "cause", "causes", "wrong"])),
    ("decisions", frozenset(["설계", "design", "rationale"])),
    ("feedback", frozenset(["지시", "review"])),
    ("work", frozenset(["작업", "수행", "work", "done", "did", "tasks", "task", "progress", "accomplished", "worked"])),
)
_FILLERS = frozenset(
    [
        "및",
        "과",
        "와",
        "그",
        "이유",
        "한",
        "수행한",
        "받은",
        "반복",
        "반복된",
        "반복되는",
        "수정",
        "내용",
        "정리",
        "사항",
        "목록",
        "일",
        "것",
        "오늘",
        "오늘의",
        "이번",
        "세션",
        "세션에서",
        "설계",
        "원인",
        "지시",
        "배운",
        "점",
        "and",
        "or",
        "the",
        "of",
        "in",
        "a",
        "an",
        "i",
        "we",
        "my",
        "our",
        "to",
        "for",
        "with",
        "this",
        "session",
        "sessions",
        "today",
        "todays",
        "&",
        "what",
        "why",
        "went",
        "made",
        "learned",
        "user",
        "key",
        "their",
        "reason",
        "reasons",
        "root",
        "notes",
        "summary",
        "received",
        "given",
        "completed",
    ]
)
_ONLY_WHOLE = frozenset(
    {"한일", "오늘한일", "작업내용", "배운점", "whatidid", "whatwedid", "summary", "세션요약", "요약"}
)
_DECORATION = re.compile(r"^[\s\d.)(\]\[#*_~`:：\-–—·•]+|[\s*_~`:：\]\[)(.\-–—]+$")
_NOT_LETTER = re.compile(r"[^\w\s&]|_")
_PARTICLE = re.compile(r"(?<=[가-힣]{2})(?:들과|들의|들|과|와|의|을|를|은|는)$")
_LIKENESS = 0.8
_SHORTEST_TYPO = 4


def section_of(heading: str) -> Section | None:
    """The section that a heading means: in Korean or English, with numbers, signs, other order or a typing mistake.

    A heading that has other words, too ("에러 처리 개선"), means none: it is about something else.
    """
    plain = unicodedata.normalize("NFC", _NOT_LETTER.sub(" ", _DECORATION.sub("", heading))).casefold()
    words = [_PARTICLE.sub("", word) for word in plain.split()]
    compact = "".join(plain.split())
    if not words or len(words) > 8:
        return None
    if compact in _ONLY_WHOLE:
        return "patterns" if compact == "배운점" else "work"
    known = {word for _, names in _WORDS for word in names} | _FILLERS
    if all(word in known for word in words):
        return next((section for section, names in _WORDS if any(word in names for word in words)), None)
    return _nearest(compact)


def _nearest(compact: str) -> Section | None:
    """The section whose own heading differs by a letter or by its spaces."""
    if len(compact) < _SHORTEST_TYPO or len(compact) > 40:
        return None
    best: tuple[float, Section | None] = (0.0, None)
    for names in HEADINGS.values():
        for section, name in names.items():
            likeness = SequenceMatcher(None, compact, "".join(name.casefold().split())).ratio()
            best = max(best, (likeness, section), key=lambda pair: pair[0])
    return best[1] if best[0] >= _LIKENESS else None
