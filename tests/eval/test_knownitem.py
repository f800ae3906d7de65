from __future__ import annotations

import unicodedata
from collections import Counter
from datetime import UTC, datetime

import numpy as np
import pytest

from eval import knownitem
from eval.mine import Grep
from indexes.types import Memory

RNG = np.random.default_rng(3)
NONE: Counter[str] = Counter()


def memory(content: str, title: str = "", rid: int = 1) -> Memory:
    when = datetime(2026, 1, rid, tzinfo=UTC)
    return Memory(
        rid=rid,
        id=f"mem_{rid}",
        content=content,
        title=title,
        type="insight",
        timestamp=when,
        session_id="s",
        position=0,
    )


def test_a_title_is_the_first_line_that_says_something() -> None:
    assert knownitem.title(memory("text", title="제목"), NONE, RNG) == "제목"
    assert knownitem.title(memory("---\n\n## 스키마 설계\ntext"), NONE, RNG) == "스키마 설계"
    assert knownitem.title(memory("?!"), NONE, RNG) is None


def test_keywords_are_the_rarest_words_of_a_line_in_their_order() -> None:
    one = memory("common rare common unusual seldom words")
    counts = Counter({"common": 9, "rare": 1, "unusual": 1, "seldom": 1, "words": 5})
    assert knownitem.keywords(one, counts, RNG) == "rare unusual seldom"


@pytest.mark.parametrize(
    ("word", "expected"),
    [("배포는", "배포"), ("서버에서", "서버"), ("설계", "설계"), ("나는", "나는"), ("회의으로", "회의")],
)
def test_a_particle_goes_if_two_syllables_stay(word: str, expected: str) -> None:
    assert knownitem.stem(word) == expected


def test_particles_agree_with_the_last_syllable() -> None:
    fitting = {"배포": {"는", "가", "를", "와", "로"}, "인증": {"은", "이", "을", "과", "으로"}, "파일": {"로"}}
    for word, expected in fitting.items():
        made = {knownitem.with_particle(word, RNG)[len(word) :] for _ in range(300)}
        assert expected <= made
        if word != "파일":
            assert made - set(knownitem.INVARIANT) == expected
    assert "으로" not in {knownitem.with_particle("파일", RNG)[2:] for _ in range(300)}


def test_changed_particles_leave_the_stems() -> None:
    query = knownitem.particles(memory("배포는 금요일에 금지한다"), NONE, RNG)
    assert query is not None
    assert [word[: len(stem)] for word, stem in zip(query.split(), ("배포", "금요일", "금지한다"), strict=True)] == [
        "배포",
        "금요일",
        "금지한다",
    ]
    assert knownitem.particles(memory("only latin words here"), NONE, RNG) is None


def test_changed_spacing_joins_or_splits() -> None:
    made = {knownitem.spacing(memory("주문 상세내역"), NONE, np.random.default_rng(i)) for i in range(20)}
    assert made == {"주문상세내역", "상세 내역"}


def test_a_decomposed_query_is_the_same_text() -> None:
    query = knownitem.decomposed(memory("배포는 금요일에 금지한다"), NONE, RNG)
    assert query is not None
    assert query != unicodedata.normalize("NFC", query)
    assert unicodedata.normalize("NFC", query) == "배포는 금요일에 금지한다"


def test_a_mixed_query_glues_hangul_to_latin() -> None:
    query = knownitem.mixed(memory("API를 배포했다"), Counter({"api": 1}), RNG)
    assert query is not None
    latin, hangul = query.split()
    assert latin.startswith("API")
    assert latin[3:] in knownitem.INVARIANT
    assert hangul == "배포했다"


@pytest.mark.parametrize("name", ["PAY-4821", "get_user_name", "src/app/main.py", "parseQuery", "os.environ"])
def test_identifiers_are_seen(name: str) -> None:
    assert knownitem.identifier(memory(f"오늘 {name} 을 고쳤다. fixed it"), NONE, RNG) == name


def test_grep_prefers_more_words_and_then_the_newest() -> None:
    grep = Grep([memory("Apple pie", rid=1), memory("apple", rid=2), memory("APPLE", rid=3), memory("pear", rid=4)])
    assert grep.search("apple pie") == ["mem_1", "mem_3", "mem_2"]
    assert grep.search("plum") == []
