"""What a diary can say of a transcript by rules, without a language model: every line is taken from the text itself."""

from __future__ import annotations

import datetime as dt
import os
import re
import stat
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from indexes.errors import SourceError
from pipeline.diary.cues import (
    CORRECTION,
    DECISION,
    MISTAKE,
    POINT,
    REFUSED,
    RULE,
    is_question,
    says_something,
    sentences,
    with_reason,
)
from pipeline.diary.entry import bullets
from pipeline.diary.headings import Language, Section
from pipeline.plaintext import blocks, cut, flatten, fold
from pipeline.sources.base import Draft, SourceText
from pipeline.sources.decode import decode
from pipeline.sources.transcript import TranscriptReader

MOST: Final = 10
"""Points of one kind in a section."""
REPEATED: Final = 3
"""Times from which on a command or a change of a file is a pattern."""

_EDITING = frozenset({"Edit", "Write", "MultiEdit", "NotebookEdit", "apply_patch", "str_replace_based_edit_tool"})
_SHELL = frozenset({"Bash", "shell", "exec_command", "run_terminal_cmd"})
_LOOKING = re.compile(
    r"(?:cd\s+\S+\s*(?:&&|;)\s*)*(?:ls|cat|head|tail|pwd|echo|cd|which|find|grep|rg|wc|tree|sed -n|sleep|"
    r"git (?:status|log|diff|show|branch|remote|rev-parse))(?:\s|$)"
)
_COMMIT = re.compile(r"\bgit\s+(?:\S+\s+)*?commit\b")
_COMMIT_MESSAGE = re.compile(
    r"-a?m\s+(?:\"\$\(cat <<'?\"?(?:EOF|END)'?\"?\n(?P<here>[^\n]+)|(?P<quote>[\"'])(?P<line>[^\"'\n]+))"
)
_TELLING = re.compile(
    r"error|fail|fatal|denied|not found|no such|cannot|can't|invalid|undefined|panic|exception|실패|오류|없습니다",
    re.IGNORECASE,
)
_EXIT = re.compile(r"^(?:Exit code \d+|Error:?|Result:?)\s*$", re.IGNORECASE)
_SAID = re.compile(r"the user said:\s*(.+)", re.IGNORECASE | re.DOTALL)
_NO_FAULT = re.compile(r"Sibling tool call errored|spawn\S*$|interrupted", re.IGNORECASE)
_SPACES = re.compile(r"\s+")

_TEXT: Final[dict[Language, dict[str, str]]] = {
    "ko": {
        "request": "요청: {}",
        "files": "수정한 파일: {}",
        "commands": "실행한 명령: {}",
        "commit": "커밋: {}",
        "tools": "쓴 도구: {}",
        "more": "외 {}개",
        "failed": "{} 실패: {}",
        "passed": "{} 실패: {} (뒤에 다시 실행해 성공)",
        "refused": "사용자가 거절한 실행: {}",
        "refused_why": "사용자가 거절한 실행: {}: {}",
        "ran": "{} {}번 실행",
        "edited": "{} {}번 수정",
        "same_error": "같은 오류 {1}번: {0}",
        "asked": "같은 요청 {1}번: {0}",
        "partial": "기록이 길어 마지막 {:,}바이트만 읽음",
    },
    "en": {
        "request": "Request: {}",
        "files": "Files changed: {}",
        "commands": "Commands run: {}",
        "commit": "Commit: {}",
        "tools": "Tools used: {}",
        "more": "and {} more",
        "failed": "{} failed: {}",
        "passed": "{} failed: {} (succeeded when run again later)",
        "refused": "The user refused: {}",
        "refused_why": "The user refused: {}: {}",
        "ran": "{} was run {} times",
        "edited": "{} was changed {} times",
        "same_error": "The same error {1} times: {0}",
        "asked": "The same request {1} times: {0}",
        "partial": "The transcript is long: only its last {:,} bytes were read",
    },
}


@dataclass(frozen=True, slots=True)
class Transcript:
    """The turns of a session, in order. `skipped` counts the bytes before them that were not read."""

    drafts: Sequence[Draft]
    skipped: int
    read: int

    @property
    def session_id(self) -> str:
        """The agent's own id of the session."""
        return self.drafts[0].session_id if self.drafts else ""

    @property
    def project(self) -> str:
        """The folder in which most of it happened."""
        named = Counter(draft.project for draft in self.drafts if draft.project)
        return named.most_common(1)[0][0] if named else ""

    @property
    def until(self) -> dt.datetime | None:
        """Its last moment."""
        return max((draft.timestamp for draft in self.drafts), default=None)

    def after(self, moment: dt.datetime | None) -> Transcript:
        """What came after `moment`."""
        if moment is None:
            return self
        return Transcript([draft for draft in self.drafts if draft.timestamp > moment], self.skipped, self.read)


