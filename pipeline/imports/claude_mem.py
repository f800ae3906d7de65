"""Stores of claude-mem: sessions with prompts, observations and summaries."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from indexes.errors import SourceError
from indexes.types import JSON
from pipeline.imports.base import Item, Session, Work
from pipeline.imports.database import Database, Row, Value
from pipeline.plaintext import cut
from pipeline.sources.injected import typed_by_user
from pipeline.sources.tags import Tag
from pipeline.sources.toolcalls import MAX_TITLE

NEWEST = 64
"""The newest schema of it that is known here."""

_SUMMARY = ("request", "investigated", "learned", "completed", "next_steps", "notes")
_CONTEXT = Tag("claude-mem-context")


class ClaudeMem:
    """Known from schema 4 on. A session has the id that the coding agent gave it, so that it joins its transcript."""

    name = "claude-mem"
    version = 1
    files = ("claude-mem.db",)

    def schema(self, database: Database) -> str:
        """See `Kind`."""
        tables = database.tables()
        if "sdk_sessions" not in tables or "observations" not in tables:
            raise SourceError(
                "is no claude-mem store of schema 4 or later (it has no sdk_sessions and observations); start a current"
                " claude-mem once, which brings older ones up to date"
            )
        newest = 0
        if "schema_versions" in tables:
            newest = max(
                (
                    v
                    for row in database.rows("SELECT version FROM schema_versions")
                    if isinstance(v := row["version"], int)
                ),
                default=0,
            )
        if newest > NEWEST:
            raise SourceError(f"has schema {newest} of claude-mem; {NEWEST} is the newest known here. Update gieok")
        names = (
            ("sdk_sessions", _content(database)),
            ("sdk_sessions", _memory(database, "sdk_sessions")),
            ("observations", _memory(database, "observations")),
            ("observations", database.first_of("observations", "narrative", "text")),
        )
        lacking = sorted({table for table, column in names if column is None})
        if lacking:
            raise SourceError(f"has an unknown schema ({' and '.join(lacking)} lack columns that every claude-mem has)")
        return f"claude-mem, schema {newest}" if newest else "claude-mem, schema without a number"

    def sessions(self, database: Database) -> Sequence[Session]:
        """See `Kind`. Rows whose session is missing make one of their own, as they do in claude-mem."""
        known = set(database.keys("sdk_sessions", str(_memory(database, "sdk_sessions"))))
        found = database.keys("sdk_sessions", str(_content(database)))
        for table in ("observations", "session_summaries"):
            column = _memory(database, table)
            if column is None:
                continue
            try:
                found += [key for key in database.keys(table, column) if key not in known]
            except SourceError as error:
                database.problems.append(f"its {table} without a session can't be listed: the store {error}")
        return [Session(key) for key in dict.fromkeys(found)]

    def read(self, database: Database, session: Session, work: Work) -> list[Item]:
        """See `Kind`."""
        rows = list(database.where("sdk_sessions", str(_content(database)), session.key))
        memory = str(_memory(database, "sdk_sessions"))
        memories = dict.fromkeys(row[memory] for row in rows if row[memory] is not None) or {session.key: None}
        project = next((text for row in rows if (text := _project(row, work))), "")
        items = list(self._prompts(database, session.key, rows, project, work))
        prompts = {item.metadata["prompt_number"]: item.place for item in items if item.metadata}
        for key in memories:
            items += self._observations(database, key, project, prompts, work)
            items += self._summaries(database, key, project, prompts, work)
        return items

    def _prompts(self, database: Database, session: Value, rows: list[Row], project: str, work: Work) -> Iterator[Item]:
        column = database.first_of("user_prompts", "content_session_id", "claude_session_id")
        stored = []
        if column is not None:
            stored = list(database.where("user_prompts", column, session))
        if not stored:  # before there was a table of prompts, a session had its first one
            stored = [
                {
                    "id": "first",
                    "prompt_text": row.get("user_prompt"),
                    "prompt_number": 1,
                    "created_at_epoch": row.get("started_at_epoch"),
                    "created_at": row.get("started_at"),
                }
                for row in rows
                if row.get("user_prompt")
            ]
        for index, row in enumerate(stored):
            work.rows["prompts"] += 1
            text = typed_by_user(_own(work.text(row.get("prompt_text"))))
            yield Item(
                place=work.place("prompt", row.get("id"), index),
                text=text,
                type="prompt",
                timestamp=work.moment(row.get("created_at_epoch"), row.get("created_at")),
                project=project,
                metadata=_number(row),
            )

    def _observations(
        self, database: Database, key: Value, project: str, prompts: dict[JSON, str], work: Work
    ) -> Iterator[Item]:
        for index, row in enumerate(database.where("observations", str(_memory(database, "observations")), key)):
            work.rows["observations"] += 1
            kind = work.line(row.get("type"))
            facts = "\n".join(f"- {fact}" for fact in work.items(row.get("facts"), r"\n"))
            told = work.text(row.get("narrative")) or work.text(row.get("text"))
            number = _number(row)
            yield Item(
                place=work.place("observation", row.get("id"), index),
                text=_joined(_own(work.text(row.get("subtitle"))), _own(told), _own(facts)),
                type="insight",
                timestamp=work.moment(row.get("created_at_epoch"), row.get("created_at")),
                parent=prompts.get(number.get("prompt_number")),
                title=cut(title, MAX_TITLE) if (title := work.line(row.get("title"))) else "",
                project=_project(row, work) or project,
                tags=tuple(dict.fromkeys(filter(None, (kind, *work.items(row.get("concepts")))))),
                files=tuple(dict.fromkeys(work.items(row.get("files_read")) + work.items(row.get("files_modified")))),
                metadata=number,
            )

    def _summaries(
        self, database: Database, key: Value, project: str, prompts: dict[JSON, str], work: Work
    ) -> Iterator[Item]:
        column = _memory(database, "session_summaries")
        if column is None:
            return
        for index, row in enumerate(database.where("session_summaries", column, key)):
            work.rows["summaries"] += 1
            said = {name: _own(work.text(row.get(name))).strip() for name in _SUMMARY}
            request = " ".join(said["request"].split())
            number = _number(row)
            yield Item(
                place=work.place("summary", row.get("id"), index),
                text="\n\n".join(
                    f"{name.replace('_', ' ').capitalize()}: {text}" for name, text in said.items() if text
                ),
                type="insight",
                timestamp=work.moment(row.get("created_at_epoch"), row.get("created_at")),
                parent=prompts.get(number.get("prompt_number")),
                title=cut(request, MAX_TITLE) if request else "",
                project=_project(row, work) or project,
                tags=("summary",),
                files=tuple(dict.fromkeys(work.items(row.get("files_read")) + work.items(row.get("files_edited")))),
                metadata=number,
            )


def _content(database: Database) -> str | None:
    return database.first_of("sdk_sessions", "content_session_id", "claude_session_id")


def _memory(database: Database, table: str) -> str | None:
    return database.first_of(table, "memory_session_id", "sdk_session_id")


def _project(row: Row, work: Work) -> str:
    return work.line(row.get("merged_into_project")) or work.line(row.get("project"))


def _number(row: Row) -> dict[str, JSON]:
    number = row.get("prompt_number")
    return {"prompt_number": number} if isinstance(number, int) else {}


def _own(text: str) -> str:
    """`text` without what claude-mem itself had put into the conversation."""
    return _CONTEXT.cut(text, drop_before_stray=False)[0] if "claude-mem-context" in text else text


def _joined(*texts: str) -> str:
    return "\n\n".join(text.strip() for text in texts if text.strip())
