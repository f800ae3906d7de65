"""Our section of a rules file: found, merged and compared; every byte outside of it belongs to the user."""

from __future__ import annotations

import codecs
import difflib
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from indexes.errors import HostError
from pipeline.plaintext import clean
from pipeline.reflect.reading import sentences

OPEN, CLOSE = "<!-- gieok:rules -->", "<!-- /gieok:rules -->"
HEADINGS = {True: "## 되풀이된 규칙", False: "## Rules that kept coming up"}
MAX_BYTES = 2_000_000
"""A larger file is no rules file: a host reads all of it at every start."""
MAX_LINES = 2_000
"""Lines that rules are compared with."""

_FENCE = re.compile(r"[ \t>]*(`{3,}|~{3,})")
_BULLET = re.compile(r"[ \t]*[-*+][ \t]+(.*)")
_HANGUL = re.compile(r"[가-힣]")


@dataclass(frozen=True, slots=True)
class RulesFile:
    """A file as it is on disk; `data` is None if there is none. `path` is for messages."""

    path: str
    data: bytes | None

    @property
    def text(self) -> str:
        """Its text, with the line ends it has. Raises HostError."""
        data = (self.data or b"").removeprefix(codecs.BOM_UTF8)
        if len(data) > MAX_BYTES:
            raise HostError(
                f"{self.path} is larger than {MAX_BYTES:,} bytes; that is no rules file. Name another: --to"
            )
        try:
            return data.decode("utf-8")
        except UnicodeDecodeError:
            raise HostError(
                f"{self.path} is no UTF-8 text, so it is left alone. Save it as UTF-8, or name another: --to"
            ) from None

    def rules(self) -> list[str]:
        """The rules of our section, in order. Raises HostError."""
        lines = _split(self.text)
        place = self._section(lines)
        if place is None:
            return []
        bullets = (_BULLET.match(line) for line in lines[place[0] + 1 : place[1]])
        return [unicodedata.normalize("NFC", bullet[1].strip()) for bullet in bullets if bullet]

    def lines(self) -> list[str]:
        """What the file says, as plain sentences, our section included. Raises HostError."""
        found = [line for line in _outside_fences(_split(self.text)) if line]
        return [said for line in found[:MAX_LINES] for said in sentences(_unbulleted(line))]

    def merged(self, rules: Sequence[str]) -> bytes:
        """The file with these rules at the end of our section, which is made if there is none. Raises HostError."""
        text = self.text
        there = set(self.rules())
        wanted = [rule for rule in dict.fromkeys(rules) if rule not in there]
        if not wanted:
            return self.data or b""
        mark = codecs.BOM_UTF8 if (self.data or b"").startswith(codecs.BOM_UTF8) else b""
        end = "\r\n" if "\r\n" in text else "\n"
        added = "".join(f"- {rule}{end}" for rule in wanted)
        lines = _split(text)
        place = self._section(lines)
        if place is not None:
            before, after = "".join(lines[: place[1]]), "".join(lines[place[1] :])
            return mark + (before + added + after).encode()
        korean = sum(bool(_HANGUL.search(rule)) for rule in wanted) * 2 > len(wanted)
        gap = "" if not text else end if text.endswith("\n") else end * 2
        section = f"{OPEN}{end}{HEADINGS[korean]}{end}{end}{added}{CLOSE}{end}"
        return mark + (text + gap + section).encode()

    def _section(self, lines: Sequence[str]) -> tuple[int, int] | None:
        """The indexes of the lines with our markers."""
        shown = _outside_fences(lines)
        opens = [number for number, line in enumerate(shown) if line.strip() == OPEN]
        closes = [number for number, line in enumerate(shown) if line.strip() == CLOSE]
        if not opens and not closes:
            return None
        if len(opens) != 1 or len(closes) != 1 or opens[0] > closes[0]:
            raise HostError(
                f"{self.path} must hold one line {OPEN} and one line {CLOSE} below it, or neither. "
                "Mend that by hand and run the command again."
            )
        return opens[0], closes[0]


def diff(path: str, before: bytes | None, after: bytes) -> str:
    """A unified diff that is safe to print."""
    old = clean((before or b"").decode("utf-8", "replace")).split("\n")
    new = clean(after.decode("utf-8", "replace")).split("\n")
    return "\n".join(difflib.unified_diff(old, new, path if before is not None else "/dev/null", path, lineterm=""))


def _split(text: str) -> list[str]:
    """Lines with their ends: only what Markdown takes for one."""
    return re.findall(r"[^\n]*\n|[^\n]+$", text)


def _outside_fences(lines: Sequence[str]) -> list[str]:
    """The same lines, those inside code fences empty."""
    shown, fence = [], ""
    for line in lines:
        mark = _FENCE.match(line)
        if fence:
            shown.append("")
            if mark and mark[1].startswith(fence) and not line.strip().strip(fence[0]):
                fence = ""
        else:
            fence = mark[1] if mark else ""
            shown.append("" if mark else line)
    return shown


def _unbulleted(line: str) -> str:
    bullet = _BULLET.match(line)
    return (bullet[1] if bullet else line).strip()
