from __future__ import annotations

import contextlib
import os
import signal
import sqlite3
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from indexes.errors import StoreCorruptError, StoreError, StoreVersionError
from indexes.migrations import MIGRATIONS, back_up, migrate
from indexes.schema import FORGOTTEN, SCHEMA, SCHEMA_VERSION
from indexes.store import Source, Store
from indexes.types import Memory

ROOT = Path(__file__).parents[2]
SCHEMA_1 = [statement for statement in SCHEMA if statement not in FORGOTTEN]


def a_memory(name: str) -> Memory:
    return Memory(
        rid=0, id=name, content=f"배포 {name}", type="insight", timestamp=datetime(2026, 1, 30, tzinfo=UTC),
        session_id="s", position=0, tags=("ops",),
    )  # fmt: skip


def old_store(path: Path, memories: int = 3) -> Path:
    """A store as schema 1 was, with memories in it."""
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("PRAGMA journal_mode = WAL")
        for statement in SCHEMA_1:
            db.execute(statement)
        db.execute("INSERT INTO meta VALUES ('store_id', 'abc'), ('sequence', ?)", (memories,))
        db.execute("INSERT INTO sources VALUES (1, '/a.md', '/a.md', '/', 'a.md', 'f', 0)")
        for n in range(1, memories + 1):
            db.execute(
                "INSERT INTO memories VALUES (?, ?, ?, ?, ?, 'insight', 0, 's', 0, '', NULL, NULL, NULL, NULL,"
                " '[]', '[]', '[]', '{}')",
                (n, n, n, f"mem_{n}", f"배포 {n}"),
            )
            db.execute("INSERT INTO occurrences VALUES (1, ?)", (n,))
        db.execute("PRAGMA user_version = 1")
    return path


def tables(path: Path) -> set[str]:
    with contextlib.closing(sqlite3.connect(path)) as db:
        return {row[0] for row in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}


def version(path: Path) -> int:
    with contextlib.closing(sqlite3.connect(path)) as db:
        return int(db.execute("PRAGMA user_version").fetchone()[0])


@pytest.fixture
def store_1(tmp_path: Path) -> Path:
    return old_store(tmp_path / "memories.db")


@contextlib.contextmanager
def opened(path: Path) -> Iterator[Store]:
    store = Store(path, busy_timeout=20)
    try:
        yield store
    finally:
        store.close()


def test_every_schema_has_a_way_to_the_newest() -> None:
    assert sorted(MIGRATIONS) == list(range(1, SCHEMA_VERSION))


def test_a_migrated_store_has_the_same_schema_as_a_new_one(store_1: Path, tmp_path: Path) -> None:
    for path in (store_1, tmp_path / "new.db"):
        with opened(path):
            pass

    def schema(path: Path) -> set[tuple[str, str]]:
        with contextlib.closing(sqlite3.connect(path)) as db:
            return set(db.execute("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL"))

    assert schema(store_1) == schema(tmp_path / "new.db")
    assert version(store_1) == SCHEMA_VERSION


def test_opening_an_old_store_backs_it_up_and_keeps_everything(store_1: Path) -> None:
    with opened(store_1) as store:
        assert store.counts().memories == 3
        assert store.by_id("mem_2").content == "배포 2"
        assert store.store_id == "abc"  # so that the indexes still fit
        source = Source(key="/b", path="/b", root="/", label="b", fingerprint="f")
        store.write([(source, [a_memory("mem_new")])])
    backup = store_1.with_name("memories.db.v1.bak")
    assert version(backup) == 1
    assert "forgotten" not in tables(backup)
    assert stat.S_IMODE(backup.stat().st_mode) == 0o600
    with contextlib.closing(sqlite3.connect(backup)) as db:
        assert db.execute("SELECT count(*) FROM memories").fetchone() == (3,)
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    assert not backup.with_name("memories.db.v1.bak-wal").exists()  # one file is all there is to put back


def test_the_backup_can_be_put_back(store_1: Path) -> None:
    with opened(store_1):
        pass
    backup = store_1.with_name("memories.db.v1.bak")
    backup.replace(store_1)
    with opened(store_1) as store:
        assert store.counts().memories == 3
    assert backup.exists()


def test_a_new_store_is_backed_up_nowhere(tmp_path: Path) -> None:
    for _ in range(2):
        with opened(tmp_path / "memories.db"):
            pass
    assert not list(tmp_path.glob("*.bak*"))


def test_a_newer_store_is_refused_and_untouched(store_1: Path) -> None:
    with contextlib.closing(sqlite3.connect(store_1)) as db:
        db.execute(f"PRAGMA user_version = {SCHEMA_VERSION + 1}")
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    before = store_1.read_bytes()
    for read_only in (False, True):
        with pytest.raises(
            StoreVersionError, match=rf"schema {SCHEMA_VERSION + 1}.*knows {SCHEMA_VERSION}.*[Uu]pgrade"
        ):
            Store(store_1, read_only=read_only)
    assert store_1.read_bytes() == before


def test_a_store_too_old_to_migrate_is_named(store_1: Path) -> None:
    with contextlib.closing(sqlite3.connect(store_1, isolation_level=None)) as db:
        with pytest.raises(StoreError, match=r"schema 1, which this gieok can't bring up to 9"):
            migrate(db, store_1, target=9, migrations={8: ()})
        assert not db.in_transaction
    assert not list(store_1.parent.glob("*.bak*"))


