"""From another tool's store to ours, session by session."""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from filelock import FileLock
from pydantic import Field

from indexes.errors import GieokError, SourceError, UsageError
from indexes.store import Source, Store
from indexes.types import MemoryType
from pipeline.imports.base import Kind, Session, Work, drafts
from pipeline.imports.claude_mem import ClaudeMem
from pipeline.imports.claude_memory_layer import ClaudeMemoryLayer
from pipeline.imports.database import Database, opened
from pipeline.imports.memory_index import MemoryIndex
from pipeline.indexing import BATCH, memories_of
from pipeline.progress import OnProgress, Progress
from pipeline.results import Failure, Result, Timestamp
from pipeline.sources.base import Draft
from pipeline.sources.walker import expanded, identity_of
from pipeline.summarizer import preview
from pipeline.sync import held

KINDS: dict[str, Kind] = {kind.name: kind for kind in (ClaudeMem(), ClaudeMemoryLayer(), MemoryIndex())}

SAMPLES = 3
MAX_SESSION = 200
"""Characters of a session's id: real ones have 36."""


class Sample(Result):
    """A memory as it would be stored."""

    type: MemoryType
    timestamp: Timestamp
    session_id: str
    project: str | None
    title: str
    preview: str


class ImportedStore(Result):
    """A store that was read, and what its schema was taken for."""

    path: str
    layout: str


class ImportReport(Result):
    """What an import did. `rows` counts what was read, by what it is there; the other counts are sessions.

    `empty` sessions hold nothing to remember. In a dry run nothing was written, the counts say what would have been,
    and `samples` are the first memories. `forgotten` counts memories that were left out because the user had them
    forgotten.
    """

    kind: str
    dry_run: bool
    stores: list[ImportedStore]
    sessions: int
    rows: dict[str, int]
    found: int
    indexed: int
    updated: int
    skipped: int
    empty: int
    forgotten: int = 0
    failed: list[Failure]
    notices: list[Failure]
    samples: list[Sample] = Field(default_factory=list)
    memories: int = 0
    vectors_pending: int = 0