def read_transcript(path: Path, *, max_bytes: int) -> Transcript:
    """The turns of a transcript; of one that has more than `max_bytes`, those at its end. Raises SourceError."""
    data, size, modified = _tail(path, max_bytes)
    text = decode(data).text
    reader = TranscriptReader()
    label = f"{path.stem}.jsonl"
    if not reader.accepts(label, text[:4096]) and '"sessionId"' not in text:
        raise SourceError(
            f"{path} is no transcript of a coding agent (JSON Lines as Claude Code writes them). Name another"
        )
    reading = reader.read(SourceText(text, label, modified))
    return Transcript([draft for draft in reading.drafts if draft.content.strip()], size - len(data), len(data))


def _tail(path: Path, limit: int) -> tuple[bytes, int, dt.datetime]:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)  # a pipe is not waited for
        with os.fdopen(descriptor, "rb") as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise SourceError(f"{path} is not a file. Name a transcript (JSON Lines)")
            start = max(0, status.st_size - limit)
            file.seek(start)
            data = file.read(limit)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it holds a NUL character"
        raise SourceError(f"The transcript {str(path)!r} can't be read ({reason or type(error).__name__})") from None
    if start:
        data = data[data.find(b"\n") + 1 :]
    moment = min(max(status.st_mtime, 0), 253_402_300_799)
    return data, max(status.st_size, len(data)), dt.datetime.fromtimestamp(moment, dt.UTC)


@dataclass
class _Told:
    """Points of a section in the order of the session, each once."""

    points: dict[str, None] = field(default_factory=dict)

    def add(self, point: str) -> None:
        point = fold(point)
        if point:
            self.points.setdefault(point)

    def some(self, most: int = MOST) -> list[str]:
        """All, or the first and the last: how a session began, and where it stands."""
        found = list(self.points)
        first = most // 3
        return found if len(found) <= most else [*found[:first], *found[first - most :]]


