"""What tests of all packages share."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pipeline import Gieok, Settings

SHARED_DATA = Path(os.environ.get("GIEOK_DATA") or Path(__file__).parents[1] / "../shared/data")


@pytest.fixture(autouse=True)
def _own_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No test sees or touches the settings and stores of the person who runs it."""
    for name in list(os.environ):
        if name.startswith("GIEOK_") and name != "GIEOK_DATA":
            monkeypatch.delenv(name)
    monkeypatch.setenv("GIEOK_HOME", str(tmp_path / "default-home"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "default-config"))


@pytest.fixture
def shared_data() -> Path:
    """The folder of real data, which lives outside the repository."""
    if not SHARED_DATA.is_dir():
        pytest.skip("no real data here: set GIEOK_DATA to its folder")
    return SHARED_DATA


@pytest.fixture
def open_gieok(tmp_path: Path) -> Iterator[Callable[..., Gieok]]:
    """Open stores below tmp_path that are closed at the end; settings as keyword arguments by section."""
    opened: list[Gieok] = []

    def open_(name: str = "home", **sections: object) -> Gieok:
        memory = Gieok.open(tmp_path / name, Settings.model_validate(sections))
        opened.append(memory)
        return memory

    yield open_
    for memory in opened:
        memory.close()


@pytest.fixture
def notes(tmp_path: Path) -> Callable[..., Path]:
    """Write files into a folder of notes: `notes({"a.md": "text"})` gives the folder."""

    def write(files: dict[str, str | bytes], folder: str = "notes") -> Path:
        root = tmp_path / folder
        for name, content in files.items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8"))
        root.mkdir(exist_ok=True)
        return root

    return write
