"""What other processes, full folders and bad luck do to a store: the rest goes on, and the way out is named."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from indexes.errors import EmbedderError, StoreCorruptError, StoreError
from indexes.lexical import TantivyLexical
from indexes.store import Store
from pipeline import Gieok, Settings
from pipeline.sync import _lexical_entry

Open = Callable[..., Gieok]
Notes = Callable[..., Path]
ROOT = Path(__file__).parents[2]
TEXTS = {f"{n}.md": f"고유단어{n} 배포 메모 {n}" for n in range(5)}

INDEX = """
import sys
from pipeline import Gieok
with Gieok.open(sys.argv[1]) as memory:
    report = memory.index([sys.argv[2]], vectors=False)
    assert not report.failed, report.failed
"""


@pytest.fixture
def memory(open_gieok: Open, notes: Notes) -> Gieok:
    opened = open_gieok()
    opened.index([notes(TEXTS)])
    return opened


def together(home: Path, folders: list[Path]) -> None:
    """Index each folder in a process of its own, all at once."""
    runs = [
        subprocess.Popen(
            [sys.executable, "-c", INDEX, str(home), str(folder)], cwd=ROOT, stderr=subprocess.PIPE, text=True
        )
        for folder in folders
    ]
    for run in runs:
        _, error = run.communicate(timeout=120)
        assert run.returncode == 0, error


def test_processes_may_index_one_folder_together(tmp_path: Path, open_gieok: Open, notes: Notes) -> None:
    folder = notes({f"{n}.md": f"메모 {n}" for n in range(60)})
    together(tmp_path / "home", [folder] * 4)
    memory = open_gieok()
    assert memory.status().memories == memory.status().sources == 60
    assert memory.index([folder], vectors=False).skipped == 60


def test_equal_names_in_folders_indexed_together_are_sessions_of_their_own(
    tmp_path: Path, open_gieok: Open, notes: Notes
) -> None:
    folders = [notes({"a.md": f"메모 {n}"}, f"folder{n}") for n in range(4)]
    together(tmp_path / "home", folders)
    assert open_gieok().status().sessions == 4


@pytest.mark.parametrize("part", ["vectors", "words"])
def test_an_index_that_is_deleted_under_an_open_store_is_rebuilt(memory: Gieok, part: str) -> None:
    assert memory.search_index("고유단어1")
    shutil.rmtree(memory.home / part)
    assert memory.search_index("고유단어2")
    memory.rebuild()
    assert memory.find("고유단어3").notices == []
    assert memory.status().vectors.pending == memory.status().words.pending == 0


@pytest.mark.parametrize("filler", [b"\xff", b"\x7f", b"\0"])
@pytest.mark.parametrize("part", ["vectors", "words"])
def test_damage_that_shows_in_a_search_leaves_the_other_leg(
    open_gieok: Open, memory: Gieok, part: str, filler: bytes
) -> None:
    memory.close()
    for path in (memory.home / part).iterdir():
        if path.is_file() and path.suffix not in {".lock", ".json"}:
            path.write_bytes(filler * path.stat().st_size)
    damaged = open_gieok()
    assert damaged.search_index("고유단어1")
    damaged.rebuild()
    assert damaged.find("고유단어2").notices == []


@pytest.mark.parametrize("content", [b"", b"PK\3\4 cut off", b"\xff" * 3000])
def test_damaged_noise_is_made_again(open_gieok: Open, memory: Gieok, content: bytes) -> None:
    memory.search_index("고유단어1")
    memory.close()
    (memory.home / "noise.npz").write_bytes(content)
    assert open_gieok().search_index("고유단어1")
    with np.load(memory.home / "noise.npz") as made:
        assert np.isfinite(made["vectors"]).all()


def test_a_pipe_in_place_of_the_noise_does_not_stop_a_search(open_gieok: Open, memory: Gieok) -> None:
    memory.close()
    (memory.home / "noise.npz").unlink(missing_ok=True)
    os.mkfifo(memory.home / "noise.npz")
    assert open_gieok().search_index("고유단어1")


def test_a_model_that_cannot_be_had_costs_no_vectors(
    open_gieok: Open, memory: Gieok, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unavailable(*_: object) -> None:
        raise EmbedderError("The model is not in the cache.")

    monkeypatch.setattr("indexes.embedder.FastEmbedder.embed_query", unavailable)
    with pytest.raises(EmbedderError):
        memory.rebuild()
    monkeypatch.undo()
    memory.close()
    assert open_gieok().status().vectors.memories == len(TEXTS)


@pytest.mark.parametrize("left", ["nothing", "an empty file"])
def test_a_store_that_vanished_is_not_begun_anew(memory: Gieok, left: str) -> None:
    memory.close()
    for path in memory.home.glob("memories.db*"):
        path.unlink()
    if left == "an empty file":
        (memory.home / "memories.db").touch()
    with pytest.raises(StoreCorruptError, match="missing or empty"):
        Gieok.open(memory.home, Settings())
    shutil.rmtree(memory.home)
    Gieok.open(memory.home, Settings()).close()  # as the message says


def test_an_empty_meta_table_is_damage(memory: Gieok) -> None:
    memory.close()
    store = Store(memory.home / "memories.db")
    with store._db.transaction() as db:
        db.execute("DELETE FROM meta")
    store.close()
    with pytest.raises(StoreCorruptError, match="meta"):
        Gieok.open(memory.home, Settings())


def test_a_lock_that_cannot_be_used_is_named(memory: Gieok, notes: Notes) -> None:
    (memory.home / "store.lock").unlink()
    (memory.home / "store.lock").mkdir()
    with pytest.raises(StoreError, match=r"store\.lock"):
        memory.index([notes({"x.md": "새 메모"}, "x")])


def test_an_empty_home_is_no_folder() -> None:
    with pytest.raises(StoreError, match="empty name"):
        Gieok.open("", Settings())


def test_a_phrase_of_every_memory_is_found_without_vectors(open_gieok: Open, notes: Notes) -> None:
    memory = open_gieok()
    memory.index([notes({f"{n}.md": f"정산 배포 모듈 {n}" for n in range(30)})], vectors=False)
    assert len(memory.search_index("정산 배포")) == 10
    assert memory.search_index("쀍뛣 훩쮁") == []


@pytest.mark.parametrize("settings", [{"embedder": {"model": "none"}}, {"fusion": {"order": "rrf", "depth": 200}}, {}])
def test_many_hits_may_be_asked_for(open_gieok: Open, notes: Notes, settings: dict[str, object]) -> None:
    memory = open_gieok(**settings)
    memory.index([notes({f"{n}.md": f"배포 메모 {n}" for n in range(150)})], vectors=bool(settings.get("fusion")))
    hits = memory.search_index("배포 메모", top_k=150)
    assert len(hits) == 150
    assert len({hit.id for hit in hits}) == 150


@pytest.mark.parametrize("first", ["search", "index"])
def test_an_older_store_that_is_put_back_gets_its_indexes_made_again(
    open_gieok: Open, notes: Notes, tmp_path: Path, first: str
) -> None:
    memory = open_gieok()
    memory.index([notes({"a.md": "고유단어하나 메모"})])
    memory.close()
    shutil.copy(memory.home / "memories.db", tmp_path / "backup.db")
    memory = open_gieok()
    memory.index([notes({f"{n}.md": f"나중단어{n} 메모" for n in range(5)}, "later")])
    memory.close()
    shutil.copy(tmp_path / "backup.db", memory.home / "memories.db")
    memory = open_gieok()
    if first == "search":
        assert [hit.summary for hit in memory.search_index("고유단어하나")] == ["고유단어하나 메모"]
        memory.close()
        memory = open_gieok()
    memory.index([notes({f"{n}.md": f"새단어{n} 메모" for n in range(9)}, "new")])
    for n in range(9):
        assert [hit.summary for hit in memory.search_index(f"새단어{n}")][:1] == [f"새단어{n} 메모"]
    assert memory.search_index("나중단어1") == [] or "나중" not in memory.search_index("나중단어1")[0].summary
    state = memory.status()
    assert (state.memories, state.words.memories, state.vectors.memories) == (10, 10, 10)


def test_who_waits_for_an_index_goes_on_when_others_have_done_its_work(memory: Gieok, notes: Notes) -> None:
    folder = notes({"new.md": "새단어 메모"}, "new")
    done = threading.Event()

    def index() -> None:
        memory.index([folder], vectors=False)
        done.set()

    with memory._home.lock("words"):  # as if others took it again and again
        waiting = threading.Thread(target=index)
        waiting.start()
        with contextlib.closing(Store(memory.home / "memories.db")) as store:
            while store.counts().memories == len(TEXTS):
                time.sleep(0.01)
            leg = TantivyLexical(memory.home / "words", store_id=store.store_id)
            change = store.changes_after(leg.sequence, 9)[-1]
            entries = [_lexical_entry(item) for item in store.memories([change.rid])]
            assert not done.wait(0.6)
            leg.apply(entries, [], change.sequence)
            leg.close()
        assert done.wait(5)
    waiting.join()
    assert memory.search_index("새단어")[0].summary == "새단어 메모"


def test_a_server_sees_that_an_index_was_rebuilt_by_another_process(open_gieok: Open, memory: Gieok) -> None:
    (memory.home / "words" / "manifest.json").write_text("{", encoding="utf-8")
    assert memory.find("고유단어1").notices
    open_gieok().rebuild(vectors=False)
    assert memory.find("고유단어2").notices == []


@pytest.mark.parametrize("part", ["vectors", "words"])
def test_a_rebuild_that_was_killed_is_finished_by_the_next_who_opens(
    open_gieok: Open, memory: Gieok, part: str
) -> None:
    memory.close()
    folder = memory.home / part
    (folder / ".emptying").touch()
    (folder / "manifest.json").unlink()
    again = open_gieok()
    again.index()
    assert again.find("고유단어1").notices == []
    assert again.status().words.memories == again.status().vectors.memories == len(TEXTS)
    assert not (folder / ".emptying").exists()
