from __future__ import annotations

import re
import time
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from indexes.errors import UsageError
from pipeline.plaintext import clean
from pipeline.summarizer import preview, snippet, summarize


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("배포는 금요일에 금지한다. 이유는 따로 적는다.", "배포는 금요일에 금지한다."),
        ("금요일엔 배포하지 않아요. 월요일에 해요.", "금요일엔 배포하지 않아요."),
        ("배포를 막았습니다 그리고 끝냈다", "배포를 막았습니다"),
        ("배포를 막았다.그리고 쉬었다.", "배포를 막았다."),
        ("배포를 막았다\n이유는 따로 적는다", "배포를 막았다"),
        ("사용자마다\n설정이 다르다. 끝", "사용자마다 설정이 다르다."),
        ("왜 실패했을까? 로그가 없다.", "왜 실패했을까?"),
        ("Timeout is 3.14 seconds in config.toml now. More.", "Timeout is 3.14 seconds in config.toml now."),
        ("See https://a.b/c.html?x=1. for it. More.", "See https://a.b/c.html?x=1. for it."),
        ("Ask Dr. Kim, e.g. On Monday, vs. J. Park. Then go.", "Ask Dr. Kim, e.g. On Monday, vs. J. Park."),
        ("회의는 2026. 1. 30. 에 했다. 끝", "회의는 2026. 1. 30."),
        ('He said "stop it." Then left.', 'He said "stop it."'),
        ("네. 그렇게 바꾸겠습니다. 끝", "그렇게 바꾸겠습니다."),
        ("OK!", "OK!"),
        ("결정 사항:\n\n- SQLite를 쓴다\n- 나중에", "결정 사항: SQLite를 쓴다"),
    ],
)
def test_summary_is_the_first_sentence_that_says_something(content: str, expected: str) -> None:
    assert summarize(content) == expected


@pytest.mark.parametrize(
    ("content", "title", "expected"),
    [
        ("# 스키마 설계\n\n이벤트 소싱을 쓴다. 끝", "", "스키마 설계: 이벤트 소싱을 쓴다."),
        ("# 회고\n## 결정 ##\n\nSQLite를 쓴다.", "무시", "회고 › 결정: SQLite를 쓴다."),
        ("결정\n---\nSQLite를 쓴다.", "", "결정: SQLite를 쓴다."),
        ("# C#\n\nWe use it.", "", "C#: We use it."),
        ("# 왜 느린가?\n\n인덱스가 없다.", "", "왜 느린가? 인덱스가 없다."),
        ("이벤트 소싱을 쓴다.", "스키마 **설계**", "스키마 설계: 이벤트 소싱을 쓴다."),
        ("스키마 설계를 논의했다.", "스키마 설계", "스키마 설계를 논의했다."),
        ("# 제목뿐", "", "제목뿐"),
        ("", "제목", "제목"),
        ("", "", ""),
    ],
)
def test_a_heading_comes_first_then_the_title(content: str, title: str, expected: str) -> None:
    assert summarize(content, title) == expected


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("**굵게** *기울여* ~~지움~~ `x_y*z` [글](http://a.b 't') ![그림](a.png)", "굵게 기울여 지움 x_y*z 글 그림"),
        ("1. 하나\n2. 둘\n> 인용\n- [x] 한 일", "하나 둘 인용 한 일"),
        ("| 이름 | 값 |\n|---|---|\n| k | 60 |", "이름 값 k 60"),
        ("앞\n\n---\n\n<!-- 숨김 -->뒤<br>끝 <b>강</b>", "앞 뒤 끝 강"),
        ("`__init__.py` and __init__.py and Vec<u8>, 2*3*4, a < b > c", None),
        ("설명\n\n```python\nx = 1\n```\n\n뒤", "설명 [python code] 뒤"),
        ("~~~\n# 제목 아님\n~~~", "[code]"),
        ("````md\n```\n안\n```\n````\n밖", "[md code] 밖"),
        ("```js\nunclosed", "[js code]"),
        ("---\ntitle: 비밀\ntags: [a]\n---\n본문", "본문"),
        ("\ufeff---\r\ntitle: 비밀\r\n---\r\n본문", "본문"),
        ("+++\ntitle = '비밀'\n+++\n본문", "본문"),
        ("---\ntitle: 비밀\nbroken: [\n\n본문", "본문"),
        ("---\n문장\n---\n본문", "문장: 본문"),
        ("제목\n===\n1. #### 작은 제목\n본문\n둘째 줄\n---\n끝", "제목: 작은 제목: 본문 둘째 줄 끝"),
    ],
)
def test_markup_code_and_front_matter(content: str, expected: str | None) -> None:
    assert preview(content) == (content.replace("`", "") if expected is None else expected)


def test_snippet_shows_where_most_words_stand_together() -> None:
    text = "설계만 있다. " + "머리말 문장. " * 40 + "여기서 스키마의 설계를 논의했다. " + "꼬리 문장. " * 40
    found = snippet(text, ["스키마는", "설계가"], 60)
    assert "스키마의 설계를" in found
    assert found.startswith("…")
    assert found.endswith("…")
    assert set(found.strip("…").split()) <= set(text.split())


