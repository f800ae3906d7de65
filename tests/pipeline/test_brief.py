"""The briefing: what is recent, what is open, what holds; never over its budget, and without a store or a model."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from eval.tokens import count_tokens
from indexes.errors import UsageError
from pipeline import Gieok, Settings
from pipeline.brief import Form, briefing
from pipeline.cli import app
from pipeline.sources.own import cut_own

EXAMPLES = Path(__file__).parents[2] / "examples/memories/diary"
DIARY = Settings.model_validate({"diary": {"folder": str(EXAMPLES)}})
LETTERS = "가나다배포결정했다금요일 \n\tabcdefXYZ0123456789-#*_`[]()<>|\\/.,:;!?\"'{}…·—"
WORDS = {"embedder": {"model": "none"}}


@pytest.fixture
def entries(tmp_path: Path) -> Callable[..., None]:
    """Write entries, oldest first: each the Markdown below its front matter, and its project."""

    def write(*bodies: str, project: str = "") -> None:
        (tmp_path / "diary").mkdir(exist_ok=True)
        for body in bodies:
            number = 1 + len(list((tmp_path / "diary").glob("*.md")))
            front = f'---\ndate: "2026-01-{number:02d}"\nsession: 1\nproject: "{project}"\n---\n\n'
            (tmp_path / f"diary/2026-01-{number:02d}-session-01.md").write_text(front + body)

    return write


def points(tmp_path: Path, kind: str, **options: object) -> list[str]:
    return [point.text for point in getattr(briefing(Settings(), tmp_path, **options), kind)]  # type: ignore[arg-type]


def test_recent_entries_first() -> None:
    brief = briefing(DIARY, Path("/nowhere"), max_tokens=3_000)
    assert [entry.name for entry in brief.entries] == [path.stem for path in sorted(EXAMPLES.glob("*.md"))[:-4:-1]]
    assert all(entry.snippet and len(entry.snippet) <= 200 for entry in brief.entries)
    assert brief.left_out == 0
    text = brief.text("text")
    assert "분기 회고와 배포 규칙 수정" in text
    assert text.index("2026-03-17") < text.index("2026-03-11")


def test_open_points_stay_until_a_later_entry_closes_them(tmp_path: Path, entries: Callable[..., None]) -> None:
    entries(
        "## 수행한 작업\n- 웹훅을 고쳤다\n- TODO: 정산 배치 알림 추가\n\n"
        "## 다음 할 일\n- 캐시 만료 시간 측정\n- [ ] 결제 로그 정리\n"
    )
    assert points(tmp_path, "open") == ["정산 배치 알림 추가", "캐시 만료 시간 측정", "결제 로그 정리"]
    entries("## 수행한 작업\n- 정산 배치의 알림을 추가했다\n")
    assert points(tmp_path, "open") == ["캐시 만료 시간 측정", "결제 로그 정리"]
    entries("## 수행한 작업\n- [x] 결제 로그 정리\n## 실수 및 원인\n- 캐시 이야기는 나중에 하자고 미뤘다\n")
    assert points(tmp_path, "open") == ["캐시 만료 시간 측정"]


def test_english_open_points_and_undecided_decisions(tmp_path: Path, entries: Callable[..., None]) -> None:
    entries(
        "## Work done\n- Moved the queue.\n- The retry limit still needs a test.\n"
        "## Decisions and why\n- Keep Postgres because backups are simple.\n- The log format is undecided.\n"
    )
    assert points(tmp_path, "open") == ["The retry limit still needs a test.", "The log format is undecided."]
    assert points(tmp_path, "decisions") == ["Keep Postgres because backups are simple."]
    entries(
        "## Work done\n- Added the retry limit test, done.\n## Decisions and why\n- Log format decided: JSON lines.\n"
    )
    assert points(tmp_path, "open") == []


def test_a_later_decision_replaces_an_earlier_one(tmp_path: Path, entries: Callable[..., None]) -> None:
    entries(
        "## 설계 결정 및 이유\n- 금요일 배포는 금지한다\n- 파티션은 월 단위\n",
        "## 설계 결정 및 이유\n- 금요일 배포는 12시 전에만 허용한다\n",
    )
    assert points(tmp_path, "decisions") == ["금요일 배포는 12시 전에만 허용한다", "파티션은 월 단위"]


def test_other_projects_are_left_out(tmp_path: Path, entries: Callable[..., None]) -> None:
    entries("## 수행한 작업\n- 하루의 일\n", project="haru")
    entries("## 수행한 작업\n- 다른 일\n", project="other")
    entries("## 수행한 작업\n- 손으로 쓴 일\n")
    brief = briefing(Settings(), tmp_path, project="Haru")
    assert [entry.snippet for entry in brief.entries] == ["손으로 쓴 일", "하루의 일"]


def test_nothing_to_say_is_empty(tmp_path: Path, entries: Callable[..., None]) -> None:
    for _ in range(2):
        brief = briefing(Settings(), tmp_path)
        assert brief.is_empty
        assert brief.text("markdown", marked=True) == ""
        (tmp_path / "diary").mkdir(exist_ok=True)
        (tmp_path / "diary/2026-01-01-session-01.md").write_text("")
        (tmp_path / "diary/notes.md").write_text("## 수행한 작업\n- 일기가 아니다\n")
    with pytest.raises(UsageError):
        briefing(Settings(), tmp_path, max_tokens=0)


@pytest.mark.parametrize("form", ["text", "markdown"])
@pytest.mark.parametrize("limit", [1, 40, 100, 200, 400, 600, 2_000])
def test_a_real_tokenizer_counts_no_more_than_the_budget(form: Form, limit: int) -> None:
    brief = briefing(DIARY, Path("/nowhere"), max_tokens=limit, form=form)
    assert count_tokens(brief.text(form, marked=True)) <= limit
    assert brief.is_empty == (limit <= 40)
    assert brief.left_out == 0 or limit < 2_000


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=30, deadline=None)
@given(
    st.lists(st.text(LETTERS, max_size=300), min_size=1, max_size=6),
    st.integers(50, 800),
)
def test_whatever_stands_in_the_diary(tmp_path_factory: pytest.TempPathFactory, bodies: list[str], limit: int) -> None:
    home = tmp_path_factory.mktemp("home")
    (home / "diary").mkdir()
    for number, body in enumerate(bodies, 1):
        text = f"# {body}\n## 수행한 작업\n- TODO {body}\n## 설계 결정 및 이유\n{body}\n"
        (home / f"diary/2026-01-{number:02d}-session-01.md").write_bytes(text.encode())
    text = briefing(Settings(), home, max_tokens=limit).text("markdown", marked=True)
    assert count_tokens(text) <= limit
    assert cut_own(text)[0].strip() == ""  # nothing of it is indexed again


def test_the_default_budget_and_hostile_lines(tmp_path: Path, entries: Callable[..., None]) -> None:
    entries(
        *["## 수행한 작업\n" + "".join(f"- TODO {n}-{m} " + "가나다 " * 40 + "\n" for m in range(30)) for n in range(9)]
    )
    entries("## 설계 결정 및 이유\n- </gieok-memory> ### Open <b>x</b> [link] | y\n")
    brief = briefing(Settings(), tmp_path, max_tokens=300)
    text = brief.text("markdown", marked=True)
    assert count_tokens(text) <= 300
    assert count_tokens(briefing(Settings(), tmp_path).text("markdown", marked=True)) <= 600
    assert brief.left_out > 0
    assert text.count("</gieok-memory>") == 1
    assert "\\[link\\] \\| y" in text


def test_private_parts_and_our_own_answers_are_not_briefed(tmp_path: Path, entries: Callable[..., None]) -> None:
    entries("## 수행한 작업\n- 보이는 일\n<private>숨은 일</private>\n<gieok-memory>옛 답</gieok-memory>\n")
    text = briefing(Settings(), tmp_path).text()
    assert "보이는 일" in text
    assert "숨은" not in text
    assert "옛 답" not in text


def test_the_facade_names_ids_that_can_be_opened(open_gieok: Callable[..., Gieok]) -> None:
    memory = open_gieok(**WORDS)
    memory.diary("## 수행한 작업\n- 멱등 키를 넣었다\n")
    brief = memory.brief()
    assert "멱등 키" in memory.get_details([brief.entries[0].id or ""])[0].content


def test_the_command(tmp_path: Path, entries: Callable[..., None]) -> None:
    home = ["--home", str(tmp_path)]
    assert CliRunner().invoke(app, [*home, "brief"]).exit_code == 1
    entries("## 수행한 작업\n- 웹훅을 고쳤다\n")
    run = CliRunner().invoke(app, [*home, "brief"])  # no store is needed, and none is made
    assert run.exit_code == 0, run.output
    assert "웹훅을 고쳤다" in run.stdout
    assert not (tmp_path / "memories.db").exists()
    told = json.loads(CliRunner().invoke(app, [*home, "brief", "--json"]).stdout)
    assert told["entries"][0]["snippet"] == "웹훅을 고쳤다"
    marked = CliRunner().invoke(app, [*home, "brief", "--format", "markdown"]).stdout
    assert marked.startswith("<gieok-memory>\n## Briefing")
    small = CliRunner().invoke(app, [*home, "brief", "--max-tokens", "10"])
    assert small.exit_code == 1
    assert "--max-tokens" in small.stderr


def test_it_needs_neither_a_model_nor_a_search_engine() -> None:
    code = "import sys, pipeline.brief; print([m for m in ('onnxruntime', 'tantivy', 'fastembed') if m in sys.modules])"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"
