"""Finds the files to index: in a fixed order, each once, and never outside the folders that were named."""

from __future__ import annotations

import os
import stat
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pipeline.sources.ignore import Ignored

SUFFIXES = frozenset(
    {".md", ".markdown", ".mdx", ".mkd", ".txt", ".text", ".rst", ".org", ".adoc", ".asciidoc", ".jsonl", ".ndjson"}
)
"""What is taken from a folder: notes and transcripts, not source code. A file named by itself may have any name."""

_KINDS = {
    stat.S_IFIFO: "a named pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


@dataclass(frozen=True, slots=True)
class Found:
    """A file to index.

    `path` opens it. `identity` is its real absolute path in NFC: the same however it was spelled. `label` is its path
    below `root`, in NFC and with `/`; a file named by itself has its folder as root.
    """

    path: Path
    identity: str
    root: str
    label: str


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that was named or found and is not indexed, and why. `identity` is as in `Found`."""

    path: str
    reason: str
    identity: str


@dataclass
class Walk:
    """Iterate it once. Afterwards `passed_over` counts the files in folders whose suffix is not a note's."""

    paths: Sequence[Path]
    max_bytes: int
    passed_over: int = 0
    _roots: list[Path] = field(default_factory=list)
    _files: dict[str, str] = field(default_factory=dict)
    _folders: set[str] = field(default_factory=set)

    def __iter__(self) -> Iterator[Found | Problem]:
        named = [(path, _real(path)) for path in self.paths]
        self._roots = [real for _, real in named if real is not None]
        for path, real in named:
            if real is None:
                yield Problem(repr(str(path)), "is no path: it holds a NUL character", "")
            else:
                yield from self._named(path, real)

    def _named(self, path: Path, real: Path) -> Iterator[Found | Problem]:
        try:
            status = real.stat()
        except OSError as error:
            yield _problem(path, _unreadable(error))
            return
        if stat.S_ISDIR(status.st_mode):
            yield from self._below(real)
        else:
            yield from self._file(real, real.parent, status)

    def _below(self, root: Path) -> Iterator[Found | Problem]:
        # A stack of half-walked folders and not recursion: folders may nest deeper than Python's stack.
        stack = [self._enter(root, Ignored.above(root))]
        while stack:
            entries, rules = stack[-1]
            entry = next(entries, None)
            if entry is None:
                stack.pop()
            elif isinstance(entry, Problem):
                yield entry
            elif not entry.name.startswith("."):
                path = Path(entry.path)
                if not entry.is_dir(follow_symlinks=False):
                    if not rules.covers(path, is_folder=False):
                        yield from self._entry(entry, path, root)
                elif not rules.covers(path, is_folder=True):
                    stack.append(self._enter(path, rules))

    def _enter(self, folder: Path, rules: Ignored) -> tuple[Iterator[os.DirEntry[str] | Problem], Ignored]:
        """What is in the folder, in order, and the rules for it; nothing if it has been walked before."""
        if str(folder) in self._folders:
            return iter(()), rules
        self._folders.add(str(folder))
        try:
            with os.scandir(folder) as scan:
                entries = sorted(scan, key=lambda entry: (_nfc(entry.name), entry.name))
        except OSError as error:
            return iter((_problem(folder, _unreadable(error)),)), rules
        return iter(entries), rules.entering(folder)

    def _entry(self, entry: os.DirEntry[str], path: Path, root: Path) -> Iterator[Found | Problem]:
        try:
            if entry.is_symlink():
                yield from self._link(path)
                return
            status = entry.stat(follow_symlinks=False)
        except OSError as error:
            yield _problem(path, _unreadable(error))
            return
        if stat.S_ISREG(status.st_mode) and path.suffix.lower() not in SUFFIXES:
            self.passed_over += 1
        else:
            yield from self._file(path, root, status)

    def _link(self, path: Path) -> Iterator[Problem]:
        """A link never adds a file: what it points to inside a root is found there, the rest is refused."""
        real = Path(os.path.realpath(path))
        exists = real.exists()
        if path.suffix.lower() not in SUFFIXES and not real.is_dir():
            self.passed_over += 1
        elif not exists:
            yield _problem(path, f"is a symbolic link to nothing ({real})")
        elif not any(real == root or root in real.parents for root in self._roots):
            yield _problem(path, f"is a symbolic link that leaves the folder; to index its target, name {real}")

    def _file(self, path: Path, root: Path, status: os.stat_result) -> Iterator[Found | Problem]:
        identity = identity_of(path)
        if not _is_unicode(identity):
            yield _problem(path, "has a name that is not Unicode; rename it")
            return
        first = self._files.get(identity)
        if first == str(path):
            return
        if first is not None:
            reason = f"has the same name as {first} but for its Unicode form, so only that one is indexed; rename one"
            yield Problem(str(path), reason, identity)
            return
        self._files[identity] = str(path)
        if not stat.S_ISREG(status.st_mode):
            kind = _KINDS.get(stat.S_IFMT(status.st_mode), "something else")
            yield Problem(str(path), f"is {kind}, not a file; it was not opened", identity)
        elif status.st_size > self.max_bytes:
            yield Problem(str(path), too_large(status.st_size, self.max_bytes), identity)
        else:
            yield Found(path, identity, identity_of(root), _nfc(path.relative_to(root).as_posix()))


def walk(paths: Sequence[Path], *, max_bytes: int) -> Walk:
    """The files at and below `paths`, in the order of `paths` and then of their NFC names.

    In folders, hidden and git-ignored names are left out and so are files that are no notes (`SUFFIXES`); a path
    that is named is always taken. What can't be read, is no file, leaves the folder or has more than `max_bytes`
    becomes a `Problem`; the rest goes on.
    """
    return Walk(paths, max_bytes)


def expanded(path: Path) -> Path:
    """`~` as the home folder; a path with an unknown user stays as it is, and is then found missing."""
    try:
        return path.expanduser()
    except RuntimeError:
        return path


def identity_of(path: Path) -> str:
    """The real absolute path in NFC, so that one file has one identity however its path is spelled."""
    return _nfc(os.path.realpath(path))


def too_large(size: int, limit: int) -> str:
    """Why a file of `size` bytes is left out."""
    return f"has {size:,} bytes, more than sources.max_file_bytes = {limit:,}; raise it in config.toml to index it"


def _real(path: Path) -> Path | None:
    try:
        return Path(os.path.realpath(path))
    except ValueError:  # a NUL character
        return None


def _problem(path: Path, reason: str) -> Problem:
    """About `path` itself: a link's identity is here not that of its target."""
    identity = _nfc(str(Path(os.path.realpath(path.parent)) / path.name))
    return Problem(_escaped(str(path)), reason, _escaped(identity))


def _is_unicode(text: str) -> bool:
    return _escaped(text) == text


def _escaped(text: str) -> str:
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def _unreadable(error: OSError) -> str:
    if isinstance(error, FileNotFoundError):
        return "does not exist"
    return f"can't be read ({error.strerror or type(error).__name__})"


def _nfc(text: str) -> str:
    return unicodedata.normalize("NFC", text)
