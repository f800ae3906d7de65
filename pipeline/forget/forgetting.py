"""One forgetting, step by step: choose, remove and bar, clean every file, look for what is left."""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from indexes.analyzer import analyze_document
from indexes.errors import StoreError
from indexes.manifest import sync_folder
from indexes.store import Store
from indexes.types import Memory
from pipeline.forget.residue import Kind, Pieces, scan, text_pieces, vector_pieces
from pipeline.forget.results import ForgetReport, Forgettable, Residue
from pipeline.home import Home
from pipeline.legs import Legs
from pipeline.notes import OWN_FOLDERS
from pipeline.reflect.folders import folder_of
from pipeline.reflect.memory import STATE, State, locked
from pipeline.settings import Settings
from pipeline.summarizer import summarize
from pipeline.sync import held

_SAME_TEXT = 32
"""Characters from which on a memory with exactly the same text goes, too: see `indexes.forgetting`."""
_BACKUPS = ("memories.db.v*.bak", "memories.db.v*.bak.new", "memories.db.corrupt-*", "memories.db.salvaged-*")


@dataclass(frozen=True, slots=True)
class Choice:
    """What goes: memories with the reason of those that were not named, files by the path of their source."""

    memories: list[Memory]
    also: dict[str, str]
    files: dict[str, str]
    elsewhere: list[str]


@dataclass(slots=True)
class Traces:
    """What is looked for afterwards; taken while it is still there."""

    pieces: Pieces = field(default_factory=dict)
    tokens: set[str] = field(default_factory=set)


