"""What memory says about a task, in groups."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from indexes.errors import UsageError
from pipeline import Gieok, Settings
from pipeline.check import KINDS, CheckReport
from pipeline.cli import app

EXAMPLES = Path(__file__).parents[2] / "examples/memories"
WORDS = Settings.model_validate({"embedder": {"model": "none"}})


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gieok]:
    with Gieok.open(tmp_path_factory.mktemp("check") / "home", WORDS) as opened:
        opened.index([EXAMPLES], vectors=False)
        yield opened


def by_kind(report: CheckReport) -> dict[str, list[str]]:
    return {group.kind: [item.summary for item in group.items] for group in report.groups}


def test_findings_come_by_kind(memory: Gieok) -> None:
    report = memory.check("금요일에 결제 서버를 배포한다")
    told = by_kind(report)
    assert list(told) == [kind for kind in KINDS if kind in told]
    assert any("금요일 배포" in line for line in told["decisions"])
    assert any("금지하자" in line for line in told["feedback"])
    assert told["similar"]
    items = [item for group in report.groups for item in group.items]
    assert len({item.id for item in items}) == len(items) <= 8
    assert all(item.score >= WORDS.layer1.min_score and len(item.summary) <= 100 for item in items)


def test_a_section_tells_the_kind_and_its_point_the_line(open_gieok: Callable[..., Gieok]) -> None:
    memory = open_gieok(embedder={"model": "none"})
    memory.diary(
        "## 수행한 작업\n- 캐시를 붙였다\n## 실수 및 원인\n- 마이그레이션을 되돌릴 때 백업 없이 실행했다\n"
        "## 설계 결정 및 이유\n- 로그는 JSON으로 남긴다\n## 피드백 및 수정 지시\n- 알림 문구는 존댓말로 쓴다\n"
    )
    for task, kind, line in (
        ("마이그레이션 되돌리기 실행", "mistakes", "마이그레이션을 되돌릴 때 백업 없이 실행했다"),
        ("로그를 JSON으로 남기기", "decisions", "로그는 JSON으로 남긴다"),
        ("알림 문구 쓰기", "feedback", "알림 문구는 존댓말로 쓴다"),
        ("캐시 붙이기", "work", "캐시를 붙였다"),
    ):
        assert by_kind(memory.check(task)) == {kind: [line]}, task


def test_notes_by_their_titles_and_tags(open_gieok: Callable[..., Gieok], notes: Callable[..., Path]) -> None:
    memory = open_gieok(embedder={"model": "none"})
    memory.index(
        [
            notes(
                {
                    "a.md": "# 배포 규칙\n\n쿠폰은 항상 두 번 확인한다.",
                    "b.md": "# ADR-012: 쿠폰 저장소\n\n쿠폰은 Postgres에 둔다.",
                    "c.md": "# INC-031\n\n쿠폰이 두 번 나갔다.",
                    "d.md": "# 쿠폰\n\n쿠폰 번호는 열두 자리다.",
                }
            )
        ]
    )
    assert {kind: len(lines) for kind, lines in by_kind(memory.check("쿠폰")).items()} == {
        "mistakes": 1,
        "rules": 1,
        "decisions": 1,
        "notes": 1,
    }


def test_nothing_says_why(memory: Gieok) -> None:
    report = memory.check("qwpeoriu zxmcvnb")
    assert report.is_empty
    assert report.groups == []
    assert report.reason
    assert report.advice
    with pytest.raises(UsageError):
        memory.check("   ")


def test_project_and_long_tasks(memory: Gieok) -> None:
    assert memory.check("금요일 배포", project="no such project").is_empty
    assert not memory.check("금요일에 결제 서버를 배포한다. " * 2_000, top_k=2).is_empty
    assert sum(len(group.items) for group in memory.check("배포", top_k=2).groups) <= 2


def test_the_command(memory: Gieok, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("GIEOK_EMBEDDER_MODEL", "none")
    home = ["--home", str(memory.home)]
    run = CliRunner().invoke(app, [*home, "check", "금요일에", "결제", "서버를", "배포한다"])
    assert run.exit_code == 0, run.output
    assert "Decisions\n- [mem_" in run.stdout
    run = CliRunner().invoke(app, [*home, "check", "-", "--json"], input="금요일에 결제 서버를 배포한다")
    told = json.loads(run.stdout)
    assert told["task"] == "금요일에 결제 서버를 배포한다"
    assert {item["score"] >= 0.7 for group in told["groups"] for item in group["items"]} == {True}
    run = CliRunner().invoke(app, [*home, "check", "qwpeoriu zxmcvnb"])
    assert run.exit_code == 1
    assert run.stdout.strip()
    assert CliRunner().invoke(app, ["--home", str(tmp_path / "none"), "check", "배포"]).exit_code == 2
    assert not (tmp_path / "none").exists()
