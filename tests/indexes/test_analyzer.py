from __future__ import annotations

import math
import time
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from indexes.analyzer import analyze_document, analyze_query
from indexes.english import light_stem
from indexes.korean import stem_length


def weights(text: str, field: str = "t") -> dict[str, float]:
    return {token.text: token.weight for token in analyze_query(text).tokens if token.field == field}


def body(text: str) -> list[str]:
    return sorted(analyze_document(text).body)


def test_hangul_becomes_pairs_syllables_and_neighbours_across_one_space() -> None:
    tokens = analyze_document("주문 상세는\n끝")
    assert sorted(tokens.body) == sorted(["주문", "주", "문", "문~상", "상세", "세는", "상", "세", "는", "끝"])
    assert tokens.initial == ("주문", "상세")


def test_latin_glued_to_hangul_is_a_word() -> None:
    assert body("Hermes는") == sorted(["hermes", "herm", "는"])
    assert body("API키") == sorted(["api", "키"])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("getUserId", ["getuserid", "get", "user", "id"]),
        ("get_user_id", ["get_user_id", "get", "user", "id"]),
        ("HTTPServer", ["httpserver", "http", "server"]),
        ("E1234", ["e1234", "1234"]),
        ("PAY-4821", ["pay", "4821", "pay-4821", "pay4821"]),
        ("gpt-4o", ["gpt", "4o", "gpt-4o", "gpt4o"]),
        ("src/app/main.py", ["src", "app", "main", "py", "src/app/main.py", "main.py"]),
        ("GB/s", ["gb", "s", "gb/s"]),
        ("C++", ["c", "c++"]),
        ("don't", ["dont"]),
        ("user's", ["user"]),
        ("running tests", ["running", "run", "tests", "test"]),
        ("①２", ["12"]),
        ("ㅋㅋ", ["\u110f", "\u110f", "\u110f\u110f"]),
        ("検索する", ["検", "索", "す", "る", "検索", "索す", "する"]),
        ("Привет", ["привет"]),
        ("😀 👍🏽 ⚙️ !? __", []),
        ("", []),
    ],
)
def test_words(text: str, expected: list[str]) -> None:
    assert body(text) == sorted(expected)


def test_a_long_key_is_one_token_cut_off() -> None:
    assert body("aB3" * 40_000) == [("ab3" * 22)[:64]]


def test_pairs_that_reach_into_an_ending_hardly_count() -> None:
    # 스키마 + 를: two pairs share the word by the square root of their number; the third is part ending.
    share = 1 / math.sqrt(2)
    found = weights("스키마를")
    assert found["스키"] == found["키마"] == pytest.approx(share)
    assert found["마를"] == pytest.approx(0.1 * share)
    assert found["스~키"] == pytest.approx(0.1 * share)
    assert weights("스키마를", "i") == {"스키": pytest.approx(0.3 * share)}


def test_neighbours_across_a_space_count_joined_and_apart() -> None:
    found = weights("주문 상세")
    assert (found["주문"], found["상세"], found["문상"], found["문~상"]) == (1.0, 1.0, 0.1, 0.1)


def test_a_single_syllable_is_looked_for_only_when_it_is_a_word() -> None:
    assert weights("값") == {"값": 0.7}
    assert "주" not in weights("주문")


def test_latin_words_weigh_more_and_are_split_between_form_and_stem() -> None:
    assert weights("API") == {"api": 1.5}
    assert weights("tests") == {"tests": pytest.approx(0.45), "test": pytest.approx(1.05)}


def test_what_a_question_is_wrapped_in_counts_less() -> None:
    assert weights("지난번에 배포")["지난"] == pytest.approx(0.5 / math.sqrt(2))
    assert weights("the parser")["the"] == pytest.approx(0.15)
    assert weights("don't")["dont"] == pytest.approx(0.15)


def test_what_a_query_repeats_counts_by_the_square_root() -> None:
    assert weights("kafka, redis; kafka kafka kafka") == {"kafka": 3.0, "redis": 1.5}


