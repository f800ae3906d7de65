"""What a derived index remembers about itself, and the lock that its writers share.

The manifest is one small JSON file in the index's folder, replaced atomically: a reader sees the old or the new one. It
is written last, so that all it names is already on the disk.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from filelock import FileLock, Timeout

from indexes.errors import IndexCorruptError, IndexError_, IndexMismatchError, StoreBusyError

MANIFEST = "manifest.json"
LOCK = "write.lock"
_FRESH = f"{MANIFEST}.new"
LOCK_SECONDS = 30.0
"""How long a writer waits for another: several times a commit of 20,000 memories on a busy machine (4.6 s)."""

REPAIR = "Rebuild it from the store with: gieok rebuild"


@dataclass(frozen=True, slots=True)
class Manifest:
    """`identity` says what the index was built with and never changes; `counts` belong to the kind of index."""

    sequence: int
    identity: Mapping[str, str | int]
    counts: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def read(cls, folder: Path) -> Manifest | None:
        """The manifest of `folder`; None if there is none yet. Raises IndexCorruptError for one that is not ours."""
        path = folder / MANIFEST
        try:
            data = json.loads(path.read_bytes())
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as error:
            raise IndexCorruptError(f"The index file {path} cannot be read ({error}). {REPAIR}") from error
        match data:
            case {"sequence": int(sequence), "identity": dict(identity), "counts": dict(counts)} if sequence >= 0:
                if all(isinstance(count, int) and count >= 0 for count in counts.values()):
                    return cls(sequence, identity, counts)
        raise IndexCorruptError(f"The index file {path} is damaged. {REPAIR}")

    def write(self, folder: Path) -> None:
        """Replace the manifest of `folder`; durable on return. The caller holds the write lock."""
        data = {"sequence": self.sequence, "identity": dict(self.identity), "counts": dict(self.counts)}
        fresh = folder / _FRESH
        try:
            with fresh.open("w", encoding="utf-8") as file:
                json.dump(data, file, ensure_ascii=False, indent=1)
                file.flush()
                os.fsync(file.fileno())
            fresh.replace(folder / MANIFEST)
            _keep_private(folder)
            sync_folder(folder)
        except OSError as error:
            raise unwritable(folder, error) from error

    def check(self, folder: Path, identity: Mapping[str, str | int]) -> None:
        """Raise IndexMismatchError unless the index was built with this `identity`."""
        for name in sorted({*identity, *self.identity}):
            found, wanted = self.identity.get(name), identity.get(name)
            if found != wanted:
                raise IndexMismatchError(
                    f"The index in {folder} was built with {name} {found!r}, but {wanted!r} is in use. {REPAIR}"
                )


def open_manifest(folder: Path, identity: Mapping[str, str | int], *, read_only: bool = False) -> Manifest:
    """The manifest of the index in `folder`, made (sequence 0) if the folder holds no index yet.

    Raises IndexMismatchError for an index built with another `identity`, IndexCorruptError for a damaged one and
    StoreBusyError if a writer holds the folder for too long; with `read_only`, IndexError_ where there is none.
    """
    found = Manifest.read(folder)
    if found is None and read_only:
        raise IndexError_(f"There is no index in {folder}, and none can be made where nothing can be written.")
    if found is None:
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise unwritable(folder, error) from error
        with write_lock(folder):
            found = Manifest.read(folder)
            if found is None:
                left = sorted(path.name for path in folder.iterdir() if path.name not in {LOCK, _FRESH})
                if left:
                    raise IndexCorruptError(
                        f"The index in {folder} has files ({left[0]}, …) but no {MANIFEST}. {REPAIR}"
                    )
                found = Manifest(0, identity)
                found.write(folder)
    found.check(folder, identity)
    return found


@contextmanager
def write_lock(folder: Path, seconds: float = LOCK_SECONDS) -> Iterator[None]:
    """Be the only writer of `folder`, after waiting up to `seconds`. Raises StoreBusyError.

    The system releases the lock of a process that dies.
    """
    lock = FileLock(folder / LOCK, mode=0o600)
    try:
        lock.acquire(timeout=seconds)
    except Timeout as error:
        raise StoreBusyError(
            f"Another process has been writing to {folder} for more than {seconds:g} s. Try again when it is done."
        ) from error
    except OSError as error:
        raise unwritable(folder, error) from error
    try:
        yield
    finally:
        lock.release()


def _keep_private(folder: Path) -> None:
    """Let only the owner read the files of an index: tantivy makes its own as the umask says."""
    for file in folder.iterdir():
        with contextlib.suppress(FileNotFoundError):  # a reader's lock, a segment that was merged away
            file.chmod(0o600)


def sync_folder(folder: Path) -> None:
    """Make new and renamed files of `folder` durable."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def unwritable(folder: Path, error: BaseException) -> IndexError_:
    """What to raise when the index in `folder` could not be written."""
    return IndexError_(
        f"The index in {folder} cannot be written ({error}). Check free space and permissions, then try again; "
        "the store has lost nothing. If it stays so: gieok rebuild"
    )
