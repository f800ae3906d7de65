"""Kills writers and looks at what is left. `python tests/torture/torture.py --help`; prints one JSON object.

Each round forks a writer that acknowledges, over a pipe, what was promised to it, and is killed with SIGKILL: at a
random moment, or (`--steps`, with the shim `killer.c` loaded) at the n-th call that changes a file, for every n. Then
another process opens the home and must find everything that was acknowledged: by id, by words, by vector, exactly once.
"""

from __future__ import annotations

import argparse
import contextlib
import copy
import ctypes
import hashlib
import json
import os
import random
import shutil
import signal
import sqlite3
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import pipeline.legs
from indexes.analyzer import analyze_query
from indexes.errors import UnknownIdError
from pipeline import Gieok, Settings
from pipeline.install.files import replace_atomically

SETTINGS = Settings.model_validate({"layer1": {"min_score": 0.0}})


class StubEmbedder:
    """Unit vectors without a model: what is under test is where they are put."""

    name, dimensions = "stub@1", 8

    def __init__(self, *_: object, **__: object) -> None:
        pass

    def embed_query(self, text: str) -> Any:
        seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big")
        vector = np.random.default_rng(seed).normal(size=self.dimensions).astype(np.float32)
        return vector / np.linalg.norm(vector)

    def embed_passages(self, texts: Sequence[str], on_done: Callable[[int], None] | None = None) -> Any:
        if on_done is not None and texts:
            on_done(len(texts))
        return np.stack([self.embed_query(text) for text in texts]) if texts else np.empty((0, 8), np.float32)


pipeline.legs.FastEmbedder = StubEmbedder  # type: ignore[misc, assignment]


def open_home(home: Path) -> Gieok:
    return Gieok.open(home, SETTINGS)


@dataclass
class Promises:
    """What was acknowledged: the text of each token; whether it has vectors. A token that is None is gone."""

    texts: dict[str, str | None] = field(default_factory=dict)
    embedded: set[str] = field(default_factory=set)
    asked: dict[str, set[str | None]] = field(default_factory=dict)
    """What was begun and not acknowledged: may be there or not."""

    def take(self, line: str) -> None:
        kind, token, text = line.split("\t")
        value = text or None
        if kind == "ask":
            self.asked.setdefault(token, set()).add(value)
        else:
            self.texts[token] = value
            self.asked.pop(token, None)
            self.embedded.discard(token)
            if kind == "vectors":
                self.embedded.add(token)


Say = Callable[[str, str, str | None], None]


# --- stages: each writes for ever, or until it is done ---------------------------------------------------


def text_of(token: str, version: int = 0) -> str:
    return f"고유{token} 배포 메모 {version}"


def put(folder: Path, token: str, version: int = 0) -> Path:
    path = folder / f"{token}.md"
    path.write_text(text_of(token, version), encoding="utf-8")
    return path


def store(home: Path, folder: Path, say: Say, rng: random.Random, *, vectors: bool = False) -> None:
    with open_home(home) as memory:
        for _ in range(40):
            tokens = [f"t{rng.randrange(16**8):08x}" for _ in range(rng.choice((1, 1, 1, 4)))]
            paths = [put(folder, token) for token in tokens]
            for token in tokens:
                say("ask", token, text_of(token))
            report = memory.index(paths, vectors=vectors)
            assert not report.failed, report.failed
            for token in tokens:
                say("vectors" if vectors and not report.vectors_pending else "words", token, text_of(token))


def vectors(home: Path, folder: Path, say: Say, rng: random.Random) -> None:
    store(home, folder, say, rng, vectors=True)


def change(home: Path, folder: Path, say: Say, rng: random.Random) -> None:
    """Rewrite and delete files, with vectors: dead rows, compaction, removals."""
    with open_home(home) as memory:
        for version in range(1, 40):
            files = sorted(folder.glob("t*.md"))
            if not files:
                return store(home, folder, say, rng)
            chosen = rng.sample(files, min(len(files), 5))
            for path in chosen:
                if rng.random() < 0.3:
                    say("ask", path.stem, None)
                    path.unlink()
                else:
                    say("ask", path.stem, text_of(path.stem, version))
                    put(folder, path.stem, version)
            report = memory.index([folder], vectors=True)
            kind = "vectors" if not report.vectors_pending else "words"
            for path in chosen:
                say(kind, path.stem, text_of(path.stem, version) if path.exists() else None)
    return None


def rebuild(home: Path, folder: Path, say: Say, rng: random.Random) -> None:
    with open_home(home) as memory:
        for _ in range(20):
            memory.rebuild(words=rng.random() < 0.7, vectors=rng.random() < 0.7)