@pytest.mark.parametrize(
    ("term", "place"),
    [
        ("주문상세", "주문 상세"),
        ("인증", "회원인증모듈"),
        ("API를", "API키"),
        ("queries", "Query"),
        ("name", "getUserName"),
        (unicodedata.normalize("NFD", "배포"), "배포"),
        ("배포", unicodedata.normalize("NFD", "배포")),
        ("스키마설계", "스키마의 설계"),
        ("config.toml", "config.toml"),
    ],
)
def test_snippet_tolerates_forms_of_a_word(term: str, place: str) -> None:
    found = snippet("말 " * 100 + place + " 끝" * 100, [term], 40)
    assert unicodedata.normalize("NFC", place).split()[-1] in found


def test_snippet_does_not_take_a_part_of_a_latin_word() -> None:
    text = "concatenate " + "x " * 100 + "cat " + "y " * 100
    assert " cat " in snippet(text, ["cat"], 30)


def test_snippet_shows_code_and_falls_back_to_the_passage_then_to_the_beginning() -> None:
    text = "머리말 문장. " * 30 + "\n\n```\nfind_me(1)\n```\n\n" + "꼬리 문장. " * 30
    assert "find_me(1)" in snippet(text, ["find_me"], 50)
    start = text.index("find_me")
    assert snippet(text, ["없는말"], 50, (start, start + 10)) == "…find_me(1)…"
    assert snippet(text, ["없는말"], 50).startswith("머리말 문장. ")
    assert snippet(text, [], 50, (10**9, -5)) == snippet(text, [], 50)
    assert snippet("짧은 글", ["글"], 50) == "짧은 글"


# Each of these is one character to a reader; ᄀᆞᆷ has no composed form, so that NFC leaves its three jamo.
CLUSTERS = [
    "ᄀᆞᆷ",
    "e\u0301\u0323",
    "👨‍👩‍👧",
    "👍🏽",
    "🇰🇷",
    "🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f",
    "1\ufe0f\u20e3",
]
atoms = st.lists(st.sampled_from([*CLUSTERS, "가", "각", "a", "z", " ", "."]), max_size=60)


@given(atoms, st.integers(1, 30), st.lists(st.sampled_from(["가", "각", "가각", "a"]), max_size=3))
def test_a_grapheme_is_whole_or_gone(parts: list[str], limit: int, terms: list[str]) -> None:
    text = "".join(parts)
    span = (len(text) // 3, len(text))
    for result in (summarize(text, limit=limit), preview(text, limit), snippet(text, terms, limit, span)):
        rest = result
        for cluster in sorted(map(clean, CLUSTERS), key=len, reverse=True):
            rest = rest.replace(cluster, "")
        assert re.fullmatch(r"[가각az .…]*", rest), result


@given(st.text(), st.text(max_size=20), st.integers(1, 40), st.lists(st.text(max_size=5), max_size=3), st.data())
def test_limits_hold_and_nothing_a_terminal_obeys_survives(
    content: str, title: str, limit: int, terms: list[str], data: st.DataObject
) -> None:
    span = data.draw(st.none() | st.tuples(st.integers(-5, 200), st.integers(-5, 200)))
    for result in (summarize(content, title, limit), preview(content, limit), snippet(content, terms, limit, span)):
        assert len(result) <= limit
        assert not [letter for letter in result if unicodedata.category(letter) in ("Cc", "Cs")]
        assert result == unicodedata.normalize("NFC", result)


@given(st.lists(st.text(alphabet="가나다라abc", min_size=1, max_size=8), min_size=1, max_size=40), st.integers(12, 40))
def test_only_whole_words_are_shown(words: list[str], limit: int) -> None:
    text = " ".join(words)
    for result in (preview(text, limit), snippet(text, words[-1:], limit), snippet(text, [], limit, (3, 30))[1:]):
        inner = result.strip("…").split()
        assert set(inner[1:]) <= set(words)  # the first may be the rest of a word at which the passage starts
    assert set(preview(text, limit).strip("…").split()) <= set(words)


@pytest.mark.parametrize(
    "unit", ["`", "*", "_", "[", "](", "<!--", ". ", ".", "e.g. ", "# ", ">", "\x1b]", "~~", "|", "a. "]
)
def test_no_input_takes_more_than_linear_time(unit: str) -> None:
    text = "가 " + unit * (100_000 // len(unit)) + "z"
    start = time.perf_counter()
    summarize(text)
    snippet(text, ["없다", "z"])
    assert time.perf_counter() - start < 2  # a quadratic pattern takes minutes


@pytest.mark.parametrize("text", ["", "가", "가 나 다"])
def test_a_limit_below_1_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="limit of at least 1"):
        summarize(text, limit=0)
    with pytest.raises(UsageError, match="limit of at least 1"):
        preview(text, 0)
    with pytest.raises(UsageError, match="limit of at least 1"):
        snippet(text, ["가"], 0)
