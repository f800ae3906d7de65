"""The folder of a store: who may read it, what was left in it, how much room there is, and who is at work in it."""

from __future__ import annotations

import os
import re
import shutil
import stat
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pipeline.doctor.findings import Finding, ok, problem, warn
from pipeline.home import Home

_LEFT_AFTER = 3600.0
"""Seconds after which a temporary file belongs to nobody any more."""
_TEMPORARY = re.compile(
    r"manifest\.json\.new|noise\.[0-9a-f]{8}\.npz|.*\.bak\.new|\.tmp[0-9A-Za-z]+|salvage-.*|memories\.db\.salvaged-.*\.new"
)
_KEPT = re.compile(r"memories\.db\.(corrupt-.*|v\d+\.bak|salvaged-.*)")
_ROOM = 100_000_000
_NO_ROOM = 10_000_000
_MANY = 8
_LONG = 6 * 3600.0
_COMMAND = re.compile(r"(^|/)gieok$|^pipeline$")


def open_to_others(home: Path) -> list[Path]:
    """The folder and what is in it that somebody else than the owner may read or write."""
    return [path for path in [home, *sorted(home.rglob("*"))] if not path.is_symlink() and _mode(path) & 0o077]


def _mode(path: Path) -> int:
    try:
        return stat.S_IMODE(path.lstat().st_mode)
    except OSError:
        return 0


def check_permissions(home: Home) -> Iterator[Finding]:
    """Whether the store is its owner's alone, and whether it can be written."""
    if os.name != "posix":
        return
    owner = home.path.stat().st_uid
    # What lies in a closed folder is closed, whatever its own mode.
    exposed = open_to_others(home.path) if _mode(home.path) & 0o077 else []
    if exposed:
        shown = ", ".join(str(path.relative_to(home.path.parent)) for path in exposed[:3])
        more = f" and {len(exposed) - 3} more" if len(exposed) > 3 else ""
        yield warn("permissions", f"others may read {shown}{more}", f"chmod -R go= '{home.path}'", "permissions")
    if owner != os.getuid():
        yield warn(
            "permissions", f"the folder belongs to user {owner}, this is user {os.getuid()}", "Use your own home."
        )
    if not home.writable:
        yield warn(
            "permissions", "the folder can't be written here: it can be searched, and nothing is brought up to date"
        )
    if not exposed and owner == os.getuid() and home.writable:
        yield ok("permissions", f"{home.path} is its owner's alone")


def leftovers(home: Home) -> list[Path]:
    """Temporary files that no process is writing any more."""
    now = time.time()
    found: list[Path] = []
    for folder in (home.path, home.words, home.vectors):
        found.extend(
            path
            for path in (folder.iterdir() if folder.is_dir() else ())
            if _TEMPORARY.fullmatch(path.name) and now - path.lstat().st_mtime > _LEFT_AFTER
        )
    return sorted(found)


def check_leftovers(home: Home) -> Iterator[Finding]:
    """Temporary files of commands that were killed, and copies that were kept on purpose."""
    if left := leftovers(home):
        named = ", ".join(path.name for path in left[:3])
        yield warn(
            "leftovers",
            f"{len(left)} temporary files of killed commands ({named})",
            "gieok doctor --repair",
            "leftovers",
        )
    if kept := sorted(path.name for path in home.path.iterdir() if _KEPT.fullmatch(path.name)):
        yield warn("leftovers", f"kept copies hold memories, too: {', '.join(kept)}", "Delete them when all is well.")
    if not left and not kept:
        yield ok("leftovers", "none")


def check_room(home: Home) -> Iterator[Finding]:
    """Space on the disk."""
    free = shutil.disk_usage(home.path).free
    needed = 2 * home.bytes(home.store, home.words)
    said = f"{free / 1e9:,.1f} GB are free"
    if free < _NO_ROOM:
        yield problem("disk", f"only {free:,} bytes are free", "Free some space.")
    elif free < max(_ROOM, needed):
        yield warn(
            "disk", f"{said}; a backup or rebuild may need {max(_ROOM, needed) / 1e9:,.1f} GB", "Free some space."
        )
    else:
        yield ok("disk", said)


@dataclass(frozen=True, slots=True)
class Process:
    """A running gieok: `age` in seconds; an orphan's parent is gone."""

    pid: int
    command: str
    age: float
    orphan: bool


def gieok_processes(proc: Path = Path("/proc")) -> list[Process]:
    """The other gieok processes of this user, where the system lists them (Linux)."""
    found = []
    try:
        uptime = float((proc / "uptime").read_text().split()[0])
        entries = [entry for entry in proc.iterdir() if entry.name.isdecimal()]
    except OSError:
        return []
    for entry in entries:
        try:
            if int(entry.name) in (os.getpid(), os.getppid()) or entry.stat().st_uid != os.getuid():
                continue
            words = (entry / "cmdline").read_bytes().decode("utf-8", "replace").split("\0")[:-1]
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue  # it has ended
        # `python …/gieok search x` or `python -m pipeline search x`: one of the first words, not any argument
        if not any(_COMMAND.search(word) for word in words[:4]):
            continue
        age = uptime - int(fields[19]) / os.sysconf("SC_CLK_TCK")
        found.append(Process(int(entry.name), " ".join(words)[:80], age, int(fields[1]) == 1))
    return found


def check_processes() -> Iterator[Finding]:
    """Processes of ours that nobody waits for."""
    running = gieok_processes()
    if sys.platform != "linux":
        return
    old = [p for p in running if p.orphan and p.age > _LONG]
    if old or len(running) > _MANY:
        which = old or running
        named = "; ".join(f"{p.pid} ({p.command}, {p.age / 3600:.1f} h)" for p in which[:3])
        yield warn("processes", f"{len(which)} gieok processes are running: {named}", "End those that you don't need.")
    else:
        yield ok("processes", f"{len(running)} other gieok processes are running")


def check_locks(home: Home, proc: Path = Path("/proc/locks")) -> Iterator[Finding]:
    """Who holds a lock now, where the system lists them (Linux). A lock whose holder died is free."""
    if not proc.is_file():
        return
    holders: dict[tuple[str, int], int] = {}
    for line in proc.read_text().splitlines():
        match line.split():
            case [_, "FLOCK", _, _, pid, place, *_]:
                major, minor, inode = place.split(":")
                holders[f"{int(major, 16)}:{int(minor, 16)}", int(inode)] = int(pid)
    held = []
    for lock in [*home.path.glob("*.lock"), *home.words.glob("*.lock"), *home.vectors.glob("*.lock")]:
        entry = lock.stat()
        holder = holders.get((f"{os.major(entry.st_dev)}:{os.minor(entry.st_dev)}", entry.st_ino))
        if holder is not None:
            held.append(f"{lock.name} by process {holder}")
    yield ok("locks", f"held: {', '.join(held)}" if held else "none is held")
