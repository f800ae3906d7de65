"""Small stores of other tools, made here: the columns are theirs, the statements and contents ours."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from pathlib import Path

MS = 1_769_749_200_000  # 2026-01-30T05:00:00Z


def build(
    path: Path, tables: Mapping[str, Sequence[str]], rows: Mapping[str, Iterable[Mapping[str, object]]] = {}
) -> Path:
    """A database with these tables (columns as in SQL) and rows."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(path)) as db, db:
        for name, columns in tables.items():
            db.execute(f"CREATE TABLE {name} ({', '.join(columns)})")
        for name, each in rows.items():
            insert(db, name, each)
    return path


def insert(db: sqlite3.Connection, table: str, rows: Iterable[Mapping[str, object]]) -> None:
    for row in rows:
        marks = ", ".join("?" * len(row))
        db.execute(f"INSERT INTO {table} ({', '.join(row)}) VALUES ({marks})", list(row.values()))


_STAMPS = ("created_at TEXT", "created_at_epoch INTEGER")


def claude_mem_tables(*, session: str, memory: str, new: bool) -> dict[str, list[str]]:
    tables = {
        "schema_versions": ["version INTEGER UNIQUE"],
        "sdk_sessions": [
            "id INTEGER PRIMARY KEY",
            f"{session} TEXT",
            f"{memory} TEXT UNIQUE",
            "project TEXT",
            "user_prompt TEXT",
            "started_at TEXT",
            "started_at_epoch INTEGER",
        ],
        "observations": [
            "id INTEGER PRIMARY KEY",
            f"{memory} TEXT",
            "project TEXT",
            "text TEXT",
            "type TEXT",
            *_STAMPS,
        ],
        "session_summaries": [
            "id INTEGER PRIMARY KEY",
            f"{memory} TEXT",
            "project TEXT",
            "request TEXT",
            "investigated TEXT",
            "learned TEXT",
            "completed TEXT",
            "next_steps TEXT",
            "files_read TEXT",
            "files_edited TEXT",
            "notes TEXT",
            *_STAMPS,
        ],
    }
    if new:
        tables["observations"] += [
            "title TEXT",
            "subtitle TEXT",
            "facts TEXT",
            "narrative TEXT",
            "concepts TEXT",
            "files_read TEXT",
            "files_modified TEXT",
            "prompt_number INTEGER",
            "merged_into_project TEXT",
        ]
        tables["session_summaries"] += ["prompt_number INTEGER"]
        tables["user_prompts"] = [
            "id INTEGER PRIMARY KEY",
            "session_db_id INTEGER",
            f"{session} TEXT",
            "prompt_number INTEGER",
            "prompt_text TEXT",
            *_STAMPS,
        ]
    return tables