def migration(home: Path, folder: Path, say: Say, rng: random.Random) -> None:
    store(home, folder, say, rng)


def remember(home: Path, folder: Path, say: Say, rng: random.Random) -> None:
    with open_home(home) as memory:
        for _ in range(40):
            token = f"n{rng.randrange(16**8):08x}"
            say("ask", token, text_of(token))
            kept = memory.remember(text_of(token))
            if kept.ids and not kept.notices:
                say("words", token, text_of(token))


def settings(home: Path, folder: Path, say: Say, rng: random.Random) -> None:
    """Another program's settings file is exchanged: the old one or the new one, never half of one."""
    path = folder.parent / "settings.json"
    for version in range(200):
        new = json.dumps({"version": version, "filler": "x" * rng.randrange(20_000)}).encode()
        replace_atomically(path, new, expected=path.read_bytes() if path.exists() else None)


def forget(home: Path, folder: Path, say: Say, rng: random.Random) -> None:
    """Forget some of what was put in; their files stay, and are indexed again."""
    with open_home(home) as memory:
        for _ in range(40):
            tokens = [f"f{rng.randrange(16**8):08x}" for _ in range(3)]
            for token in tokens:
                say("ask", token, text_of(token))
            memory.index([put(folder, token) for token in tokens], vectors=True)
            for token in tokens:
                say("words", token, text_of(token))
            gone = rng.sample(tokens, 2)
            ids = [memory._ids_of(folder / f"{token}.md")[0] for token in gone]
            for token in gone:
                say("ask", token, None)
            memory.forget(ids)
            for token in gone:
                say("words", token, None)
            memory.index([folder])


STAGES: dict[str, Callable[..., None]] = {
    stage.__name__: stage for stage in (store, vectors, change, rebuild, migration, remember, settings, forget)
}
NEEDS_VECTORS_AGAIN = {"rebuild"}
"""After a rebuild that was killed, vectors are missing until the next `gieok index`; words and store never."""


# --- what must hold afterwards ------------------------------------------------------------------------------


def verify(home: Path, folder: Path, promises: Promises, stage: str) -> None:
    configuration = folder.parent / "settings.json"
    if configuration.exists():
        json.loads(configuration.read_bytes())
    with open_home(home) as memory:
        if stage in NEEDS_VECTORS_AGAIN:
            memory.index()
        assert not memory.finish_forgetting()
        memory.find("배포")  # catches up on words
        state = memory.status()
        assert state.words.problem is None, state
        assert state.vectors.problem is None, state
        assert state.words.pending == 0, state
        assert state.words.memories == state.memories, state
        words, vectors = memory._legs.words, memory._legs.vectors
        contents = Counter(row[0] for row in memory._store._db.rows("SELECT content FROM memories"))
        assert all(count == 1 for count in contents.values()), contents.most_common(3)
        for token, text in promises.texts.items():
            allowed = {text, *promises.asked.get(token, set())}
            found = [content for content in contents if f"고유{token} " in content]
            if not found:
                assert None in allowed, f"lost: {token}"
                continue
            assert len(found) == 1, f"twice: {found}"
            assert found[0] in allowed, f"stale: {found[0]} is none of {allowed}"
            # The legs themselves: the vectors of the stub are random, and so is an order that they share in.
            ranked = words.search(analyze_query(token), 10)
            hits = [int(rid) for rid, share in zip(ranked.ids, ranked.coverage, strict=True) if share > 0.99]
            assert len(hits) == 1, f"by words: {token}: {ranked}"
            (held,) = memory.memories(hits)
            assert held.content == found[0], held
            assert memory.get_details([held.id])[0].content == found[0]
            if token in promises.embedded and token not in promises.asked:
                near = vectors.search(StubEmbedder().embed_query(found[0]), len(vectors))
                assert Counter(near.ids.tolist())[held.rid] == 1, f"by vector: {token}"
        vectors.verify()
        # what was begun, too, is all or nothing
        for token in promises.asked:
            assert sum(f"고유{token} " in content for content in contents) <= 1, token
    with contextlib.closing(sqlite3.connect(home / "memories.db")) as db:
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert db.execute("PRAGMA foreign_key_check").fetchall() == []
    try:
        with open_home(home) as memory:
            memory.get_details(["mem_nosuch"])
    except UnknownIdError:
        pass


# --- rounds ---------------------------------------------------------------------------------------------------


def in_child(work: Callable[[], None]) -> int:
    """Fork, work, and end without anything that Python does at exit; the child's number."""
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        work()
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)


