"""The whole workflow with real processes: hooks, an MCP client, a diary, its reflection, a rule, the next session."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

EXAMPLES = Path(__file__).parents[1] / "examples" / "memories"
LESSON = "마이그레이션 전에는 반드시 백업을 먼저 확인한다"
LONGEST_TRANSCRIPT = 2_000_000


class Session:
    """One developer's machine: a home, a project, and the commands that the agent and its host run."""

    def __init__(self, folder: Path) -> None:
        self.home, self.project = folder / "home", folder / "haru-billing"
        self.project.mkdir()
        # Words only: the model is tested elsewhere, and loading it is most of the time of such short processes.
        self.environ = {**os.environ, "GIEOK_HOME": str(self.home), "GIEOK_EMBEDDER_MODEL": "none"}

    def run(self, *arguments: str, text: str = "") -> str:
        done = subprocess.run(
            [sys.executable, "-m", "pipeline", *arguments],
            input=text.encode(),
            cwd=self.project,
            env=self.environ,
            capture_output=True,
            check=False,
        )
        assert done.returncode == 0, (arguments, done.stderr.decode())
        return done.stdout.decode()

    def hook(self, event: str, transcript: Path, **given: object) -> str:
        """What a hook injects."""
        about: dict[str, object] = {"session_id": "s-1", "transcript_path": str(transcript), "cwd": str(self.project)}
        told = self.run("hook", event, text=json.dumps(about | given, ensure_ascii=False))
        answer: Mapping[str, Any] = json.loads(told) if told.strip() else {}
        return str(answer.get("hookSpecificOutput", {}).get("additionalContext", ""))

    def call(self, name: str, **arguments: object) -> Any:
        """A tool of the MCP server, by the SDK's own client."""

        async def speak() -> Any:
            server = StdioServerParameters(
                command=sys.executable, args=["-m", "pipeline", "mcp"], env=self.environ, cwd=self.project
            )
            async with stdio_client(server) as (read, write), ClientSession(read, write) as session:
                await session.initialize()
                result = await session.call_tool(name, arguments)
                assert not result.is_error, result.content
                return result.structured_content

        return anyio.run(speak)


def transcripts() -> list[Path]:
    """A transcript of the examples, and a real one where the data is at hand."""
    shared = Path(os.environ.get("GIEOK_DATA", Path(__file__).parents[2] / "shared" / "data")) / "transcripts"
    real = [path for path in sorted(shared.glob("*.jsonl")) if path.stat().st_size < LONGEST_TRANSCRIPT][:1]
    return [EXAMPLES / "transcripts" / "retry-idempotency.jsonl", *real]


@pytest.mark.parametrize("source", transcripts(), ids=["example", "real"][: len(transcripts())])
def test_from_the_first_prompt_to_the_rule_and_the_next_session(tmp_path: Path, source: Path) -> None:
    here = Session(tmp_path)
    transcript = tmp_path / "s-1.jsonl"
    shutil.copyfile(source, transcript)

    # A new machine knows nothing, and says nothing.
    assert here.hook("session-start", transcript, source="startup") == ""
    here.run("index", str(EXAMPLES / "notes"), "--no-vectors")
    told = here.hook("user-prompt-submit", transcript, prompt="금요일 배포는 왜 금지지?")
    assert "ADR-007" in told
    assert "matchCount" in told

    # The agent works: it looks something up and keeps a note.
    listed = here.call("search", query="금요일 배포", min_score=0)["index"]
    whole = here.call("get_observations", ids=[listed[0]["id"]], query="금요일 배포")["details"]
    assert "배포" in whole[0]["content"]
    here.call("remember", text="결제 재시도 간격은 삼십 분으로 정했다.", tags=["billing"])

    # The conversation is compacted, then ends: a diary entry and the transcript are there.
    here.hook("pre-compact", transcript, trigger="auto")
    (automatic,) = (here.home / "diary").glob("*-session-*.md")
    assert "auto_generated: true" in automatic.read_text(encoding="utf-8")
    here.hook("stop", transcript, stop_hook_active=False)
    here.hook("session-end", transcript, reason="exit")
    here.run("index", "--no-vectors")
    held = json.loads(here.run("status", "--json"))
    assert held["byType"]["prompt"] >= 1

    # Three days teach the same lesson; the reflection makes it a rule, which is written after a yes.
    for day in ("2026-11-23", "2026-11-24", "2026-11-25"):
        work = f"{day[-2:]}일의 정산 배치를 고쳤다"
        entry = f"## 수행한 작업\n- {work}\n\n## 피드백 및 수정 지시\n- {LESSON}\n"
        here.run("diary", "--date", day, text=entry)
    (proposal,) = [each for each in json.loads(here.run("reflect", "--json"))["proposals"] if "백업" in each["rule"]]
    assert proposal["entries"] == 3
    here.run("reflect", "--apply", proposal["id"], "--yes")
    rules = (here.project / "CLAUDE.md").read_text(encoding="utf-8")
    assert f"- {LESSON}" in rules

    # The next session begins with what was written; a task finds the lesson, a question the note.
    briefed = here.hook("session-start", tmp_path / "s-2.jsonl", session_id="s-2", source="startup")
    assert "정산 배치" in briefed
    assert LESSON in here.run("check", "마이그레이션을 돌린다")
    told = here.hook("user-prompt-submit", tmp_path / "s-2.jsonl", session_id="s-2", prompt="결제 재시도 간격은?")
    assert "삼십 분" in told
