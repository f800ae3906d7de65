"""From paths to the store: find files, read what changed, write it, and forget what is gone."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from filelock import FileLock

from indexes.errors import SourceError
from indexes.store import Source, Store
from indexes.types import Memory
from pipeline.ids import draft_id
from pipeline.progress import OnProgress, Progress
from pipeline.results import Failure
from pipeline.sources.base import Draft
from pipeline.sources.read import fingerprint, load, parse
from pipeline.sources.walker import Found, Problem, identity_of, walk
from pipeline.sync import held

BATCH = 2_000
"""Memories in one transaction: each commit waits for the disk."""


@dataclass
class Tally:
    """What happened to files, and to what they hold."""

    indexed: int = 0
    updated: int = 0
    skipped: int = 0
    removed: int = 0
    moved: int = 0
    passed_over: int = 0
    forgotten: int = 0
    failed: list[Failure] = field(default_factory=list)
    notices: list[Failure] = field(default_factory=list)


def index_paths(
    store: Store,
    paths: Sequence[Path],
    lock: FileLock,
    *,
    wait: float,
    max_file_bytes: int,
    redact: bool,
    on_progress: OnProgress | None = None,
) -> Tally:
    """Make the store hold what the files and folders at `paths` hold now.

    Each write holds `lock`, which is between processes; one waits for it up to `wait` seconds (StoreBusyError).
    With `redact` secrets are masked before anything is written.
    A file that can't be read is reported and keeps what is stored of it; a file that is gone leaves the store.
    """
    return _Indexing(store, lock, wait, max_file_bytes, redact, on_progress).run(paths)


class _Indexing:
    def __init__(
        self,
        store: Store,
        lock: FileLock,
        wait: float,
        max_file_bytes: int,
        redact: bool,
        on_progress: OnProgress | None,
    ) -> None:
        self._store = store
        self._lock = lock
        self._wait = wait
        self._max_file_bytes = max_file_bytes
        self._redact = redact
        self._on_progress = on_progress
        self._tally = Tally()
        self._batch: list[tuple[Source, Sequence[Draft]]] = []
        self._seen: set[str] = set()
        self._unread: set[str] = set()
        self._keys: set[str] = set()
        self._sessions: dict[str, str] = {}

    def run(self, paths: Sequence[Path]) -> Tally:
        found: list[Found] = []
        files = walk(paths, max_bytes=self._max_file_bytes)
        for item in files:
            if isinstance(item, Problem):
                self._tally.failed.append(Failure(path=item.path, reason=item.reason + self._kept(item.identity)))
                self._unread.add(item.identity)
            else:
                found.append(item)
                self._seen.add(item.identity)
        self._tally.passed_over = files.passed_over
        for number, file in enumerate(found):
            self._tell(number, len(found))
            self._take(file)
        self._write()
        self._tell(len(found), len(found))
        self._forget(paths)
        return self._tally

    def _tell(self, done: int, total: int) -> None:
        if self._on_progress is not None:
            self._on_progress(Progress("read", done, total))

    def _take(self, file: Found) -> None:
        try:
            data = load(file.path, max_bytes=self._max_file_bytes)
            mark = fingerprint(data, file.label, redact=self._redact)
            known = self._store.source(file.identity)
            if known is not None and known.fingerprint == mark:
                self._tally.skipped += 1
                return
            moved_from = None if known else self._moved(mark)
            reading = parse(data, file, redact=self._redact)
        except SourceError as error:
            self._tally.failed.append(Failure(path=str(file.path), reason=str(error)))
            return
        except OSError as error:
            reason = error.strerror or type(error).__name__
            self._tally.failed.append(Failure(path=str(file.path), reason=f"can't be read ({reason})"))
            return
        except Exception as error:  # a reader's mistake must not cost the other files
            reason = f"can't be read: unexpected {type(error).__name__} ({error})"[:300]
            self._tally.failed.append(Failure(path=str(file.path), reason=f"{reason}; please report it"))
            return
        before = known or moved_from
        key = before.key if before else self._store.free_key(file.identity)
        source = Source(key=key, path=file.identity, root=file.root, label=file.label, fingerprint=mark)
        self._tally.notices.extend(Failure(path=str(file.path), reason=notice) for notice in reading.notices)
        self._batch.append((source, reading.drafts))
        self._keys.add(key)
        if known:
            self._tally.updated += 1
        elif moved_from:
            self._tally.moved += 1
            self._tally.skipped += 1
        else:
            self._tally.indexed += 1
        if sum(len(drafts) for _, drafts in self._batch) >= BATCH:
            self._write()

    def _session(self, session: str, source: Source) -> str:
        """A session that is only a file's name belongs to that file: the same name elsewhere gets another session."""
        label = PurePosixPath(source.label)
        if session not in (source.label, label.stem):
            return session
        folder = f"{Path(source.root).name}/{label}"
        digest = hashlib.sha256(source.key.encode()).hexdigest()[:6]
        for name in (session, folder, f"{folder}#{digest}"):
            if self._sessions.setdefault(name, source.key) == source.key and not self._store.session_elsewhere(
                name, source.key
            ):
                return name
        return f"{folder}#{digest}"

    def _moved(self, mark: str) -> Source | None:
        """The source that was read from the same bytes and whose file is gone: this file is that one, moved."""
        for source in self._store.sources_like(mark):
            if source.key not in self._keys and source.path not in self._seen and not os.path.exists(source.path):  # noqa: PTH110 - never raises
                return source
        return None

    def _write(self) -> None:
        if not self._batch:
            return
        with held(self._lock, self._wait):  # two processes must not give one session name to two files
            self._tally.forgotten += self._store.write(
                [(source, self._memories(source, drafts)) for source, drafts in self._batch]
            )
        self._batch = []

    def _memories(self, source: Source, drafts: Sequence[Draft]) -> list[Memory]:
        sessions = {d.session_id: self._session(d.session_id, source) for d in drafts if d.namespace is None}
        return memories_of(drafts, source.key, sessions)

    def _forget(self, paths: Sequence[Path]) -> None:
        """Drop the sources under `paths` whose files are gone or no longer count (ignored since, outside now).

        What could not be read (a missing root, a folder without permission) says nothing of the files in it.
        """
        gone = {
            source.key: source
            for path in paths
            for source in self._store.sources_under(identity_of(path))
            if source.path not in self._seen and not self._hidden(source.path)
        }
        if gone:
            self._store.write([], removed=gone.values())
            self._tally.removed = len(gone)

    def _kept(self, identity: str) -> str:
        """What stays of a path that can't be read, and how to drop it if that is meant."""
        kept = len(self._store.sources_under(identity)) if identity else 0
        files = f"{kept:,} files" if kept > 1 else "file"
        return f"; the {files} indexed from it stay (to drop what is gone, index the folder above)" if kept else ""

    def _hidden(self, path: str) -> bool:
        return path in self._unread or any(str(parent) in self._unread for parent in Path(path).parents)


def memories_of(drafts: Sequence[Draft], key: str, sessions: Mapping[str, str]) -> list[Memory]:
    """The memories that a source's drafts make, each id once; `sessions` gives some sessions another name."""
    ids = {draft.place: draft_id(draft, key) for draft in drafts}
    memories: dict[str, Memory] = {}
    for position, draft in enumerate(drafts):
        memory_id = ids[draft.place]
        memories.setdefault(
            memory_id,
            Memory(
                rid=0,
                id=memory_id,
                content=draft.content,
                type=draft.type,
                timestamp=draft.timestamp,
                session_id=sessions.get(draft.session_id, draft.session_id),
                position=position,
                title=draft.title,
                parent_id=ids.get(draft.parent) if draft.parent is not None else None,
                project=draft.project,
                team_id=draft.team_id,
                task_id=draft.task_id,
                tags=draft.tags,
                files=draft.files,
                tools=draft.tools,
                metadata=draft.metadata,
            ),
        )
    return list(memories.values())