def test_a_migration_that_fails_changes_nothing(store_1: Path) -> None:
    with contextlib.closing(sqlite3.connect(store_1, isolation_level=None)) as db:
        with pytest.raises(sqlite3.OperationalError):
            migrate(db, store_1, target=3, migrations={1: FORGOTTEN, 2: ("NOT SQL",)})
        assert not db.in_transaction
    assert version(store_1) == 1
    assert "forgotten" not in tables(store_1)


def test_several_steps_are_one_transaction_with_one_backup(store_1: Path) -> None:
    with contextlib.closing(sqlite3.connect(store_1, isolation_level=None)) as db:
        kept = migrate(db, store_1, target=3, migrations={1: ("CREATE TABLE a (x)",), 2: ("CREATE TABLE b (x)",)})
    assert kept == store_1.with_name("memories.db.v1.bak")
    assert {"a", "b"} <= tables(store_1)
    assert [path.name for path in store_1.parent.glob("*.bak*")] == ["memories.db.v1.bak"]


def test_without_room_for_a_backup_nothing_is_changed(store_1: Path) -> None:
    store_1.with_name("memories.db.v1.bak").mkdir()  # a name that can't be had
    with pytest.raises(StoreError, match=r"must be backed up.*nothing was changed"):
        Store(store_1)
    assert version(store_1) == 1
    assert not list(store_1.parent.glob("*.new"))


def test_an_interrupted_backup_gives_way(store_1: Path) -> None:
    store_1.with_name("memories.db.v1.bak.new").write_bytes(b"half of a backup")
    with opened(store_1):
        pass
    assert version(store_1.with_name("memories.db.v1.bak")) == 1


def test_what_lies_in_the_log_is_backed_up(store_1: Path) -> None:
    with contextlib.closing(sqlite3.connect(store_1, isolation_level=None)) as db:
        db.execute("PRAGMA wal_autocheckpoint = 0")
        db.execute("UPDATE memories SET content = '로그에만 있다' WHERE rid = 1")
        back_up(store_1, store_1.with_name("copy"))
    with contextlib.closing(sqlite3.connect(store_1.with_name("copy"))) as db:
        assert db.execute("SELECT content FROM memories WHERE rid = 1").fetchone() == ("로그에만 있다",)


def test_of_many_that_open_an_old_store_one_migrates(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = old_store(tmp_path / "memories.db", memories=2000)
    made: list[Path] = []
    monkeypatch.setattr("indexes.migrations.back_up", lambda a, b: made.append(b) or back_up(a, b))
    failures: list[BaseException] = []
    start = threading.Barrier(8)

    def run() -> None:
        try:
            start.wait()
            with opened(path) as store:
                assert store.counts().memories == 2000
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=run) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert len(made) == 1
    assert version(path) == SCHEMA_VERSION


# Kills itself at the n-th step of what matters: each SQL statement, each fsync and rename.
KILLED = """
import os, signal, sqlite3, sys
from pathlib import Path
left = int(sys.argv[2])
def step():
    global left
    left -= 1
    if left < 0:
        os.kill(os.getpid(), signal.SIGKILL)
def stepping(function):
    def wrapped(*a, **k):
        step()
        result = function(*a, **k)
        step()
        return result
    return wrapped
os.fsync, os.replace = stepping(os.fsync), stepping(os.replace)
Path.replace = stepping(Path.replace)
class Connection(sqlite3.Connection):
    execute = stepping(sqlite3.Connection.execute)
    backup = stepping(sqlite3.Connection.backup)
connect = sqlite3.connect
sqlite3.connect = lambda *a, **k: connect(*a, **{**k, "factory": Connection})
from indexes.store import Store
Store(Path(sys.argv[1])).close()
print("done")
"""


def test_a_kill_at_any_step_leaves_the_old_store_or_the_new_one(tmp_path: Path) -> None:
    seen = set()
    for step in range(200):
        folder = tmp_path / str(step)
        folder.mkdir()
        path = old_store(folder / "memories.db")
        run = subprocess.run(
            [sys.executable, "-c", KILLED, str(path), str(step)], cwd=ROOT, capture_output=True, text=True, check=False
        )
        assert run.returncode in (0, -signal.SIGKILL), run.stderr
        found = version(path)
        seen.add(found)
        assert ("forgotten" in tables(path)) == (found == SCHEMA_VERSION)
        if found == SCHEMA_VERSION:
            assert version(path.with_name("memories.db.v1.bak")) == 1
        with opened(path) as store:
            assert store.counts().memories == 3
        assert not list(folder.glob("*.new"))
        if run.returncode == 0:
            break
    else:
        pytest.fail("never done")
    assert seen == {1, SCHEMA_VERSION}
    assert step > 20


def test_a_file_of_another_program_is_refused_and_untouched(tmp_path: Path) -> None:
    path = tmp_path / "memories.db"
    with contextlib.closing(sqlite3.connect(path)) as db:
        db.execute("CREATE TABLE songs (title)")
        db.commit()
    before = path.read_bytes()
    for user_version in (0, 1):
        with pytest.raises(StoreCorruptError, match=r"not a store of gieok.*--home"):
            Store(path)
        assert path.read_bytes()[100:] == before[100:]
        with contextlib.closing(sqlite3.connect(path)) as db:
            db.execute(f"PRAGMA user_version = {user_version + 1}")


def test_a_store_is_private_from_its_first_moment(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        with opened(tmp_path / "memories.db"):
            modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()}
    finally:
        os.umask(before)
    assert modes.pop("memories.db") == 0o600
    assert set(modes.values()) <= {0o600}


def test_an_old_store_that_can_only_be_read_says_so(store_1: Path) -> None:
    with pytest.raises(StoreVersionError, match=r"schema 1.*can't be written"):
        Store(store_1, read_only=True)
    assert version(store_1) == 1