@dataclass
class Import:
    """One import: collects what happens. `store` may be missing in a dry run, `lock` is between processes."""

    kind: Kind
    store: Store | None
    lock: FileLock | None
    wait: float
    redact: bool = True
    on_progress: OnProgress | None = None
    stores: list[ImportedStore] = field(default_factory=list)
    rows: Counter[str] = field(default_factory=Counter)
    counts: Counter[str] = field(default_factory=Counter)
    failed: list[Failure] = field(default_factory=list)
    notices: list[Failure] = field(default_factory=list)
    samples: list[Sample] = field(default_factory=list)
    _batch: list[tuple[Source, Sequence[Draft]]] = field(default_factory=list)

    def run(self, path: Path) -> None:
        """Take over the store at `path`, or the stores in that folder.

        SourceError if there is none that can be read; with several, those that can't are reported.
        """
        paths = stores_at(self.kind, path)
        for store in paths:
            try:
                self._store_at(store)
            except SourceError as error:
                if len(paths) == 1:
                    raise SourceError(f"{store} {error}") from error
                self.failed.append(Failure(path=_spelled(store), reason=str(error)))
        if not self.stores:
            raise SourceError(
                f"None of the {len(paths)} stores in {path} can be read. {self.failed[0].path} {self.failed[0].reason}"
            )

    def _store_at(self, path: Path) -> None:
        with opened(path) as database:
            identity = _spelled(identity_of(path))
            work = Work(database.modified, redact=self.redact)
            layout = self.kind.schema(database)
            sessions = self.kind.sessions(database)
            self.stores.append(ImportedStore(path=_spelled(path), layout=layout))
            self.failed += [Failure(path=_spelled(path), reason=problem) for problem in database.problems]
            for number, session in enumerate(sessions):
                self._tell(number, len(sessions))
                self._session(database, session, identity, work)
            self._write()
            self._tell(len(sessions), len(sessions))
        self.rows += work.rows
        self.notices += [Failure(path=_spelled(path), reason=notice) for notice in work.notices()]

    def _tell(self, done: int, total: int) -> None:
        if self.on_progress is not None:
            self.on_progress(Progress("read", done, total))

    def _session(self, database: Database, session: Session, identity: str, work: Work) -> None:
        name = work.line(session.key)[:MAX_SESSION] or "session"
        path = f"import:{self.kind.name}:{identity}#{name}"
        self.counts["sessions"] += 1
        try:
            items = self.kind.read(database, session, work)
            found = drafts(items, kind=self.kind.name, session=name, work=work)
        except GieokError as error:
            self.failed.append(Failure(path=path, reason=str(error)))
            return
        except Exception as error:  # one session's oddity must not cost the others
            reason = f"can't be read: unexpected {type(error).__name__} ({error})"[:300]
            self.failed.append(Failure(path=path, reason=f"{reason}; please report it"))
            return
        self.counts["found"] += len(found)
        self.samples += [_sample(draft) for draft in found[: SAMPLES - len(self.samples)]]
        if not found:
            self.counts["empty"] += 1
            return
        root = f"import:{self.kind.name}:{identity}"
        # The prefix keeps it apart from fingerprints of files, among which indexing looks for files that moved.
        digest = hashlib.sha256(repr(found).encode("utf-8", "replace")).hexdigest()
        mark = f"import:{self.kind.name}:{self.kind.version}:{digest}"
        known = self.store.source(path) if self.store is not None else None
        if known is not None and known.fingerprint == mark:
            self.counts["skipped"] += 1
            return
        self.counts["updated" if known is not None else "indexed"] += 1
        if self.lock is not None:
            self._batch.append((Source(key=path, path=path, root=root, label=name, fingerprint=mark), found))
            if sum(len(each) for _, each in self._batch) >= BATCH:
                self._write()

    def _write(self) -> None:
        if self._batch and self.store is not None and self.lock is not None:
            with held(self.lock, self.wait):
                self.counts["forgotten"] += self.store.write(
                    [(source, memories_of(found, source.key, {})) for source, found in self._batch]
                )
        self._batch = []

    def report(self, *, memories: int = 0, vectors_pending: int = 0, notices: Sequence[Failure] = ()) -> ImportReport:
        """What happened so far."""
        dry_run = self.lock is None
        return ImportReport(
            kind=self.kind.name,
            dry_run=dry_run,
            stores=self.stores,
            sessions=self.counts["sessions"],
            rows=dict(sorted(self.rows.items())),
            found=self.counts["found"],
            indexed=self.counts["indexed"],
            updated=self.counts["updated"],
            skipped=self.counts["skipped"],
            empty=self.counts["empty"],
            forgotten=self.counts["forgotten"],
            failed=self.failed,
            notices=[*self.notices, *notices],
            samples=self.samples if dry_run else [],
            memories=memories,
            vectors_pending=vectors_pending,
        )


def kind_of(name: str) -> Kind:
    """The kind of store with this name. Raises UsageError."""
    if name not in KINDS:
        raise UsageError(f"There is no import from {name!r}. Known: {', '.join(KINDS)}")
    return KINDS[name]


def stores_at(kind: Kind, path: Path) -> list[Path]:
    """The store at `path`, or those in that folder under their usual names. Raises SourceError if there is none."""
    path = expanded(path)
    try:
        if not os.path.lexists(path):
            raise SourceError(f"{path} does not exist")
        if not path.is_dir():
            return [path]
        found = [store for pattern in kind.files for store in sorted(path.glob(pattern)) if store.is_file()]
    except (OSError, ValueError) as error:
        raise SourceError(f"{path} can't be read ({getattr(error, 'strerror', None) or error})") from None
    if not found:
        raise SourceError(f"{path} holds no store of {kind.name} ({', '.join(kind.files)}). Name the file itself")
    return found


def preview_import(kind: str, path: Path) -> ImportReport:
    """What an import into an empty store would do; writes nothing and needs no store."""
    work = Import(kind_of(kind), None, None, 0)
    work.run(path)
    return work.report()


def _spelled(path: Path | str) -> str:
    """A path as text, also where its bytes are no UTF-8: neither JSON nor a store takes anything else."""
    return os.fsencode(path).decode("utf-8", "replace")


def _sample(draft: Draft) -> Sample:
    return Sample(
        type=draft.type,
        timestamp=draft.timestamp,
        session_id=draft.session_id,
        project=draft.project,
        title=draft.title,
        preview=preview(draft.content),
    )
