"""`.gitignore` rules, as git applies them: of the nearest file that says anything, the last rule that fits decides."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from pathspec import GitIgnoreSpec, Pattern

_NAME = ".gitignore"
_BELOW = "ps_d"  # the group of pathspec's patterns that matches that slash


@dataclass(frozen=True, slots=True)
class _Rule:
    pattern: Pattern
    line: str

    def fits(self, name: str, *, is_folder: bool) -> bool:
        folders_only = self.line.endswith("/")
        if folders_only and not is_folder:
            return False
        if self.line.removeprefix("!") in ("*/", "**/"):
            return True  # pathspec's pattern for it fits any slash
        result = self.pattern.match_file(f"{name}/" if folders_only else name)
        if result is None:
            return False
        # pathspec lets a rule for a folder fit all below it, too, and marks the slash where that begins. Git does
        # not: such a rule decides about the folder, and once another lets it in, about nothing below.
        slash = result.match.start(_BELOW) if _BELOW in result.match.re.groupindex else -1
        return slash in (-1, len(name)) or self.line.endswith("**")


@dataclass(frozen=True, slots=True)
class Ignored:
    """The rules in force inside one folder: its own after those of the folders above, nearest last."""

    layers: tuple[tuple[str, tuple[_Rule, ...]], ...] = ()

    @classmethod
    def above(cls, root: Path) -> Self:
        """The rules that the git repository around `root` has for it: from its top to the parent of `root`.

        No rules if there is no repository, or if it ignores `root` itself: whoever names an ignored folder wants it.
        """
        top = next((folder for folder in root.parents if (folder / ".git").exists()), None)
        if top is None or (root / ".git").exists():
            return cls()
        rules = cls()
        for folder in reversed([parent for parent in root.parents if parent == top or top in parent.parents]):
            rules = rules.entering(folder)
        below_top = [root, *root.parents]
        below_top = below_top[: below_top.index(top)]
        if any(rules.covers(folder, is_folder=True) for folder in below_top):
            return cls()
        return rules

    def entering(self, folder: Path) -> Self:
        """These rules and those of `folder`'s own `.gitignore`."""
        rules = _rules(folder / _NAME)
        return type(self)(layers=(*self.layers, (_spelled(folder), rules))) if rules else self

    def covers(self, path: Path, *, is_folder: bool) -> bool:
        """Whether the rules leave `path` out, which lies below every folder entered."""
        name = _spelled(path)
        for base, rules in reversed(self.layers):
            below = name[len(base) :].lstrip("/")
            for rule in reversed(rules):
                if rule.fits(below, is_folder=is_folder):
                    return rule.pattern.include is True
        return False


def _spelled(path: Path) -> str:
    return unicodedata.normalize("NFC", path.as_posix())


def _rules(path: Path) -> tuple[_Rule, ...]:
    try:
        if not path.is_file():
            return ()
        text = path.read_bytes().decode("utf-8", "replace")
    except OSError:
        return ()  # git, too, goes on without a .gitignore that it cannot read
    lines = unicodedata.normalize("NFC", text.removeprefix("\ufeff")).splitlines()
    return tuple(rule for line in lines for rule in _rule(line))


def _rule(line: str) -> Iterator[_Rule]:
    """The rule in a line; none in a comment, or in a pattern that can't be read (git passes over those, too)."""
    try:
        patterns = list(GitIgnoreSpec.from_lines([line]).patterns)
    except ValueError:
        return
    for pattern in patterns:
        if pattern.include is not None:
            yield _Rule(pattern, line.rstrip())
