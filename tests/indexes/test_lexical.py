from __future__ import annotations

import math
import unicodedata
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Literal

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import indexes.lexical
from indexes.analyzer import analyze_document, analyze_query
from indexes.errors import IndexMismatchError
from indexes.lexical import TantivyLexical
from indexes.types import LexicalEntry, LexicalRanking

# The inputs of other tools' bug reports: what is stored, and queries that must find it first.
STORED = {
    1: "배포는 금요일에 금지한다",
    2: "알림 설정과 선호 언어",
    3: "회원인증모듈과 주문상세내역을 나누었다",
    4: "Hermes는 API키를 돌려준다",
    5: "최적의 값 을 찾았다 ㅋㅋ 42",
    6: "티켓 PAY-4821 환불 오류",
    7: "use gpt-4o at 3 GB/s and read CLAUDE.md, don't guess",
    8: "memory:safe languages such as rust; say hi to python",
    9: "get_user_id in src/app/main.py raised E1234",
    10: "회의에서 예산을 정했다",
}
FOUND = [
    ("배포", 1), ("배포를 언제", 1), ("알림", 2), ("선호", 2), ("인증", 3), ("주문 상세", 3), ("Hermes", 4), ("API", 4),
    ("값", 5), ("ㅋㅋ", 5), ("42", 5), ("PAY-4821", 6), ("pay 4821", 6), ("gpt-4o", 7), ("gpt4o", 7), ("GB/s", 7),
    ("CLAUDE.md", 7), ("don't guess", 7), ("dont", 7), ("memory:safe", 8), ('say "hi', 8), ("(python", 8), ("-배포", 1),
    ("foo AND rust", 8), ("getUserId", 9), ("main.py", 9), ("e1234", 9), ("예산 뭐였지?", 10), ("회의", 10),
]  # fmt: skip


def write(leg: TantivyLexical, texts: Mapping[int, str], sequence: int = 1) -> None:
    tokens = {rid: analyze_document(text) for rid, text in texts.items()}
    leg.apply((LexicalEntry(rid, t.body, t.initial, (), 0) for rid, t in tokens.items()), [], sequence)


def find(leg: TantivyLexical, query: str, depth: int = 10) -> LexicalRanking:
    return leg.search(analyze_query(query), depth)


@pytest.fixture(scope="module")
def leg(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TantivyLexical]:
    leg = TantivyLexical(tmp_path_factory.mktemp("words"), store_id="cases")
    write(leg, STORED)
    yield leg
    leg.close()


@pytest.mark.parametrize("form", ["NFC", "NFD"])
@pytest.mark.parametrize(("query", "rid"), FOUND)
def test_the_memory_is_the_top_hit(leg: TantivyLexical, query: str, rid: int, form: Literal["NFC", "NFD"]) -> None:
    assert int(find(leg, unicodedata.normalize(form, query)).ids[0]) == rid


def test_a_decomposed_document_is_found_by_a_composed_query(tmp_path: Path) -> None:
    leg = TantivyLexical(tmp_path, store_id="nfd")
    write(leg, {rid: unicodedata.normalize("NFD", text) for rid, text in STORED.items()})
    assert [int(find(leg, query).ids[0]) for query, _ in FOUND] == [rid for _, rid in FOUND]


@pytest.mark.parametrize("query", ["😀", "", "*", "^", "\\", "없는낱말", "zzzz", "\x00"])
def test_what_nothing_says_finds_nothing(leg: TantivyLexical, query: str) -> None:
    found = find(leg, query)
    assert (len(found.ids), len(found.scores), len(found.coverage)) == (0, 0, 0)


def test_a_query_of_a_whole_note_is_answered(leg: TantivyLexical) -> None:
    assert int(find(leg, " ".join([STORED[3], *STORED.values()] * 50)).ids[0]) in STORED


def idf(holders: int, total: int) -> float:
    return math.log(1 + (total - holders + 0.5) / (holders + 0.5))