def claude_mem(path: Path, *, schema: int = 55) -> Path:
    """A store as newer versions keep it: one session of haru, one of mado, and an observation without a session."""
    tables = claude_mem_tables(session="content_session_id", memory="memory_session_id", new=True)
    observation = {
        "memory_session_id": "m1",
        "project": "haru",
        "type": "decision",
        "title": "배포는 수요일에 한다",
        "subtitle": "금요일 배포 금지",
        "narrative": "운영 장애가 두 번 있어서 금요일 배포를 금지하기로 결정했다.",
        "facts": json.dumps(["결제 서버는 수요일 오전에만 배포한다"], ensure_ascii=False),
        "concepts": json.dumps(["deploy", "규칙"], ensure_ascii=False),
        "files_read": '["deploy/run.sh"]',
        "files_modified": '["docs/deploy.md"]',
        "prompt_number": 1,
        "created_at_epoch": MS + 60_000,
    }
    rows: dict[str, list[dict[str, object]]] = {
        "schema_versions": [{"version": schema}],
        "sdk_sessions": [
            {"content_session_id": "s-haru", "memory_session_id": "m1", "project": "haru", "started_at_epoch": MS},
            {"content_session_id": "s-mado", "memory_session_id": "m2", "project": "mado", "started_at_epoch": MS},
        ],
        "user_prompts": [
            {
                "content_session_id": "s-haru",
                "prompt_number": 1,
                "prompt_text": "배포 규칙을 정하자",
                "created_at_epoch": MS,
            },
            {
                "content_session_id": "s-mado",
                "prompt_number": 1,
                "prompt_text": "Speed up the window list",
                "created_at_epoch": MS + 1_000,
            },
        ],
        "observations": [
            observation,
            {
                "memory_session_id": "m2",
                "project": "mado",
                "type": "bugfix",
                "title": "Virtual scrolling",
                "narrative": "The window list renders only visible rows.",
                "created_at_epoch": MS + 2_000,
                "prompt_number": 1,
            },
            {
                "memory_session_id": "orphan",
                "project": "haru",
                "type": "discovery",
                "title": "Orphaned finding",
                "narrative": "Zebra crossing of lost rows.",
                "created_at_epoch": MS + 3_000,
            },
        ],
        "session_summaries": [
            {
                "memory_session_id": "m1",
                "project": "haru",
                "request": "배포 규칙",
                "completed": "규칙 문서를 썼다",
                "next_steps": "팀에 알린다",
                "created_at_epoch": MS + 120_000,
            },
        ],
    }
    return build(path, tables, rows)


def old_claude_mem(path: Path) -> Path:
    """A store of schema 4: other names of columns, only text, no table of prompts."""
    tables = claude_mem_tables(session="claude_session_id", memory="sdk_session_id", new=False)
    return build(
        path,
        tables,
        {
            "schema_versions": [{"version": 4}],
            "sdk_sessions": [
                {
                    "claude_session_id": "s-old",
                    "sdk_session_id": "k1",
                    "project": "haru",
                    "user_prompt": "캐시를 점검해줘",
                    "started_at": "2025-10-01T09:00:00.000Z",
                }
            ],
            "observations": [
                {
                    "sdk_session_id": "k1",
                    "project": "haru",
                    "type": "discovery",
                    "text": "캐시 만료가 60초로 잘못 설정되어 있었다.",
                    "created_at": "2025-10-01T09:05:00.000Z",
                }
            ],
        },
    )


def memory_layer(path: Path, *, turns: bool = True) -> Path:
    """A store of claude-memory-layer: one session with a prompt, an answer, a call and a summary."""
    events = [
        "id TEXT PRIMARY KEY",
        "event_type TEXT",
        "session_id TEXT",
        "timestamp TEXT",
        "content TEXT",
        "metadata TEXT",
    ]
    call = {
        "toolName": "Bash",
        "toolInput": {"command": "pytest -q"},
        "toolOutput": "3 failed: 멱등 키 누락",
        "durationMs": 5,
        "success": False,
    }
    told = [
        ("user_prompt", "결제 재시도 정책을 검토해줘"),
        ("agent_response", "Retries need an idempotency key. 멱등 키가 필요합니다."),
        ("tool_observation", json.dumps(call, ensure_ascii=False)),
        ("session_summary", "결제 재시도에 멱등 키를 넣기로 했다"),
    ]
    rows: list[dict[str, object]] = [
        {
            "id": f"e{n}",
            "event_type": kind,
            "session_id": "s-pay",
            "timestamp": f"2026-02-01T10:0{n}:00.000Z",
            "content": text,
            "metadata": "{}",
            **({"turn_id": "t1"} if turns else {}),
        }
        for n, (kind, text) in enumerate(told)
    ]
    sessions: dict[str, object] = {"id": "s-pay", "project_path": "/home/me/work/payments", "tags": '["pay"]'}
    return build(
        path,
        {
            "events": events + (["turn_id TEXT"] if turns else []),
            "sessions": ["id TEXT PRIMARY KEY", "started_at TEXT", "project_path TEXT", "summary TEXT", "tags TEXT"],
        },
        {"events": rows, "sessions": [sessions]},
    )
