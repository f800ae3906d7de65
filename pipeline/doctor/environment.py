"""Python, SQLite, the packages, the processor, the settings, the clock."""

from __future__ import annotations

import importlib.metadata as metadata
import json
import os
import platform
import re
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from indexes.errors import ConfigError
from pipeline.doctor.findings import Finding, ok, problem, warn
from pipeline.settings import Settings, user_file

NAMES = ("pipeline", "indexes", "eval")
"""Our top-level packages. The names are common ones."""
OURS = Path(__file__).resolve().parents[2]
OLDEST_SQLITE = (3, 35)
"""RETURNING came with it."""
_OWN_ENVIRONMENT = "pipx install gieok (an environment of its own)"


def check_python() -> Iterator[Finding]:
    """Interpreter and SQLite library."""
    yield ok("python", f"{platform.python_implementation()} {platform.python_version()} in {sys.prefix}")
    library = f"SQLite {sqlite3.sqlite_version}"
    if sqlite3.sqlite_version_info < OLDEST_SQLITE:
        wanted = ".".join(map(str, OLDEST_SQLITE))
        yield problem("sqlite", f"{library} is too old, {wanted} is needed", "Use a newer Python or system SQLite.")
    else:
        yield ok("sqlite", library)


def check_packages() -> Iterator[Finding]:
    """Whether what is installed lies within the bounds that this gieok was tested with."""
    try:
        required = metadata.requires("gieok") or []
    except metadata.PackageNotFoundError:
        yield warn("packages", "gieok itself is not installed, only run from its folder", "pip install --editable .")
        return
    wrong = []
    needs = [need for need in map(Requirement, required) if need.marker is None or need.marker.evaluate({"extra": ""})]
    for need in needs:
        try:
            found = metadata.version(need.name)
        except metadata.PackageNotFoundError:
            wrong.append(f"{need.name} is missing")
            continue
        if not need.specifier.contains(found, prereleases=True):
            wrong.append(f"{need.name} is {found}, needed is {need.specifier}")
    if wrong:
        yield problem("packages", "; ".join(wrong), "pip install --upgrade gieok")
    else:
        yield ok("packages", f"all {len(needs)} requirements of gieok {metadata.version('gieok')} are met")


def check_names() -> Iterator[Finding]:
    """Whether `import pipeline` means our package, here and in other programs of this environment."""
    clash = False
    for name in NAMES:
        for owner in _other_owners(name):
            clash = True
            yield problem("names", f"the package {owner} also installs the module {name!r}", _OWN_ENVIRONMENT)
    for name, place in _imported_from_here().items():
        if place is None or not _within(place, OURS):
            clash = True
            where = place or "nothing"
            yield warn(
                "names",
                f"in this folder Python imports {name!r} from {where}, not from gieok; only `python -m` and scripts"
                " that import gieok are concerned, not the command gieok",
                f"Start them in another folder, rename it, or use {_OWN_ENVIRONMENT}",
            )
    if not clash:
        yield ok("names", f"{', '.join(NAMES)} are those of gieok, in this folder, too")


def _other_owners(name: str) -> list[str]:
    owners = metadata.packages_distributions().get(name, [])
    return sorted({owner for owner in owners if canonicalize_name(owner) != "gieok"})


def _imported_from_here() -> dict[str, str | None]:
    """Where a Python that is started in the current folder finds our names."""
    code = (
        "import importlib.util, json, sys; sys.path[0:0] = ['']\n"
        f"print(json.dumps({{n: (s.origin or next(iter(s.submodule_search_locations or []), None)) if s else None"
        f" for n in {NAMES!r} for s in [importlib.util.find_spec(n)]}}))"
    )
    run = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, timeout=20, check=False)
    found: dict[str, str | None] = json.loads(run.stdout)
    return found


def _within(place: str, folder: Path) -> bool:
    return Path(place).resolve().is_relative_to(folder)


def check_processor() -> Iterator[Finding]:
    """ONNX Runtime, and what of the processor it can use."""
    runtime = f"onnxruntime {metadata.version('onnxruntime')}"
    cores = f"{platform.machine()}, {os.cpu_count()} cores"
    info = Path("/proc/cpuinfo")
    if platform.machine().lower() in ("x86_64", "amd64") and info.is_file():
        flags = set(re.findall(r"\S+", next(iter(re.findall(r"^flags\s*:(.*)$", info.read_text(), re.MULTILINE)), "")))
        fast = sorted(flags & {"avx2", "avx512f", "avx512_vnni", "avx_vnni"})
        if "avx2" not in flags:
            yield warn("processor", f"{cores} without AVX2: embedding is several times slower than it could be")
            return
        cores += f" with {', '.join(fast)}"
    yield ok("processor", f"{runtime}; {cores}")


def check_settings(config: Path | None) -> Iterator[Finding]:
    """Whether the settings can be read."""
    named = config or (Path(os.environ["GIEOK_CONFIG"]) if os.environ.get("GIEOK_CONFIG") else None)
    try:
        Settings.load(config)
    except ConfigError as error:
        yield problem("settings", str(error), "Correct the name or the value; the defaults are used below.")
        return
    path = named or user_file()
    yield ok("settings", f"{path}" if path.is_file() else f"defaults (no {path})")


def check_clock(newest_ms: int | None, store: Path) -> Iterator[Finding]:
    """Whether the time can be right: dates of memories and searches for "yesterday" depend on it."""
    now = time.time()
    said = time.strftime("%Y-%m-%d %H:%M %Z", time.localtime(now))
    written = store.stat().st_mtime if store.exists() else 0.0
    if written > now + 86_400:
        yield warn("clock", f"it is {said}, but the store was written later than that", "Set the clock.")
    elif newest_ms is not None and newest_ms / 1000 > now + 2 * 86_400:
        yield warn("clock", f"it is {said}, and there are memories from the future", "Set the clock, or their dates.")
    else:
        yield ok("clock", said)