class Digest:
    """The five sections that a transcript makes."""

    def __init__(self, transcript: Transcript, language: Language) -> None:
        self._transcript = transcript
        self._say = _TEXT[language]
        self._own = [draft for draft in transcript.drafts if not draft.metadata.get("sidechain")]
        self._prompts = [draft for draft in self._own if draft.type == "prompt" and draft.parent != draft.place]
        self._tools = [draft for draft in transcript.drafts if draft.type == "tool"]
        self._roots = {str(draft.metadata.get("cwd") or "") for draft in transcript.drafts} - {""}

    def title(self) -> str:
        """The agent's own summary, else the first request that says something."""
        told = [draft.content for draft in self._own if draft.place.startswith("summary:")]
        asked = [flatten(blocks(draft.content), enough=200) for draft in self._prompts]
        return next((cut(text, 80) for text in (*map(fold, told[-1:]), *asked) if says_something(text)), "")

    def bodies(self) -> dict[Section, str]:
        """Markdown by section; what the session says nothing about is not there."""
        feedback, requests = self._feedback()
        told: dict[Section, list[str]] = {
            "work": self._work(requests),
            "feedback": feedback,
            "decisions": self._decisions(),
            "mistakes": self._mistakes(),
            "patterns": self._patterns(),
        }
        return {section: bullets(points) for section, points in told.items() if points}

    def _feedback(self) -> tuple[list[str], list[str]]:
        """Points of feedback, and the requests that are not feedback."""
        told, requests = _Told(), _Told()
        for number, draft in enumerate(self._prompts):
            said = sentences(draft.content)
            marker = CORRECTION if number else RULE
            points = [s for s in said if not is_question(s) and (RULE.search(s) or marker.search(s))]
            for point in points[:3]:
                told.add(cut(point, POINT))
            line = cut(flatten(blocks(draft.content), enough=POINT + 1), POINT)
            if says_something(line) and (not number or not points):
                requests.add(line)
        for draft in self._tools:
            if draft.metadata.get("error") and REFUSED.search(draft.content):
                why = _SAID.search(draft.content)
                reason = cut(fold(why[1]), POINT // 2) if why else ""
                name = _code(self._named(draft))
                told.add(self._say["refused_why"].format(name, reason) if reason else self._say["refused"].format(name))
        return told.some(), requests.some()

    def _work(self, requests: Sequence[str]) -> list[str]:
        say = self._say
        points = [say["request"].format(request) for request in requests]
        done = [draft for draft in self._tools if not draft.metadata.get("error")]
        files = dict.fromkeys(self._short(f) for d in done if _is(d, _EDITING) for f in d.files)
        commands = dict.fromkeys(
            _first_line(command)
            for draft in done
            if _is(draft, _SHELL)
            and (command := _command(draft))
            and not _LOOKING.match(command)
            and not _COMMIT.search(command)
        )
        if files:
            points.append(say["files"].format(self._list(list(files))))
        if commands:
            points.append(say["commands"].format(self._list(list(commands), most=6)))
        messages = dict.fromkeys(filter(None, (_commit(draft) for draft in done if _is(draft, _SHELL))))
        points += [say["commit"].format(message) for message in messages]
        tools = Counter(name for draft in self._tools for name in draft.tools)
        if tools:
            points.append(say["tools"].format(", ".join(f"{name} {count}" for name, count in tools.most_common(8))))
        if self._transcript.skipped:
            points.append(say["partial"].format(self._transcript.read))
        return points

    def _decisions(self) -> list[str]:
        told = _Told()
        for draft in self._own:
            if draft.type in ("prompt", "response"):
                for point in with_reason(sentences(draft.content), DECISION):
                    told.add(point)
        return told.some()

    def _mistakes(self) -> list[str]:
        told = _Told()
        for line, draft, mended in self._errors():
            told.add(
                self._say["passed" if mended else "failed"].format(_code(self._named(draft)), cut(line, POINT // 2))
            )
        for draft in self._own:
            if draft.type == "response":
                for point in with_reason(sentences(draft.content), MISTAKE):
                    told.add(point)
        return told.some()

    def _errors(self) -> Iterator[tuple[str, Draft, bool]]:
        """Tool calls that failed, the line that tells why, and whether the same call succeeded later."""
        last: dict[str, int] = {}
        for number, draft in enumerate(self._tools):
            if not draft.metadata.get("error"):
                last[_subject(draft)] = number
        for number, draft in enumerate(self._tools):
            if draft.metadata.get("error") and not REFUSED.search(draft.content):
                line = _error_line(draft)
                if line and not _NO_FAULT.search(line):
                    yield line, draft, last.get(_subject(draft), -1) > number

    def _patterns(self) -> list[str]:
        say = self._say
        told = _Told()
        runs = Counter(
            _first_line(command)
            for draft in self._tools
            if _is(draft, _SHELL) and (command := _command(draft)) and not _LOOKING.match(command)
        )
        edits = Counter(self._short(f) for draft in self._tools if _is(draft, _EDITING) for f in draft.files)
        errors = Counter(line for line, _, _ in self._errors())
        asked = Counter(
            _SPACES.sub(" ", draft.content).strip().casefold()[:POINT]
            for draft in self._prompts
            if says_something(draft.content)
        )
        for key, counts, least, wrap in (
            ("asked", asked, 2, False),
            ("ran", runs, REPEATED, True),
            ("edited", edits, REPEATED, True),
            ("same_error", errors, 2, False),
        ):
            for name, count in counts.most_common(4):
                if count >= least:
                    told.add(say[key].format(_code(name) if wrap else cut(name, POINT // 2), count))
        return told.some()

    def _short(self, path: str) -> str:
        """A path as people in the project say it."""
        for root in sorted(self._roots, key=len, reverse=True):
            if path.startswith(f"{root.rstrip('/')}/"):
                return path[len(root.rstrip("/")) + 1 :]
        return path

    def _named(self, draft: Draft) -> str:
        tool, mark, about = _subject(draft).partition(": ")
        return f"{tool}{mark}{self._short(about)}" if mark and draft.files else _subject(draft)

    def _list(self, names: Sequence[str], most: int = 12) -> str:
        more = [self._say["more"].format(len(names) - most)] if len(names) > most else []
        return ", ".join([*map(_code, names[:most]), *more])


def _is(draft: Draft, tools: frozenset[str]) -> bool:
    return any(name in tools for name in draft.tools)


def _command(draft: Draft) -> str:
    """The command line of a shell call, as the reader wrote it."""
    return (
        draft.content.partition(": ")[2]
        .split("\ndescription: ", 1)[0]
        .split("\n\nResult:\n", 1)[0]
        .split("\n\nError:\n", 1)[0]
        .strip()
    )


def _subject(draft: Draft) -> str:
    return _first_line(_command(draft)) if _is(draft, _SHELL) else draft.title


def _first_line(text: str) -> str:
    return cut(fold(text.split("\n", 1)[0]), 100) if text.strip() else ""


def _commit(draft: Draft) -> str:
    command = _command(draft)
    message = _COMMIT_MESSAGE.search(command) if _COMMIT.search(command) else None
    return cut(fold(message["here"] or message["line"]), 120) if message else ""


def _error_line(draft: Draft) -> str:
    """The line of a failed call that tells most: the first that names an error, else the first of all."""
    text = draft.content.partition("\n\nError:\n")[2]
    lines = [fold(line) for line in text.split("\n") if line.strip() and not _EXIT.match(line.strip())]
    return next((line for line in lines if _TELLING.search(line)), lines[0] if lines else "")


def _code(text: str) -> str:
    """Text in backticks; what has backticks itself stays as it is."""
    return f"`{text}`" if text and "`" not in text else text
