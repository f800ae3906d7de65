"""Every error that gieok raises on purpose.

    GieokError                  something the user can act on; `str()` is one line: what was wrong, what to do
    ├── UsageError              the call itself was wrong: an option, a date, a filter
    │   ├── ConfigError         a setting: named by its dotted name
    │   ├── UnknownIdError      no memory has this id
    │   └── AmbiguousIdError    the prefix fits several ids, which are listed
    ├── SourceError             a file or folder that cannot be read; the others go on
    ├── StoreError              the store itself
    │   ├── StoreBusyError      another process holds the write lock for too long
    │   ├── NoStoreError        there is none at this place, and reading makes none
    │   ├── StoreCorruptError   SQLite says that the file is damaged
    │   └── StoreVersionError   written by a newer gieok
    ├── IndexError_             a derived index: words or vectors
    │   ├── IndexMismatchError  built with another analyzer, model or schema
    │   └── IndexCorruptError   its files are damaged; the store can rebuild them
    ├── EmbedderError           the embedding model can't be loaded or run; word search goes on
    ├── DiaryError              a diary entry can't be written; carries its text, so that nothing is lost
    ├── HostError               an agent's own file (its settings) can't be read, or not be changed safely
    └── MissingExtraError       an optional package is needed; carries the install command

Exit codes of the command line follow the tree: every GieokError ends in 2.
"""

from __future__ import annotations

from collections.abc import Sequence


class GieokError(Exception):
    """Base of the tree. The message is one line for people: what was wrong with which input, what to do next."""


class UsageError(GieokError):
    """The call was wrong."""


class ConfigError(UsageError):
    """A setting has an unknown name or a bad value; the message carries the dotted name."""


class UnknownIdError(UsageError):
    """No memory has this id or prefix."""

    def __init__(self, memory_id: str) -> None:
        super().__init__(f"No memory has the id {memory_id!r}. Find ids with: gieok search QUERY")
        self.memory_id = memory_id


class AmbiguousIdError(UsageError):
    """A prefix that fits more than one memory."""

    def __init__(self, prefix: str, matches: Sequence[str]) -> None:
        shown = ", ".join(matches[:5]) + (" …" if len(matches) > 5 else "")
        super().__init__(f"The id {prefix!r} fits several memories ({shown}). Give more characters.")
        self.prefix = prefix
        self.matches = tuple(matches)


class SourceError(GieokError):
    """One input cannot be read. Indexing reports it and goes on with the others."""


class StoreError(GieokError):
    """The store (SQLite) cannot do what was asked."""


class StoreBusyError(StoreError):
    """Another process has been writing for longer than we wait."""


class NoStoreError(StoreError):
    """There is no store at the place that was named; it may be mistyped."""


class StoreCorruptError(StoreError):
    """SQLite reports a damaged file."""


class StoreVersionError(StoreError):
    """The store was written by a newer gieok."""


class IndexError_(GieokError):  # noqa: N801, N818 - IndexError is a builtin
    """A derived index (words or vectors) has a problem; the store is not touched by it."""


class IndexMismatchError(IndexError_):
    """A derived index was built with another analyzer, model or schema."""


class IndexCorruptError(IndexError_):
    """A derived index has damaged or missing files."""


class EmbedderError(GieokError):
    """The embedding model cannot be loaded or run. Word search is not concerned."""


class DiaryError(GieokError):
    """A diary entry can't be written. `text` is what its file would have held, if there was anything to write."""

    def __init__(self, message: str, text: str = "") -> None:
        super().__init__(message)
        self.text = text


class HostError(GieokError):
    """A file of another program, such as an agent's settings, can't be read or safely changed: it is as it was."""


class MissingExtraError(GieokError):
    """An optional package is missing."""

    def __init__(self, package: str, extra: str) -> None:
        super().__init__(f"This needs the package {package!r}. Install it with: pip install 'gieok[{extra}]'")
        self.package = package
        self.extra = extra
