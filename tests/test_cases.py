"""Inputs that broke other memory tools; each stands for its kind. Everything goes through the facade."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import unicodedata
from collections.abc import Callable
from pathlib import Path

import pytest

from indexes.errors import UnknownIdError, UsageError
from pipeline import Gieok

Open = Callable[..., Gieok]
Notes = Callable[..., Path]

DEPLOY = "배포는 금요일에 금지한다"
NOTES = {
    "deploy.md": DEPLOY,
    "member.md": "회원인증모듈과 주문상세내역 화면을 나눴다",
    "alarm.md": "푸시 알림이 두 번 울리는 문제를 고쳤다",
    "prefer.md": "사용자는 어두운 화면을 선호한다고 말했다",
    "hermes.md": "Hermes는 메시지를 나르고 API키는 금고에 둔다",
    "value.md": "설정 값 이 비어 있으면 기본 값 을 쓴다 ㅋㅋ 2026",
    "ticket.md": "PAY-4821 중복 결제를 막으려고 멱등 키를 넣었다",
    "safe.md": "memory:safe 모드는 GB/s 단위로 잰다. gpt-4o 와 CLAUDE.md, TODO: fix 도 적어 둔다. don't say hi or foo",
    "lunch.md": "점심은 국수를 먹었고 회의는 세 시로 옮겼다",
    "db.md": "데이터베이스 마이그레이션은 다음 주 화요일에 한다",
    "python.md": "python 3.11 로 올리면서 타입을 엄격하게 검사하기로 했다",
}


@pytest.fixture
def memory(open_gieok: Open, notes: Notes) -> Gieok:
    opened = open_gieok()
    report = opened.index([notes(NOTES)])
    assert (report.indexed, report.failed) == (len(NOTES), [])
    return opened


def contents(memory: Gieok, query: str, **options: object) -> list[str]:
    ids = [hit.id for hit in memory.search_index(query, **options)]  # type: ignore[arg-type]
    return [detail.content for detail in memory.get_details(ids)]


@pytest.mark.parametrize(
    ("query", "top"),
    [
        ("배포", "deploy.md"),  # 1: particles
        ("배포를 언제", "deploy.md"),
        ("알림", "alarm.md"),  # 2: two syllables
        ("선호", "prefer.md"),
        ("인증", "member.md"),  # 3: inside a compound, across its missing spaces
        ("주문 상세", "member.md"),
        ("Hermes", "hermes.md"),  # 5: Latin glued to Hangul
        ("API", "hermes.md"),
        ("값", "value.md"),  # 6: one syllable, jamo, digits
        ("ㅋㅋ", "value.md"),
        ("2026", "value.md"),
        ("PAY-4821", "ticket.md"),  # 9: only the words can find it
        ("pay 4821", "ticket.md"),
    ],
)
def test_1_2_3_5_6_9_what_must_be_on_top(memory: Gieok, query: str, top: str) -> None:
    assert contents(memory, query)[0] == NOTES[top]


def test_4_decomposed_and_composed_are_one(open_gieok: Open, notes: Notes) -> None:
    nfd = unicodedata.normalize("NFD", DEPLOY)
    memory = open_gieok()
    memory.index([notes({"nfc.md": DEPLOY}, "c"), notes({"nfd.md": nfd}, "d"), notes({"other.md": "점심 메뉴"}, "o")])
    for query in ("금요일 배포", unicodedata.normalize("NFD", "금요일 배포")):
        assert contents(memory, query)[:2] == [DEPLOY, DEPLOY]


def test_4_paths_that_differ_only_by_form_are_one_memory(open_gieok: Open, notes: Notes) -> None:
    name = "회의록.md"
    folder = notes({unicodedata.normalize("NFC", name): DEPLOY, unicodedata.normalize("NFD", name): DEPLOY})
    memory = open_gieok()
    memory.index([folder])
    assert contents(memory, "배포") == [DEPLOY]


@pytest.mark.parametrize("query", ["🙂🙂", "‼️", "…", "*", "^", "\\"])
def test_6_7_nothing_to_look_for_has_a_reason(memory: Gieok, query: str) -> None:
    answer = memory.find(query)
    assert answer.result.index or answer.reason
    assert len(answer.result.index) < len(NOTES)  # never everything


@pytest.mark.parametrize(
    ("typed", "plain"),
    [
        ("memory:safe", "memory safe"),
        ('say "hi', "say hi"),
        ("foo AND", "foo and"),
        ("(python", "python"),
        ("don't", "don't"),
        ("GB/s", "GB/s"),
        ("gpt-4o", "gpt-4o"),
        ("CLAUDE.md", "claude.md"),
        ("TODO: fix", "todo fix"),
        ("-배포", "배포"),
    ],
)
def test_7_operators_are_only_words(memory: Gieok, typed: str, plain: str) -> None:
    assert contents(memory, typed)[:1] == contents(memory, plain)[:1] != []


@pytest.mark.parametrize("query", ["쀍뛣 훩쮁 뀱", "zxqv wplk jjfh", "뷁뷁뷁"])
def test_8_nonsense_finds_nothing_and_says_why(memory: Gieok, query: str) -> None:
    answer = memory.find(query)
    assert answer.result.index == []
    assert query in (answer.reason or "")
    assert answer.advice
    assert answer.result.meta.expansion_reason == "no_results"


def test_9_a_ticket_among_many_is_first_and_shown(open_gieok: Open, notes: Notes) -> None:
    rows = [
        json.dumps({"id": str(n), "content": f"PAY-{4000 + n} 결제 재시도와 멱등 키에 대한 메모"}) for n in range(300)
    ]
    memory = open_gieok()
    memory.index([notes({"t.jsonl": "\n".join(rows)})])
    assert contents(memory, "PAY-4217")[0].startswith("PAY-4217 ")


def test_10_an_empty_store_says_the_next_step(open_gieok: Open) -> None:
    answer = open_gieok().find("배포")
    assert answer.result.index == []
    assert answer.reason == "The store is empty."
    assert "gieok index" in (answer.advice or "")


def line(uuid: str, text: str, parent: str | None = None) -> str:
    return json.dumps(
        {
            "type": "user", "uuid": uuid, "parentUuid": parent, "sessionId": "s-1", "cwd": "/home/dev/haru",
            "timestamp": "2026-01-30T14:00:00.000Z", "message": {"role": "user", "content": text},
        },
        ensure_ascii=False,
    )  # fmt: skip


def test_11_broken_transcript_lines_are_counted_and_the_rest_is_indexed(open_gieok: Open, notes: Notes) -> None:
    whole = [line("u1", "배포 순서를 정하자"), line("u2", "테스트를 먼저 쓰자"), line("u3", "로그를 남기자")]
    text = "\n".join([whole[0], whole[1][:40], "[1, 2]", whole[2], line("u4", "끝")[:30]])
    memory = open_gieok()
    report = memory.index([notes({"s.jsonl": text})])
    assert report.failed == []
    assert report.memories == 2
    assert len(report.notices) >= 1
    said = " ".join(notice.reason for notice in report.notices)
    assert all(number in said for number in ("2", "3", "5"))  # the numbers of the broken lines
    assert contents(memory, "배포 순서")[0] == "배포 순서를 정하자"
    assert contents(memory, "로그")[0] == "로그를 남기자"


def test_12_huge_results_are_bounded_and_marked(open_gieok: Open, notes: Notes) -> None:
    call = {
        "type": "assistant", "uuid": "a1", "parentUuid": None, "sessionId": "s-1", "timestamp": "2026-01-30T14:00:00Z",
        "message": {"id": "m1", "role": "assistant", "content": [
            {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "cat big.log"}}]},
    }  # fmt: skip
    result = {
        "type": "user", "uuid": "u1", "parentUuid": "a1", "sessionId": "s-1", "timestamp": "2026-01-30T14:00:01Z",
        "message": {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "t1", "content": [
                {"type": "text", "text": "처음 " + "log line 7 " * 40_000 + " 마지막"},
                {"type": "image", "source": {"type": "base64", "data": "iVBORw0KGgo" * 50_000}}]}]},
    }  # fmt: skip
    memory = open_gieok()
    memory.index([notes({"s.jsonl": json.dumps(call) + "\n" + json.dumps(result)})])
    (hit,) = memory.search_index("big.log")
    (detail,) = memory.get_details([hit.id])
    assert len(detail.content) < 20_000
    assert "left out" in detail.content
    assert "iVBORw0KGgo" not in detail.content


@pytest.mark.parametrize(
    "text",
    [
        "앞 <private>비밀번호사과</private> 뒤",
        "앞 <private>비밀번호사과",
        "앞 <private>바깥 <private>비밀번호사과</private> 비밀번호사과</private> 뒤",
        "앞 <private >비밀번호사과</private > 뒤",
        "앞 <PRIVATE>비밀번호사과</Private> 뒤",
        '앞 <private reason="x">비밀번호사과</private> 뒤',
        "비밀번호사과</private> 뒤",
    ],
)
def test_13_private_text_reaches_no_file(open_gieok: Open, notes: Notes, text: str) -> None:
    memory = open_gieok()
    memory.index(
        [notes({"a.md": f"# 메모\n\n{text}\n", "s.jsonl": line("u1", text), "j.jsonl": json.dumps({"content": text})})]
    )
    assert contents(memory, "비밀번호사과") == []
    home = memory.home
    memory.close()
    for path in (p for p in home.rglob("*") if p.is_file()):
        data = path.read_bytes()
        assert "비밀번호사과".encode() not in data, path
        assert "비밀번호사과".encode("utf-16-le") not in data, path


def test_14_our_own_answers_are_not_indexed_again(open_gieok: Open, notes: Notes) -> None:
    from pipeline.sources.own import OWN_CLOSE, OWN_OPEN

    text = f"배포는 언제 하나요?\n{OWN_OPEN}\n#1 [mem_abc] 되돌아온기억 (0.94)\n{OWN_CLOSE}"
    memory = open_gieok()
    memory.index([notes({"s.jsonl": line("u1", text)})])
    assert contents(memory, "배포")[0] == "배포는 언제 하나요?"
    assert contents(memory, "되돌아온기억") == []


WRITER = """
import sys
from pathlib import Path
from pipeline import Gieok
home, folder = sys.argv[1], Path(sys.argv[2])
with Gieok.open(home) as memory:
    print("open", flush=True)
    for path in sorted(folder.iterdir()):
        memory.index([path], vectors=False)
        print(path.name, flush=True)
