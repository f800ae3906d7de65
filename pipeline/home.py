"""Where a store lives on disk, and the locks that let processes share it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import platformdirs
from filelock import FileLock

from indexes.errors import NoStoreError, StoreCorruptError, StoreError


def default_home(environ: Mapping[str, str] = os.environ) -> Path:
    """`GIEOK_HOME`, else the platform's folder for a user's data."""
    named = environ.get("GIEOK_HOME")
    return Path(named).expanduser() if named else Path(platformdirs.user_data_dir("gieok", appauthor=False))


def named_folder(path: Path | str | None) -> Path:
    """The folder that `path` names, as it is written; the default one for None. Raises StoreError."""
    if path is not None and not str(path):
        raise StoreError("The home folder has an empty name. Name one with --home, or leave the option out.")
    try:
        return Path(path).expanduser() if path is not None else default_home()
    except RuntimeError as error:
        raise StoreError(f"The folder {path} can't be used ({error}). Choose another with --home.") from error


@dataclass(frozen=True, slots=True)
class Home:
    """The folder of one store: the SQLite file, and the two derived indexes that can be deleted at any time."""

    path: Path

    @classmethod
    def create(cls, path: Path | str | None = None) -> Home:
        """Use or make the folder, private to the user. Raises StoreError."""
        folder = named_folder(path)
        try:
            # Only what is new gets its mode: a folder that exists keeps the one its owner chose.
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            home = cls(folder.resolve())
            if home.writable or not home.store.exists():
                for index in (home.words, home.vectors):
                    index.mkdir(mode=0o700, exist_ok=True)
        except OSError as error:
            raise StoreError(
                f"The folder {folder} can't be made or used ({error.strerror}). Choose another with --home."
            ) from error
        return home

    @classmethod
    def existing(cls, path: Path | str | None = None) -> Home:
        """Use the folder if a store is in it, and make nothing otherwise. Raises NoStoreError, StoreError."""
        folder = named_folder(path)
        home = cls(folder.resolve())
        try:
            found = any(file.exists() for file in (home.store, home.words / "manifest.json"))
        except OSError as error:
            raise StoreError(f"The folder {folder} can't be used ({error.strerror}). Mend its permissions.") from error
        if not found:
            raise NoStoreError(
                f"There is no store at {folder}. Make one with: gieok index PATH, or name another --home"
            )
        return cls.create(folder)

    @property
    def writable(self) -> bool:
        """Whether this process may write here: the folder, and the store if there is one."""
        return os.access(self.path, os.W_OK | os.X_OK) and (
            not self.store.exists() or os.access(self.store, os.R_OK | os.W_OK)
        )

    def check(self) -> None:
        """Refuse a folder whose indexes are there and whose store is not: beginning anew would hide the loss."""
        written = [file for file in (self.store, Path(f"{self.store}-wal")) if _size(file) > 0]
        if not written and any((index / "manifest.json").exists() for index in (self.words, self.vectors)):
            raise StoreCorruptError(
                f"The store {self.store} is missing or empty, but its indexes are there. Put a backup of it back; to"
                f" begin anew, delete the folder {self.path}"
            )

    @property
    def store(self) -> Path:
        """The SQLite file: the one thing to back up."""
        return self.path / "memories.db"

    @property
    def words(self) -> Path:
        """The folder of the word index."""
        return self.path / "words"

    @property
    def vectors(self) -> Path:
        """The folder of the vector index."""
        return self.path / "vectors"

    @property
    def noise(self) -> Path:
        """What the model makes of meaningless strings (see `pipeline.evidence`); made again if deleted."""
        return self.path / "noise.npz"

    def lock(self, name: str) -> FileLock:
        """A lock between processes; the system frees it when its holder dies."""
        return FileLock(self.path / f"{name}.lock", mode=0o600)

    def bytes(self, *parts: Path) -> int:
        """Size on disk of these files and folders."""
        total = 0
        for part in parts:
            for file in part.rglob("*") if part.is_dir() else part.parent.glob(part.name + "*"):
                try:
                    total += file.stat().st_size if file.is_file() else 0
                except FileNotFoundError:  # another process has just replaced it
                    continue
        return total


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0