def test_scores_are_weighted_bm25_below_the_ceiling(tmp_path: Path) -> None:
    # Four documents of one token each: every length is the average, so that each token scores
    # weight x idf x tf x (k1 + 1) / (tf + k1) = weight x idf.
    leg = TantivyLexical(tmp_path, store_id="bm25")
    write(leg, {1: "kafka", 2: "kafka", 3: "redis", 4: "mongo"})
    found = find(leg, "kafka redis")
    assert list(found.ids) == [3, 1, 2]
    assert found.scores == pytest.approx([1.5 * idf(1, 4), 1.5 * idf(2, 4), 1.5 * idf(2, 4)], rel=1e-5)
    assert found.ceiling == pytest.approx(2.2 * 1.5 * (idf(1, 4) + idf(2, 4)))


def test_coverage_is_the_idf_weighted_part_of_the_query(tmp_path: Path) -> None:
    leg = TantivyLexical(tmp_path, store_id="coverage")
    write(leg, {1: "kafka", 2: "kafka", 3: "redis", 4: "kafka redis"})
    whole = idf(3, 4) + idf(2, 4) + idf(0, 4)
    found = leg.score(analyze_query("kafka redis absent"), np.array([4, 3, 1, 99]))
    expected = [(idf(3, 4) + idf(2, 4)) / whole, idf(2, 4) / whole, idf(3, 4) / whole, 0.0]
    assert found.coverage == pytest.approx(expected, rel=1e-5)
    assert find(leg, "kafka redis").coverage[0] == pytest.approx(1.0)


def test_absent_words_lower_the_absolute_score(leg: TantivyLexical) -> None:
    known, padded = find(leg, "예산"), find(leg, "예산 쿠버네티스 그라파나")
    assert known.ids[0] == padded.ids[0] == 10
    assert padded.scores[0] / padded.ceiling < known.scores[0] / known.ceiling / 2


def test_another_analyzer_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    TantivyLexical(tmp_path, store_id="s").close()
    monkeypatch.setattr(indexes.lexical, "ANALYZER_VERSION", "of tomorrow")
    with pytest.raises(IndexMismatchError, match=r"analyzer .*'of tomorrow'.*gieok rebuild"):
        TantivyLexical(tmp_path, store_id="s")


def test_many_small_commits_do_not_pile_up_files(tmp_path: Path) -> None:
    """tantivy merges at eight segments of one size; each has about eight files."""
    leg = TantivyLexical(tmp_path, store_id="s")
    for rid in range(40):
        write(leg, {rid: f"kafka {rid}"}, sequence=rid)
    assert len(leg) == 40
    assert len({path.name.split(".")[0] for path in tmp_path.iterdir() if len(path.stem.split(".")[0]) == 32}) <= 16


def test_batches_of_one_call_replace_each_other(tmp_path: Path) -> None:
    """More entries than one batch, and the same memories again in a later batch of the same call."""
    leg = TantivyLexical(tmp_path, store_id="s")
    write(leg, dict.fromkeys(range(1_500), "kafka"))
    tokens = analyze_document("redis")
    again = [LexicalEntry(rid % 1_500, tokens.body, tokens.initial, (), 0) for rid in range(3_200)]
    leg.apply(again, [1_499], 2)
    assert (len(leg), len(find(leg, "kafka").ids), len(find(leg, "redis", 2_000).ids)) == (1_500, 0, 1_500)
    leg.apply([], range(1_400), 3)
    assert (len(leg), len(find(leg, "redis", 2_000).ids)) == (100, 100)


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(query=st.text(max_size=40))
def test_no_query_fails(leg: TantivyLexical, query: str) -> None:
    found = find(leg, query)
    assert ((found.coverage >= 0) & (found.coverage <= 1)).all()
    assert (found.scores <= found.ceiling * (1 + 1e-6)).all()
    assert not len(found.ids) or (found.scores > 0).all()


words = st.text("가나다라마바사아자차카타파하", min_size=2, max_size=5) | st.text("abcdefgh", min_size=4, max_size=8)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(texts=st.lists(st.lists(words, min_size=1, max_size=4), min_size=2, max_size=6), data=st.data())
def test_a_documents_own_rare_words_find_it(
    texts: list[list[str]], data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    chosen = data.draw(st.integers(0, len(texts) - 1))
    documents = {rid: " ".join(text) for rid, text in enumerate(texts)} | {chosen: "한빛등대 lighthouse7"}
    leg = TantivyLexical(tmp_path_factory.mktemp("own"), store_id="own")
    write(leg, documents)
    for query in ("한빛등대", "lighthouse7", "등대는"):
        assert int(find(leg, query).ids[0]) == chosen
