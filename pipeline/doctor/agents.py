"""What is registered with coding agents, and how long a hook keeps a prompt waiting."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

from pipeline.doctor.findings import Finding, ok, problem, warn
from pipeline.install.state import registered

LOG = "hooks.log"
_LATELY = 7
_READ = 64_000
_SLOW, _LIMIT = 1.0, 5.0
"""Seconds: what a prompt may wait, and what the host allows the hook."""


def check_registered() -> Iterator[Finding]:
    """Hooks and MCP server in the agent's own settings, the user's and those of this folder."""
    user, project = registered("user"), registered("project")
    # In the home folder the project's settings file is the user's own.
    found = [user] if project.settings == user.settings else [user, project]
    for state in found:
        for wrong in state.problems:
            yield problem("agents", wrong)
        if state.any and state.missing:
            missing = ", ".join(state.missing)
            yield warn(
                "agents", f"{state.settings} lacks {missing}", f"gieok install claude-code --scope {state.scope}"
            )
    if any(state.any for state in found):
        named = [
            f"{state.scope}: {len(state.hooks)} hooks, {'MCP server' if state.server else 'no MCP server'}"
            for state in found
            if state.any
        ]
        yield ok("agents", f"registered in Claude Code ({'; '.join(named)})")
    else:
        yield ok("agents", "not registered in Claude Code; gieok install does it")


def check_log(home: Path) -> Iterator[Finding]:
    """What hooks noted lately: they never trouble the agent with it."""
    lines = _noted(home)
    since = (datetime.now(UTC) - timedelta(days=_LATELY)).isoformat(timespec="seconds")
    late = [line for line in lines if line[: len(since)] >= since]
    if late:
        yield warn("hooks", f"{len(late)} problems in {_LATELY} days, the last: {late[-1][:200]}", f"See {home / LOG}")
    else:
        yield ok("hooks", f"no problem noted in {_LATELY} days")


def _noted(home: Path) -> list[str]:
    """The lines of the hooks' log, oldest first; each begins with its time (UTC, ISO 8601)."""
    lines: list[str] = []
    for name in (f"{LOG}.1", LOG):
        path = home / name
        if path.is_file():
            lines += path.read_bytes()[-_READ:].decode("utf-8", "replace").splitlines()
    return lines


def check_hook(home: Path, config: Path | None) -> Iterator[Finding]:
    """One run of the hook that every prompt waits for, as the agent runs it."""
    options = ["--home", str(home), *(["--config", str(config)] if config is not None else [])]
    command = [sys.executable, "-P", "-m", "pipeline", *options, "hook", "user-prompt-submit"]
    prompt = {
        "hook_event_name": "UserPromptSubmit",
        "session_id": "gieok-doctor",
        "cwd": str(home),
        "prompt": "gieok doctor",
    }
    noted = Counter(_noted(home))
    began = time.monotonic()
    try:
        run = subprocess.run(
            command, input=json.dumps(prompt), capture_output=True, text=True, timeout=2 * _LIMIT, check=False
        )
    except subprocess.TimeoutExpired:
        yield problem("hook", f"gave no answer within {2 * _LIMIT:g} s; every prompt would wait for the host's limit")
        return
    took = time.monotonic() - began
    new = list((Counter(_noted(home)) - noted).elements())  # its exit code is 0 whatever happens
    if run.returncode or run.stderr.strip() or new:
        said = new[-1:] or run.stderr.strip().splitlines()[-1:] or [f"exit code {run.returncode}"]
        yield problem("hook", f"a trial run failed: {said[0][:200]}", "gieok search X shows more of the error.")
    elif took > _SLOW:
        yield warn(
            "hook",
            f"a trial run took {took:.1f} s; a prompt waits so long",
            "Is the machine busy? Else see docs/doctor.md",
        )
    else:
        yield ok("hook", f"a trial run took {took * 1000:.0f} ms")
