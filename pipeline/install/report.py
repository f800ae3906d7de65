"""What an installation changed, or would change, as results that can be handed out."""

from __future__ import annotations

import difflib
from typing import Literal

from pipeline.install.claude_code import Change, Scope, Work
from pipeline.install.merge import BOM
from pipeline.plaintext import clean
from pipeline.results import Result
from pipeline.sources.redact import masked

CONTEXT = 2
"""Unchanged lines that a diff shows around a change."""


class FileChange(Result):
    """A file that was, or would be, created, changed or removed; `diff` is unified, with secrets masked.

    `backup` holds what it was.
    """

    path: str
    what: Literal["created", "changed", "removed"]
    backup: str | None = None
    diff: str


class InstallReport(Result):
    """What `install` or `uninstall` did, or with `dry_run` would do. `notices`: what stays, what hinders."""

    host: str
    scope: Scope
    dry_run: bool
    changes: list[FileChange]
    notices: list[str]


def perform(work: Work, scope: Scope, *, dry_run: bool) -> InstallReport:
    """Carry the work out, or only look what it would do. Raises HostError."""
    changes = work.preview() if dry_run else work.carry_out()
    return InstallReport(
        host="claude-code",
        scope=scope,
        dry_run=dry_run,
        changes=list(map(_shown, changes)),
        notices=work.notices(),
    )


def _shown(change: Change) -> FileChange:
    return FileChange(
        path=str(change.path),
        what="created" if change.before is None else "removed" if change.after is None else "changed",
        backup=None if change.backup is None else str(change.backup),
        diff=_diff(change),
    )


def _diff(change: Change) -> str:
    before, after = _lines(change.before), _lines(change.after)
    old, new = (clean(str(change.path)) if side is not None else "/dev/null" for side in (change.before, change.after))
    # The neighbours of a change may be the keys of another server.
    return masked("\n".join(difflib.unified_diff(before, after, old, new, n=CONTEXT, lineterm="")))


def _lines(data: bytes | None) -> list[str]:
    return (
        clean((data or b"").decode("utf-8", "replace").removeprefix(BOM)).removesuffix("\n").split("\n") if data else []
    )
