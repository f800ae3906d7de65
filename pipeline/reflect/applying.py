"""Proposals become rules: shown as a diff, written whole or not at all, and only then are entries done."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from indexes.errors import HostError, SourceError, UsageError
from pipeline.install.files import backup, check_writable, read_bytes, replace_atomically
from pipeline.reflect.memory import State, Target, locked, mark
from pipeline.reflect.reading import Diary, read_diary
from pipeline.reflect.results import Applied, Pattern, Reflection
from pipeline.reflect.rules_file import RulesFile, diff


@dataclass(frozen=True, slots=True)
class Change:
    """What a file shall hold, from what it held when the change was worked out."""

    reflection: Reflection
    chosen: tuple[Pattern, ...]
    before: bytes | None
    after: bytes

    @property
    def diff(self) -> str:
        """The change as a unified diff, safe to print."""
        return diff(self.reflection.target, self.before, self.after)


def choose(reflection: Reflection, ids: Sequence[str] = ()) -> tuple[Pattern, ...]:
    """The proposals with these ids; without ids all, but for lines that give orders. Raises UsageError."""
    if not ids:
        return tuple(pattern for pattern in reflection.proposals if not pattern.gives_orders)
    known = {pattern.id: pattern for pattern in reflection.proposals}
    for name in ids:
        if name not in known:
            raise UsageError(f"No proposal has the id {name!r}. See them with: gieok reflect")
    return tuple(known[name] for name in dict.fromkeys(ids))


def change(reflection: Reflection, chosen: Sequence[Pattern]) -> Change:
    """Work out what the rules file will hold. Writes nothing. Raises HostError."""
    path = Path(reflection.target)
    before = read_bytes(path)
    after = RulesFile(str(path), before).merged([pattern.rule for pattern in chosen])
    return Change(reflection, tuple(chosen), before, after)


def apply(planned: Change) -> Applied:
    """Write the rules file, remember the rules, then mark the entries if no proposal is left open.

    In this order: a crash in between leaves entries that count as new and a rule that stands already, so that nothing
    is lost and nothing is proposed twice. Raises HostError if the file was changed meanwhile, SourceError and
    StoreBusyError if the diary folder can't be written; the file then is as it was.
    """
    path, folder = Path(planned.reflection.target), Path(planned.reflection.folder)
    saved = None
    with locked(folder):
        state = State.load(folder)
        _check_folder(folder)
        if planned.after != (planned.before or b""):
            check_writable(path)
            try:
                saved = backup(path, planned.before) if planned.before is not None else None
                written = replace_atomically(path, planned.after, expected=planned.before)
            except OSError as error:
                raise HostError(f"{path} can't be written ({error.strerror}). It is as it was.") from error
            if not written:
                if saved is not None:
                    saved.unlink()
                raise HostError(f"{path} was changed meanwhile, so nothing was written. Run the command again.")
        name = str(path.resolve())
        seen = state.targets.get(name, Target())
        rules = [pattern.rule for pattern in planned.chosen]
        declined = [rule for rule in seen.declined if rule not in rules]
        state.targets[name] = Target(RulesFile(str(path), planned.after).rules(), declined)
        done, left = _answered(state, planned.reflection, planned.chosen, folder)
    return Applied(target=str(path), rules=rules, backup=str(saved) if saved else None, processed=done, left_open=left)


def dismiss(reflection: Reflection, chosen: Sequence[Pattern]) -> Applied:
    """Never propose these again for this file; entries are marked if nothing is left open. Raises as `apply`."""
    folder, name = Path(reflection.folder), str(Path(reflection.target).resolve())
    with locked(folder):
        state = State.load(folder)
        seen = state.targets.get(name, Target())
        declined = dict.fromkeys([*seen.declined, *(pattern.rule for pattern in chosen)])
        state.targets[name] = Target(seen.known, list(declined))
        done, left = _answered(state, reflection, chosen, folder)
    return Applied(target=reflection.target, rules=[], processed=done, left_open=left)


def mark_done(reflection: Reflection) -> Applied:
    """Let the entries of this reflection be done without an answer to its proposals. Raises as `apply`."""
    folder = Path(reflection.folder)
    with locked(folder):
        state = State.load(folder)
        done, _ = _answered(state, reflection, reflection.proposals, folder)
    return Applied(target=reflection.target, rules=[], processed=done, left_open=[])


def _answered(state: State, reflection: Reflection, chosen: Sequence[Pattern], folder: Path) -> tuple[int, list[str]]:
    """Save what is answered, then mark the entries if that was all; how many, and the ids that are left."""
    answered = {pattern.id for pattern in chosen}
    left = [pattern.id for pattern in reflection.proposals if pattern.id not in answered]
    state.open = [item for item in state.open if item.get("id") not in answered]
    state.save(folder)
    return (0 if left else mark(folder, _new(reflection))), left


def _new(reflection: Reflection) -> list[Diary]:
    """The new entries as they were read: one that was written to since stays new."""
    found = []
    for name, digest in zip(reflection.new_files, reflection.new_digests, strict=True):
        try:
            diary = read_diary(Path(reflection.folder) / name)
        except SourceError:
            continue
        if diary.digest == digest:
            found.append(diary)
    return found


def _check_folder(folder: Path) -> None:
    if not os.access(folder, os.W_OK | os.X_OK):
        raise SourceError(f"The diary folder {folder} can't be written, so nothing was changed. Mend its permissions.")
