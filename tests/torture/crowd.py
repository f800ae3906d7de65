"""Many processes on one home at once: `python tests/torture/crowd.py --seconds 10`; prints one JSON object.

Half of them write notes through the facade, with and without vectors, and search for each at once; the others run the
commands of the command line. Any error, a note that is not found after it was acknowledged, or a wait beyond the
bound ends the run with a failure; at the end everything that anybody acknowledged must be there, once.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import random
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

from torture import Promises, in_child, open_home, put, text_of, verify

from indexes.analyzer import analyze_query
from pipeline.cli import app

Tell = Callable[..., None]
WAIT = 30.0
"""Seconds that no single call may exceed (`store.busy_timeout`)."""


def found(memory: Any, token: str) -> int:
    """How many memories hold a token, as a search sees it that begins now."""
    memory.find("배포")
    leg = memory._legs.words
    return int((leg.search(analyze_query(token), 10).coverage > 0.99).sum()) if leg is not None else 0


def library(home: Path, folder: Path, tell: Tell, rng: random.Random, end: float) -> None:
    """One process that stays open, as a server does."""
    with open_home(home) as memory:
        while time.monotonic() < end:
            token = f"t{rng.randrange(16**8):08x}"
            began = time.monotonic()
            report = memory.index([put(folder, token)], vectors=rng.random() < 0.3)
            assert not report.failed, report.failed
            tell("write", token, began)
            began = time.monotonic()
            assert found(memory, token) == 1, f"stale: {token}"
            tell("search", token, began)


def commands(home: Path, folder: Path, tell: Tell, rng: random.Random, end: float) -> None:
    """A process for each command, as a terminal and as hooks do."""
    while time.monotonic() < end:
        token = f"c{rng.randrange(16**8):08x}"
        began = time.monotonic()
        command(home, "index", "--no-vectors", str(put(folder, token)))
        tell("write", token, began)
        for arguments in (["search", f"고유{token} 배포"], ["status"]):
            began = time.monotonic()
            command(home, *arguments)
            tell("command", token, began)
        with open_home(home) as memory:
            assert found(memory, token) == 1, f"stale: {token}"


def command(home: Path, *arguments: str) -> None:
    """Run a command in a process of its own; it must end well and say nothing of an error."""
    out, heard = os.pipe()

    def work() -> None:
        os.dup2(heard, 2)
        with contextlib.redirect_stdout(io.StringIO()):
            try:
                app([*arguments, "--home", str(home)], prog_name="gieok")
            except SystemExit as ended:
                if ended.code not in (0, None, 1):
                    raise RuntimeError(f"exit code {ended.code}") from None

    pid = in_child(work)
    os.close(heard)
    with os.fdopen(out, "rb") as file:
        said = file.read().decode("utf-8", "replace")
    _, status = os.waitpid(pid, 0)
    assert status == 0, f"{arguments}: {said}"
    assert "Error" not in said, said
    assert "Traceback" not in said, said


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--processes", type=int, default=10)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    given = parser.parse_args()
    os.environ["GIEOK_LAYER1_MIN_SCORE"] = "0"
    end = time.monotonic() + given.seconds
    promises, calls, slowest, failures = Promises(), Counter[str](), Counter[str](), 0
    with tempfile.TemporaryDirectory(prefix="gieok-crowd-") as top:
        home, folder = Path(top) / "home", Path(top) / "notes"
        folder.mkdir()
        heard, told = os.pipe()
        pids = []
        for number in range(given.processes):

            def work(number: int = number) -> None:
                os.close(heard)

                def tell(kind: str, token: str, began: float) -> None:
                    os.write(told, f"{kind}\t{token}\t{time.monotonic() - began:.3f}\n".encode())

                role = library if number % 2 else commands
                role(home, folder, tell, random.Random(given.seed + number), end)

            pids.append(in_child(work))
        os.close(told)
        with os.fdopen(heard, "rb") as file:
            for line in file:
                kind, token, took = line.decode().rstrip("\n").split("\t")
                calls[kind] += 1
                slowest[kind] = max(slowest[kind], float(took))  # type: ignore[assignment]
                if kind == "write":
                    promises.texts[token] = text_of(token)
        failures = sum(os.waitpid(pid, 0)[1] != 0 for pid in pids)
        try:
            verify(home, folder, promises, "crowd")
            lost = False
        except AssertionError:
            traceback.print_exc()
            lost = True
    said = {
        "processes": given.processes, "seconds": given.seconds, "calls": dict(calls), "slowest": dict(slowest),
        "failed": failures, "lost": lost,
    }  # fmt: skip
    print(json.dumps(said))
    sys.exit(bool(failures or lost or max(slowest.values(), default=0) > WAIT))


if __name__ == "__main__":
    main()