class Forgetting:
    """The forgetting of memories of one store."""

    def __init__(self, home: Home, store: Store, legs: Legs, settings: Settings) -> None:
        self._home = home
        self._store = store
        self._legs = legs
        self._wait = settings.store.busy_timeout
        self._diary = folder_of(settings, home.path)

    def choose(self, named: Iterable[Memory]) -> Choice:
        """These memories, others with the same text, and others of a note in the home that holds one of them."""
        chosen = {memory.id: memory for memory in named}
        also: dict[str, str] = {}
        files: dict[str, str] = {}
        elsewhere: set[str] = set()
        queue = list(chosen.values())
        while queue:
            memory = queue.pop()
            beside: list[tuple[Memory, str]] = []
            if len(memory.content) >= _SAME_TEXT:
                beside += [(other, "the same text") for other in self._store.with_content(memory.content)]
            for path in self._store.paths_of(memory.rid):
                name = self._own_name(path)
                if name is None:
                    elsewhere.add(path)
                elif path not in files:
                    files[path] = name
                    beside += [(self._store.by_id(other), f"in {name}") for other in self._store.ids_at(path)]
            for other, reason in beside:
                if other.id not in chosen:
                    chosen[other.id], also[other.id] = other, reason
                    queue.append(other)
        memories = sorted(chosen.values(), key=lambda m: (m.timestamp, m.position, m.rid))
        # A memory that was imported has no file here to look at.
        still = [path for path in sorted(elsewhere) if not path.startswith("import:") and os.path.exists(path)]  # noqa: PTH110
        return Choice(memories, also, files, still)

    def _own_name(self, path: str) -> str | None:
        """The name below the home of a note or diary in it; None for any other file."""
        home = unicodedata.normalize("NFC", os.path.realpath(self._home.path))
        parts = Path(path).relative_to(home).parts if Path(path).is_relative_to(home) else ()
        return "/".join(parts) if len(parts) == 2 and parts[0] in OWN_FOLDERS else None

    def backups(self) -> list[str]:
        """Older copies of the store in the home, which hold what it held then."""
        return sorted(path.name for pattern in _BACKUPS for path in self._home.path.glob(pattern))

    def remove(self, choice: Choice) -> Traces:
        """Take them out of the store and bar them, in one transaction; `clean` must follow. Raises StoreError."""
        traces = self._traces(choice.memories)
        self._clear_proposals(choice)
        with held(self._home.lock("store"), self._wait):
            self._store.forget(choice.memories, choice.files)
        return traces

    def _traces(self, memories: Sequence[Memory]) -> Traces:
        traces = Traces()
        for memory in memories:
            for text in (memory.content, memory.title):
                traces.pieces |= text_pieces(text)
            traces.tokens |= set(analyze_document(f"{memory.title}\n{memory.content}").body)
            kept = self._legs.vectors.stored(memory.rid) if self._legs.vectors is not None else None
            if kept is not None:
                traces.pieces |= vector_pieces(kept[0])
        return traces

    def _clear_proposals(self, choice: Choice) -> None:
        """Rules that were proposed are lines of diaries: open ones are found again from those that stay."""
        folder = self._diary
        if not (folder / STATE).exists():
            return
        with locked(folder):
            state = State.load(folder)
            state.open.clear()
            gone = "\n".join(_plain(memory.content) for memory in choice.memories)
            for target in state.targets.values():
                target.known = [rule for rule in target.known if _plain(rule) not in gone]
                target.declined = [rule for rule in target.declined if _plain(rule) not in gone]
            state.save(folder)

    def clean(self) -> list[str]:
        """Finish what `remove` began, also if that was in another process that died. Notices for the user.

        Deletes the files, writes both indexes anew, and the store at last. Raises StoreError (another process is in the
        way: what is left is done by the next call) and IndexError_.
        """
        due = self._store.due()
        if due is None:
            return []
        try:
            for name in [*due, *self.backups()]:
                (self._home.path / name).unlink(missing_ok=True)
            for folder in (self._home.path, *(self._home.path / name for name in OWN_FOLDERS)):
                if folder.is_dir():
                    sync_folder(folder)
        except OSError as error:
            raise StoreError(
                f"{error.filename} can't be deleted ({error.strerror}). Mend that, then run: gieok index"
            ) from error
        notices = []
        if not self._legs.purge():
            notices.append(
                "All vectors had to go: the model in use has none. Make them again with: gieok rebuild vectors"
            )
        with held(self._home.lock("store"), self._wait):
            self._store.cleaned()
        return notices

    def residue(self, traces: Traces, memories: Sequence[Memory]) -> Iterator[Residue]:
        """What is left of the traces in the home. Raises OSError for a file that can't be read."""
        if self._legs.words is not None:
            for token in self._legs.words.ownerless(sorted(traces.tokens)):
                yield Residue(path="words", what=f"the word {token!r}")
        for memory in memories:
            if self._legs.vectors is not None and self._legs.vectors.stored(memory.rid) is not None:
                yield Residue(path="vectors", what=f"the vectors of {memory.id}")
        yield from scan(self._home.path, traces.pieces, self._alive)

    def _alive(self, piece: bytes, kind: Kind) -> bool:
        if kind == "text":
            return self._store.holds(piece)
        return self._legs.vectors is not None and self._legs.vectors.holds(piece)


def _plain(text: str) -> str:
    return " ".join(unicodedata.normalize("NFC", text).split())


def _shown(choice: Choice) -> list[Forgettable]:
    """The memories of a choice for people."""
    return [
        Forgettable(
            id=memory.id,
            timestamp=memory.timestamp,
            summary=summarize(memory.content, memory.title),
            also=choice.also.get(memory.id),
        )
        for memory in choice.memories
    ]


def report(
    choice: Choice,
    backups: Sequence[str],
    notices: Sequence[str] = (),
    *,
    residue: list[Residue] | None = None,
    dry_run: bool = False,
) -> ForgetReport:
    """What was done, or would be done, for people."""
    return ForgetReport(
        memories=_shown(choice),
        files=sorted(choice.files.values()),
        backups=list(backups),
        elsewhere=choice.elsewhere,
        residue=residue,
        notices=list(notices),
        dry_run=dry_run,
    )
