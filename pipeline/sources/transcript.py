"""Transcripts of coding agents (JSON Lines as Claude Code writes them): what was asked, answered and done."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import PurePosixPath

from indexes.types import JSON, MemoryType
from pipeline.sources.base import Draft, Reading, SourceText
from pipeline.sources.cleaning import Cleaner
from pipeline.sources.cutting import cut_text
from pipeline.sources.dates import parse_moment
from pipeline.sources.injected import typed_by_user
from pipeline.sources.lines import JsonLines, Object
from pipeline.sources.toolcalls import RESULT_LIMIT, ToolCall, bound, read_call, read_content, read_result

SUFFIXES = (".jsonl", ".ndjson")

MESSAGE_LIMIT = 40_000
"""Characters kept of one prompt or answer, some 10,000 tokens: more is a pasted file."""

UNKNOWN_TOOL = "unknown tool"

_KEYS = ("sessionId", "leafUuid", "parentUuid", "isSnapshotUpdate")
_KEY = re.compile(rf'"(?:{"|".join(_KEYS)})"\s*:')


class TranscriptReader:
    """See `docs/formats.md`."""

    name = "transcript"
    version = 1

    def accepts(self, label: str, head: str) -> bool:
        """Whether a JSON Lines file has the keys of a transcript in its first object, or its first lines."""
        if not label.lower().endswith(SUFFIXES):
            return False
        first = next(iter(JsonLines(head)), None)
        if first is not None:
            return any(key in first[1] for key in _KEYS)
        return _KEY.search(head) is not None

    def read(self, source: SourceText) -> Reading:
        """Drafts in the order of the file; broken lines are skipped and named."""
        return _Transcript(source).read()


@dataclass(slots=True)
class _Turn:
    """A memory in the making: texts are added while later lines still belong to it."""

    place: str
    type: MemoryType
    line: Object
    parent: str | None
    timestamp: datetime | None
    texts: list[str]
    call: ToolCall | None = None
    failed: bool = False


class _Transcript:
    def __init__(self, source: SourceText) -> None:
        self._source = source
        self._cleaner = Cleaner()
        self._turns: dict[str, _Turn] = {}
        # uuid of a line → place of the turn that holds it, or of the nearest one above it
        self._homes: dict[str, str | None] = {}
        self._moments: dict[str, datetime] = {}
        self._calls: dict[str, _Turn | None] = {}  # id of a tool call → its turn; None for a call of gieok
        self._answers: dict[str, _Turn] = {}  # id of an assistant's message → the turn of its text
        self._bounded = 0
        self._repeated = 0

    def read(self) -> Reading:
        lines = JsonLines(self._source.text)
        for number, line in lines:
            self._take(number, line)
        drafts = list(self._drafts())
        own = sum(turn is None for turn in self._calls.values())
        notices = lines.notices()
        if self._repeated:
            notices.append(f"{self._repeated} lines repeat an earlier one and were left out")
        if self._bounded:
            notices.append(f"{self._bounded} long texts were cut in the middle, with a mark")
        if own:
            notices.append(f"{own} call{'s' if own > 1 else ''} of gieok itself left out")
        return Reading(drafts, (*notices, *self._cleaner.notices()))

    def _take(self, number: int, line: Object) -> None:
        kind = line.get("type")
        uuid = _string(line, "uuid") or f"line:{number}"
        if uuid in self._homes:
            self._repeated += kind in ("user", "assistant")
            return
        above = _string(line, "parentUuid") or _string(line, "logicalParentUuid") or ""
        self._homes[uuid] = self._homes.get(above)
        moment = parse_moment(line.get("timestamp"))
        if moment is not None:
            self._moments[uuid] = moment
        if kind == "user":
            self._user(uuid, line)
        elif kind == "assistant":
            self._assistant(uuid, line)
        elif kind == "summary":
            self._summary(number, line)

    def _user(self, uuid: str, line: Object) -> None:
        if line.get("isMeta") is True:
            return
        blocks = _blocks(line)
        for block in blocks:
            if _is_kind(block, "tool_result"):
                self._result(uuid, line, block)
        text = read_content([block for block in blocks if not _is_kind(block, "tool_result")], self._cleaner)
        if line.get("isCompactSummary") is True:
            self._add(uuid, uuid, "insight", line, text)
        else:
            self._add(uuid, uuid, "prompt", line, typed_by_user(text))

    def _assistant(self, uuid: str, line: Object) -> None:
        message = line.get("message")
        if line.get("isApiErrorMessage") is True or not isinstance(message, dict):
            return
        if message.get("model") == "<synthetic>":  # words of the tool, not of the model
            return
        blocks = _blocks(line)
        text = read_content([block for block in blocks if _is_kind(block, "text")], self._cleaner)
        if text.strip():
            self._answer(uuid, _string(message, "id") or uuid, line, text)
        for block in blocks:
            if _is_kind(block, "tool_use"):
                self._call(uuid, line, block)

    def _answer(self, uuid: str, message_id: str, line: Object, text: str) -> None:
        """One message is written as several lines: its texts make one memory, at the place of the first."""
        turn = self._answers.get(message_id)
        if turn is None:
            self._answers[message_id] = self._add(uuid, uuid, "response", line, text)
            return
        if text.startswith(turn.texts[-1]):  # the same text, further streamed
            turn.texts[-1] = text
        else:
            turn.texts.append(text)
        self._homes[uuid] = turn.place

    def _call(self, uuid: str, line: Object, block: Object) -> None:
        inputs = self._cleaner.json(block.get("input"))
        name = self._cleaner.text(_string(block, "name") or "tool")
        call = read_call(name, inputs if isinstance(inputs, dict) else {})
        call_id = _string(block, "id") or f"{uuid}:{len(self._calls)}"
        if call.is_own:
            self._calls[call_id] = None
        elif call_id not in self._calls:
            self._calls[call_id] = self._add(f"call:{call_id}", uuid, "tool", line, call.text, call)

    def _result(self, uuid: str, line: Object, block: Object) -> None:
        call_id = _string(block, "tool_use_id") or uuid
        if call_id not in self._calls:  # the line with the call is missing or broken
            lost = read_call(UNKNOWN_TOOL, {})
            self._calls[call_id] = self._add(f"call:{call_id}", uuid, "tool", line, lost.text, lost)
        turn = self._calls[call_id]
        if turn is None:
            return
        text = read_result(block.get("content"), self._cleaner)
        turn.failed = turn.failed or block.get("is_error") is True
        if text:
            turn.texts.append(f"{'Error' if turn.failed else 'Result'}:\n{self._bound(text, RESULT_LIMIT)}")
        self._homes[uuid] = turn.place

    def _summary(self, number: int, line: Object) -> None:
        leaf = _string(line, "leafUuid") or f"line:{number}"
        place = f"summary:{leaf}"
        text = self._cleaner.text(_string(line, "summary") or "")
        if text.strip() and place not in self._turns:
            self._turns[place] = _Turn(place, "insight", line, None, None, [text])

    def _add(
        self, place: str, uuid: str, kind: MemoryType, line: Object, text: str, call: ToolCall | None = None
    ) -> _Turn:
        turn = _Turn(place, kind, line, self._homes.get(uuid), self._moments.get(uuid), [text], call)
        if text.strip():
            self._turns[place] = turn
            self._homes[uuid] = place
        return turn

    def _drafts(self) -> Iterator[Draft]:
        sessions = (_string(turn.line, "sessionId") for turn in self._turns.values())
        session = next(filter(None, sessions), None) or PurePosixPath(self._source.label).stem
        latest = min(self._moments.values(), default=self._source.modified)
        for turn in self._turns.values():
            leaf = self._moments.get(_string(turn.line, "leafUuid") or "")
            latest = turn.timestamp or leaf or latest
            yield from self._parts(turn, self._cleaner.text(_string(turn.line, "sessionId") or session), latest)

    def _parts(self, turn: _Turn, session: str, moment: datetime) -> Iterator[Draft]:
        text = "\n\n".join(turn.texts)
        parts = [text] if turn.call else cut_text(self._bound(text, MESSAGE_LIMIT))
        cwd = self._cleaner.text(_string(turn.line, "cwd") or "")
        title = turn.call.title if turn.call else ""
        for number, content in enumerate(parts, start=1):
            yield Draft(
                place=turn.place if number == 1 else f"{turn.place}~{number}",
                content=content,
                type=turn.type,
                timestamp=moment,
                session_id=session,
                namespace=session,
                parent=turn.parent if number == 1 else turn.place,
                title=title,
                project=re.split(r"[/\\]", cwd.rstrip("/\\"))[-1] or None,
                files=turn.call.files if turn.call else (),
                tools=(turn.call.name,) if turn.call and turn.call.name != UNKNOWN_TOOL else (),
                metadata=self._metadata(turn, cwd),
            )

    def _metadata(self, turn: _Turn, cwd: str) -> dict[str, JSON]:
        metadata: dict[str, JSON] = {}
        if cwd:
            metadata["cwd"] = cwd
        branch = self._cleaner.text(_string(turn.line, "gitBranch") or "")
        if branch:
            metadata["git_branch"] = branch
        if turn.line.get("isSidechain") is True:
            metadata["sidechain"] = True
        if turn.failed:
            metadata["error"] = True
        return metadata

    def _bound(self, text: str, limit: int) -> str:
        bounded = bound(text, limit)
        self._bounded += bounded != text
        return bounded


def _blocks(line: Object) -> list[Object]:
    message = line.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []


def _is_kind(block: Object, kind: str) -> bool:
    """Whether it is a block of that kind: `mcp_tool_use` and `server_tool_use` are calls like `tool_use`."""
    found = block.get("type")
    return isinstance(found, str) and (found == kind or found.endswith(f"_{kind}"))


def _string(line: Object, key: str) -> str | None:
    """A text of a line that is not empty, as UTF-8 and NFC can have it; what people wrote is cleaned elsewhere."""
    value = line.get(key)
    if not isinstance(value, str) or not value:
        return None
    return value if value.isascii() else unicodedata.normalize("NFC", value.encode("utf-8", "replace").decode())