"""


def start(home: Path, folder: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", WRITER, str(home), str(folder)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=Path(__file__).parents[1],
    )  # fmt: skip


def test_15_processes_that_open_a_new_store_together_and_one_that_dies(
    tmp_path: Path, open_gieok: Open, notes: Notes
) -> None:
    folders = [notes({f"{name}{n}.md": f"고유단어{name}{n} 메모" for n in range(8)}, name) for name in "abc"]
    writers = [start(tmp_path / "home", folder) for folder in folders]
    victim = writers[0]
    assert victim.stdout is not None
    acknowledged = []
    for row in victim.stdout:
        if row.strip() != "open":
            acknowledged.append(row.strip())
        if len(acknowledged) == 3:
            break
    victim.send_signal(signal.SIGKILL)
    victim.wait(30)
    victim.stdout.close()
    if victim.stderr is not None:
        victim.stderr.close()
    for writer in writers[1:]:
        out, error = writer.communicate(timeout=120)
        assert writer.returncode == 0, error
        assert error == ""
        acknowledged += [name for name in out.split() if name != "open"]
    assert len(acknowledged) == 3 + 8 + 8
    memory = open_gieok()
    for name in acknowledged:
        stem = name.removesuffix(".md")
        assert contents(memory, f"고유단어{stem}")[0] == f"고유단어{stem} 메모"


def test_17_ids_and_titles_never_become_paths(open_gieok: Open, notes: Notes, tmp_path: Path) -> None:
    memory = open_gieok()
    memory.index([notes({"a.md": '---\ntitle: "../../x"\nsession_id: "../../../etc/passwd"\n---\n배포 메모\n'})])
    (hit,) = memory.search_index("배포")
    assert hit.session_id == "../../../etc/passwd"  # text, nothing more
    for bad in ("../../x", "mem_../../x", "/etc/passwd"):
        with pytest.raises(UnknownIdError):
            memory.get_details([bad])
    assert {path.name for path in tmp_path.iterdir()} <= {"home", "notes", "default-home", "default-config"}


def test_17_a_link_that_leaves_the_folder_is_refused(open_gieok: Open, notes: Notes, tmp_path: Path) -> None:
    outside = tmp_path / "secret.md"
    outside.write_text("바깥비밀", encoding="utf-8")
    folder = notes({"a.md": "안쪽 메모"})
    (folder / "link.md").symlink_to(outside)
    memory = open_gieok()
    report = memory.index([folder])
    assert report.indexed == 1
    assert [Path(failure.path).name for failure in report.failed] == ["link.md"]
    assert "leaves" in report.failed[0].reason
    assert "바깥비밀" not in contents(memory, "바깥비밀")


def test_18_two_spellings_of_a_path_are_one_memory(
    open_gieok: Open, notes: Notes, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = notes({"a.md": DEPLOY})
    monkeypatch.chdir(folder)
    memory = open_gieok()
    memory.index([folder / "a.md"])
    report = memory.index(["./../notes/a.md", folder / "." / "a.md", folder])
    assert (report.indexed, report.skipped) == (0, 1)
    assert contents(memory, "배포") == [DEPLOY]


def test_18_a_moved_file_keeps_its_ids_and_a_deleted_one_leaves(open_gieok: Open, notes: Notes) -> None:
    folder = notes({"a.md": DEPLOY, "b.md": "점심 메모"})
    memory = open_gieok()
    memory.index([folder])
    (before,) = memory.search_index("배포")
    (folder / "sub").mkdir()
    (folder / "a.md").rename(folder / "sub" / "moved.md")
    report = memory.index([folder])
    assert (report.moved, report.indexed, report.removed) == (1, 0, 0)
    (after,) = memory.search_index("배포")
    assert after.id == before.id
    # the moved file can change, and a new file at the old place is another memory
    (folder / "a.md").write_text("배포 새 글", encoding="utf-8")
    memory.index([folder])
    assert {hit.id for hit in memory.search_index("배포")} > {before.id}
    (folder / "sub" / "moved.md").unlink()
    report = memory.index([folder])
    assert report.removed == 1
    assert before.id not in {hit.id for hit in memory.search_index("배포")}
    with pytest.raises(UnknownIdError):
        memory.get_details([before.id])


def test_an_empty_query_is_a_usage_error(memory: Gieok) -> None:
    with pytest.raises(UsageError, match="empty"):
        memory.find("  ")


def test_a_write_by_another_process_is_seen_at_once(memory: Gieok, notes: Notes) -> None:
    assert "고유단어x 메모" not in contents(memory, "고유단어x")
    other = start(memory.home, notes({"x.md": "고유단어x 메모"}, "x"))
    _, error = other.communicate(timeout=60)
    assert other.returncode == 0, error
    assert contents(memory, "고유단어x")[0] == "고유단어x 메모"