class Ground:
    """One home with its promises, used for some rounds."""

    def __init__(self, place: Path) -> None:
        self.home = place / "home"
        self.folder = place / "notes"
        self.folder.mkdir(parents=True)
        self.promises = Promises()

    def prepare(self, stage: str) -> None:
        if stage == "migration" and (self.home / "memories.db").exists():
            with contextlib.closing(sqlite3.connect(self.home / "memories.db", isolation_level=None)) as db:
                db.execute("DROP TABLE IF EXISTS forgotten")
                db.execute("PRAGMA user_version = 1")

    def round(self, stage: str, seed: int, *, delay: float | None, step: int | None) -> bool:
        """Whether the writer was killed; raises AssertionError if something that was acknowledged is missing."""
        self.prepare(stage)
        heard, told = os.pipe()

        def work() -> None:
            os.close(heard)

            def say(kind: str, token: str, text: str | None) -> None:
                os.write(told, f"{kind}\t{token}\t{text or ''}\n".encode())

            if step is not None:
                ctypes.CDLL(None).killer_arm(ctypes.c_long(step))
            STAGES[stage](self.home, self.folder, say, random.Random(seed))

        pid = in_child(work)
        os.close(told)
        if delay is not None:
            time.sleep(delay)
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        with os.fdopen(heard, "rb") as file:
            lines = file.read().decode().splitlines(keepends=True)
        _, status = os.waitpid(pid, 0)
        for line in lines:
            if line.endswith("\n"):
                self.promises.take(line[:-1])
        killed = os.WIFSIGNALED(status)
        assert killed or os.WEXITSTATUS(status) == 0, "the writer failed"
        self.check(stage)
        return killed

    def check(self, stage: str) -> None:
        _, status = os.waitpid(in_child(lambda: verify(self.home, self.folder, self.promises, stage)), 0)
        assert status == 0, f"what was acknowledged in {stage} is not there"


@contextlib.contextmanager
def grounds() -> Iterator[Callable[[], Ground]]:
    with tempfile.TemporaryDirectory(prefix="gieok-torture-") as top:
        number = iter(range(1_000_000))
        yield lambda: Ground(Path(top) / str(next(number)))


def at_random(rounds: int, seed: int, stages: Sequence[str]) -> dict[str, Any]:
    rng = random.Random(seed)
    killed: Counter[str] = Counter()
    promised = 0
    with grounds() as ground:
        here = ground()
        for number in range(rounds):
            if number % 25 == 24:
                promised += len(here.promises.texts)
                shutil.rmtree(here.home.parent)
                here = ground()
            stage = stages[number % len(stages)]
            longest = 0.05 if stage == "settings" else 0.5
            if here.round(stage, rng.randrange(1 << 30), delay=rng.uniform(0.0, longest), step=None):
                killed[stage] += 1
        promised += len(here.promises.texts)
    return {"rounds": rounds, "killed": dict(killed), "acknowledged": promised, "lost": 0, "twice": 0}


def at_steps(every: int, most: int, stages: Sequence[str], seed: int) -> dict[str, Any]:
    """Each `every`-th step of each stage up to `most`, on a home of its own that holds something."""
    counted: Counter[str] = Counter()
    with grounds() as ground:
        here = ground()
        here.round("vectors", seed + 1, delay=0.6, step=None)
        place, kept = here.home.parent, here.home.parent.with_name("kept")
        # The same paths each time: a source is known by them.
        place.rename(kept)
        promises = here.promises
        for stage in stages:
            for step in range(seed % every, most, every):
                shutil.copytree(kept, place)
                here.promises = copy.deepcopy(promises)
                killed = here.round(stage, seed, delay=None, step=step)
                counted[stage] += killed
                shutil.rmtree(place)
                if not killed:
                    break
    return {"steps": dict(counted), "rounds": sum(counted.values()), "lost": 0, "twice": 0}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=0)
    parser.add_argument("--steps", type=int, default=0, metavar="MOST", help="kill at each step up to this one")
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--stages", default=",".join(STAGES))
    given = parser.parse_args()
    stages = given.stages.split(",")
    said: dict[str, Any] = {"seed": given.seed}
    try:
        if given.rounds:
            said["random"] = at_random(given.rounds, given.seed, stages)
        if given.steps:
            said["steps"] = at_steps(given.every, given.steps, stages, given.seed)
    except AssertionError as error:
        print(json.dumps({**said, "error": str(error)}))
        sys.exit(1)
    print(json.dumps(said))


if __name__ == "__main__":
    main()
