"""The machine behind a figure: named beside every one."""

from __future__ import annotations

import os
import platform
import sys
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

PACKAGES = ("gieok", "tantivy", "fastembed", "onnxruntime", "numpy", "ir-measures", "bpe-openai")


@dataclass(frozen=True, slots=True)
class Machine:
    """Processor, usable cores, memory in bytes (None where the system does not tell), Python, package versions."""

    system: str
    cpu: str
    cores: int
    memory_bytes: int | None
    python: str
    packages: dict[str, str]
    load_average: float | None
    """Mean number of running processes over the last minute when the command began: what else the machine did."""

    def __str__(self) -> str:
        memory = f", {self.memory_bytes / 2**30:.0f} GiB" if self.memory_bytes else ""
        return f"{self.cpu}, {self.cores} cores{memory}, {self.system}, Python {self.python}"


def this_machine() -> Machine:
    """What runs now. A package that is not installed is named as such."""
    return Machine(
        system=f"{platform.system()} {platform.release()}",
        cpu=_cpu(),
        cores=_cores(),
        memory_bytes=_memory(),
        python=platform.python_version(),
        packages={name: _version(name) for name in PACKAGES},
        load_average=os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
    )


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"


def _cores() -> int:
    if sys.platform == "linux":
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _cpu() -> str:
    info = Path("/proc/cpuinfo")
    if info.is_file():
        for line in info.read_text(encoding="utf-8", errors="replace").splitlines():
            name, _, value = line.partition(":")
            if name.strip() == "model name":
                return value.strip()
    return platform.processor() or platform.machine()


def _memory() -> int | None:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return None
