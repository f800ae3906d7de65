"""What a crash, a second process or the host itself may do while a file is changed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from indexes.errors import HostError
from pipeline.install import files
from pipeline.install.claude_code import Place, install, uninstall

ROOT = Path(__file__).parents[3]

# Runs an install in which the n-th call of a function that touches the disk is the last thing the process does.
KILLED = """
import os, signal, sys
from pathlib import Path
from pipeline.install.claude_code import Place, install, uninstall

left = int(sys.argv[2])

def deadly(name, real, after):
    def call(*args, **kwargs):
        global left
        left -= 1
        if left == 0 and not after:
            os.kill(os.getpid(), signal.SIGKILL)
        try:
            return real(*args, **kwargs)
        finally:
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)
    return call

after = sys.argv[3] == "after"
for name in ("open", "fsync", "fchmod", "replace", "rename", "unlink", "mkdir", "rmdir"):
    setattr(os, name, deadly(name, getattr(os, name), after))
place = Place.of("project", project=Path(sys.argv[1]))
work = install(place, ["gieok"]) if sys.argv[4] == "install" else uninstall(place)
work.carry_out()
"""

SETTINGS = '{\n  "model": "opus",\n  "hooks": {\n    "Stop": []\n  }\n}\n'


def killed(folder: Path, moment: int, when: str, what: str) -> bool:
    """Whether the process got as far as the moment at which it was to die."""
    done = subprocess.run(
        [sys.executable, "-c", KILLED, str(folder), str(moment), when, what], cwd=ROOT, capture_output=True, check=False
    )
    assert done.returncode in (0, -signal.SIGKILL), done.stderr.decode()
    return done.returncode != 0


@pytest.mark.parametrize(("what", "step"), [("install", 4), ("uninstall", 4)])
def test_a_process_that_is_killed_leaves_each_file_old_or_new(tmp_path: Path, what: str, step: int) -> None:
    def prepared(name: str) -> Place:
        place = Place.of("project", project=tmp_path / name)
        place.settings.parent.mkdir(parents=True)
        place.settings.write_text(SETTINGS)
        place.servers.write_text('{"mcpServers": {"a": {"command": "b"}}}')
        if what == "uninstall":
            install(place, ["gieok"]).carry_out()
        return place

    def work(place: Place) -> None:
        (install(place, ["gieok"]) if what == "install" else uninstall(place)).carry_out()

    whole = prepared("whole")
    names = (whole.settings, whole.servers, *(whole.commands / f"{name}.md" for name in ("diary", "reflect", "memory")))
    relative = [path.relative_to(tmp_path / "whole") for path in names]
    before = {name: files.read_bytes(tmp_path / "whole" / name) for name in relative}
    work(whole)
    after = {name: files.read_bytes(tmp_path / "whole" / name) for name in relative}
    assert all(before[name] != after[name] for name in relative)

    rounds, moment, alive = 0, 1, True
    while alive:
        place = prepared(f"round-{moment}")
        root = tmp_path / f"round-{moment}"
        alive = killed(root, moment, "after" if rounds % 2 else "before", what)
        for name in relative:
            assert files.read_bytes(root / name) in (before[name], after[name]), (moment, name)
        work(place)  # the same again finishes it
        assert {name: files.read_bytes(root / name) for name in relative} == after
        rounds, moment = rounds + 1, moment + step
    assert rounds >= 5


def test_many_installs_at_once_are_one(tmp_path: Path) -> None:
    place = Place.of("user", environ={"CLAUDE_CONFIG_DIR": str(tmp_path / "config")})
    place.settings.parent.mkdir()
    place.settings.write_text(SETTINGS)
    code = (
        "import sys, time; from pipeline.install.claude_code import Place, install; "
        "place = Place.of('user'); sys.stdin.read(1); install(place, ['gieok']).carry_out()"
    )
    environment = {**os.environ, "CLAUDE_CONFIG_DIR": str(tmp_path / "config")}
    running = [
        subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, env=environment, stdin=subprocess.PIPE, stderr=-1)
        for _ in range(4)
    ]
    for process in running:
        assert process.stdin is not None
        process.stdin.write(b"!")
        process.stdin.flush()
    for process in running:
        _, said = process.communicate(timeout=60)
        assert process.returncode == 0, said.decode()
    alone = Place.of("user", environ={"CLAUDE_CONFIG_DIR": str(tmp_path / "alone")})
    alone.settings.parent.mkdir()
    alone.settings.write_text(SETTINGS)
    install(alone, ["gieok"]).carry_out()
    assert place.settings.read_bytes() == alone.settings.read_bytes()
    assert place.servers.read_bytes() == alone.servers.read_bytes()
    assert not list(tmp_path.rglob("*.tmp"))


def test_what_the_host_writes_meanwhile_is_not_lost(tmp_path: Path) -> None:
    path = tmp_path / ".claude.json"
    path.write_text('{"starts": 0}')
    writes = iter(range(1, 3))

    def edit(data: bytes | None) -> bytes:
        value = json.loads(data or b"{}")
        if (count := next(writes, None)) is not None:
            path.write_text(json.dumps({"starts": count}))
        return json.dumps({**value, "ours": True}).encode()

    before, after, kept = files.update(path, edit, private=True, keep_backup=True)
    assert json.loads(path.read_bytes()) == {"starts": 2, "ours": True}
    assert (before, after) == (b'{"starts": 2}', path.read_bytes())
    assert kept is not None
    assert files.backups(path) == [kept]
    assert kept.read_bytes() == before


def test_a_file_that_never_rests_is_given_up_and_left(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    path.write_text("0")

    def edit(data: bytes | None) -> bytes:
        path.write_text(str(int(data or b"0") + 1))
        return b"ours"

    with pytest.raises(HostError, match="keeps writing"):
        files.update(path, edit, private=False, keep_backup=True)
    assert path.read_text() == str(files.TRIES)
    assert files.backups(path) == []
    assert [file.name for file in tmp_path.iterdir()] == ["settings.json"]


def test_many_backups_at_once_have_names_of_their_own(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    path.write_text("{}")
    made: list[Path] = []
    threads = [threading.Thread(target=lambda: made.append(files.backup(path, b"{}"))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(made)) == 8
    assert 0 < len(files.backups(path)) <= files.BACKUPS_KEPT
