"""What the doctor says: one line about each thing it looked at."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Literal, TypeAlias, get_args

from pipeline.results import Result

Level: TypeAlias = Literal["ok", "warn", "problem"]
LEVELS: tuple[Level, ...] = get_args(Level)

Part: TypeAlias = Literal["store", "words", "vectors", "permissions", "leftovers", "forget"]
"""What `--repair` can do something about."""


class Finding(Result):
    """`check` is what was looked at, `what` what was found, `mend` the command or step that mends it.

    A warning is something to know that harms nothing yet; a problem keeps gieok from working as it should. `part` says
    that `gieok doctor --repair` mends it.
    """

    level: Level
    check: str
    what: str
    mend: str | None = None
    part: Part | None = None


class Diagnosis(Result):
    """All findings about the store in `home`."""

    home: str
    version: str
    findings: list[Finding]

    @property
    def worst(self) -> Level:
        """The gravest level of all."""
        return max((finding.level for finding in self.findings), key=LEVELS.index, default="ok")

    def broken(self, *parts: Part) -> list[Finding]:
        """What is not well with these parts."""
        return [finding for finding in self.findings if finding.level != "ok" and finding.part in parts]


def ok(check: str, what: str) -> Finding:
    """All is well with this."""
    return Finding(level="ok", check=check, what=what)


def warn(check: str, what: str, mend: str | None = None, part: Part | None = None) -> Finding:
    """Something to know."""
    return Finding(level="warn", check=check, what=what, mend=mend, part=part)


def problem(check: str, what: str, mend: str | None = None, part: Part | None = None) -> Finding:
    """Something to mend."""
    return Finding(level="problem", check=check, what=what, mend=mend, part=part)


Check: TypeAlias = Callable[[], Iterable[Finding]]


def guarded(name: str, check: Check) -> Iterator[Finding]:
    """The findings of a check. Whatever it raises is a finding, too: a doctor must not fall ill."""
    try:
        yield from check()
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # the panics of tantivy are not Exceptions
        yield problem(name, f"could not be looked at: {type(error).__name__}: {error}"[:300])