def test_words_are_kept_as_evidence() -> None:
    words = analyze_query("스키마를 어떻게 the parser").words
    assert [(word.text, word.tokens, word.weight) for word in words] == [
        ("스키마", ("스키", "키마"), 1.0),
        ("어떻게", ("어떻", "떻게"), 0.5),
        ("the", ("the",), 0.1),
        ("parser", ("parser",), 1.0),
    ]


def test_only_real_parts_of_the_query_cover_it() -> None:
    assert {token.text for token in analyze_query("주문 상세").tokens if token.covers} == {"주문", "상세", "문상"}


@pytest.mark.parametrize("text", ["", " ", "😀👍", "* ^ \\ ?", "___", "\x00\ud800"])
def test_a_query_without_letters_or_digits_is_empty(text: str) -> None:
    assert not analyze_query(text)


@pytest.mark.parametrize(
    ("query", "plain"),
    [
        ('say "hi', "say hi"),
        ("foo AND", "foo and"),
        ("(python", "python"),
        ("-배포", "배포"),
        ("TODO: fix", "todo fix"),
        ("DON’T", "don't"),
    ],
)
def test_signs_of_query_languages_mean_nothing(query: str, plain: str) -> None:
    assert analyze_query(query) == analyze_query(plain)


@pytest.mark.parametrize(
    ("word", "length"),
    [("데이터베이스에서는", 6), ("배포", 2), ("배포를", 2), ("나는", 2), ("값", 1), ("누구인가요", 2)],
)
def test_stem_length(word: str, length: int) -> None:
    assert stem_length(word) == length


@pytest.mark.parametrize(
    ("forms", "stem"),
    [
        ("query queries", "queri"),
        ("cache caches cached caching", "cach"),
        ("run runs running", "run"),
        ("fix fixes fixed fixing", "fix"),
        ("deploy deploys deployed deploying", "deploy"),
        ("class classes", "class"),
        ("migrate migrates migration migrations", "migrat"),
        ("implement implements implementation", "implement"),
        ("configure configuration", "configur"),
        ("connect connection connecting", "connect"),
        ("session sessions", "session"),
        ("status", "status"),
        ("bus", "bus"),
        ("string", "string"),
        ("4821", "4821"),
    ],
)
def test_forms_of_one_word_share_a_light_stem(forms: str, stem: str) -> None:
    assert {light_stem(form) for form in forms.split()} == {stem}


@pytest.mark.parametrize("blob", ["aB3", "a-", "a.b/", "가", "가 ", "'s", "n't", "a_", "_", "--", "A", "C#"])
def test_time_grows_with_the_length_of_encoded_data_and_not_with_its_square(blob: str) -> None:
    """100,000 characters take milliseconds when linear, minutes when quadratic."""
    started = time.perf_counter()
    analyze_document(blob * (100_000 // len(blob)))
    analyze_query(blob * (100_000 // len(blob)))
    assert time.perf_counter() - started < 20


anything = st.text(st.characters()) | st.text("가나다라 한글을ㅋㅏ는aB_1-./'’\u1100\u1161 \n\t😀é漢ー", max_size=60)


@given(anything)
def test_any_text_gives_tokens_that_a_whitespace_tokenizer_keeps_apart(text: str) -> None:
    tokens = analyze_document(text)
    for token in (*tokens.body, *tokens.initial):
        assert token.split() == [token]
        assert len(token) <= 2 * 128


@given(anything)
def test_composed_and_decomposed_text_are_one_thing(text: str) -> None:
    for form in ("NFC", "NFD", "NFKC", "NFKD"):
        same = unicodedata.normalize(form, text)
        assert analyze_document(same) == analyze_document(text)
        assert analyze_query(same) == analyze_query(text)


@given(anything)
def test_weights_are_positive_and_tokens_appear_once(text: str) -> None:
    query = analyze_query(text)
    assert all(token.weight > 0 for token in query.tokens)
    assert len({(token.field, token.text) for token in query.tokens}) == len(query.tokens)
    assert all(word.tokens and word.text and 0 < word.weight <= 1 for word in query.words)


@given(anything)
def test_a_text_holds_all_the_words_that_it_is_asked_for(text: str) -> None:
    held = set(analyze_document(text).body)
    query = analyze_query(text)
    assert all(set(word.tokens) <= held for word in query.words)
    assert bool(query) == bool(held)
