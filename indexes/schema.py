"""The schema of the store. A change here raises SCHEMA_VERSION and comes with a migration."""

from __future__ import annotations

SCHEMA_VERSION = 2

FORGOTTEN: tuple[str, ...] = (
    # What shall not come back (`indexes.forgetting`). `name` is a memory's id or a keyed digest of its text, `mark` the
    # memory that it stands for; what was forgotten together has one `batch`.
    # IF NOT EXISTS: development versions added it to stores of schema 1.
    """CREATE TABLE IF NOT EXISTS forgotten (
        name TEXT PRIMARY KEY,
        mark TEXT NOT NULL,
        batch INTEGER NOT NULL,
        forgotten_ms INTEGER NOT NULL
    ) WITHOUT ROWID""",
)
"""What schema 2 adds to schema 1."""

SCHEMA: tuple[str, ...] = (
    "CREATE TABLE meta (key TEXT PRIMARY KEY, value) WITHOUT ROWID",
    # AUTOINCREMENT: a rid is never used twice, so that a derived index which lags can't mistake one memory for another.
    """CREATE TABLE memories (
        rid INTEGER PRIMARY KEY AUTOINCREMENT,
        sequence INTEGER NOT NULL,
        text_sequence INTEGER NOT NULL,
        id TEXT NOT NULL UNIQUE,
        content TEXT NOT NULL,
        type TEXT NOT NULL,
        timestamp_ms INTEGER NOT NULL,
        session_id TEXT NOT NULL,
        position INTEGER NOT NULL,
        title TEXT NOT NULL,
        parent_id TEXT,
        project TEXT,
        team_id TEXT,
        task_id TEXT,
        tags TEXT NOT NULL,
        files TEXT NOT NULL,
        tools TEXT NOT NULL,
        metadata TEXT NOT NULL
    )""",
    "CREATE INDEX memories_sequence ON memories (sequence)",
    "CREATE INDEX memories_session ON memories (session_id, timestamp_ms, position, rid)",
    "CREATE INDEX memories_parent ON memories (parent_id) WHERE parent_id IS NOT NULL",
    "CREATE INDEX memories_time ON memories (timestamp_ms)",
    "CREATE INDEX memories_project ON memories (project) WHERE project IS NOT NULL",
    "CREATE INDEX memories_type ON memories (type)",
    """CREATE TABLE sources (
        source_id INTEGER PRIMARY KEY AUTOINCREMENT,
        key TEXT NOT NULL UNIQUE,
        path TEXT NOT NULL UNIQUE,
        root TEXT NOT NULL,
        label TEXT NOT NULL,
        fingerprint TEXT NOT NULL,
        indexed_ms INTEGER NOT NULL
    )""",
    "CREATE INDEX sources_fingerprint ON sources (fingerprint)",
    """CREATE TABLE occurrences (
        source_id INTEGER NOT NULL REFERENCES sources ON DELETE CASCADE,
        rid INTEGER NOT NULL REFERENCES memories ON DELETE CASCADE,
        PRIMARY KEY (source_id, rid)
    ) WITHOUT ROWID""",
    "CREATE INDEX occurrences_rid ON occurrences (rid)",
    """CREATE TABLE tags (
        tag TEXT NOT NULL,
        rid INTEGER NOT NULL REFERENCES memories ON DELETE CASCADE,
        PRIMARY KEY (tag, rid)
    ) WITHOUT ROWID""",
    "CREATE INDEX tags_rid ON tags (rid)",
    "CREATE TABLE removals (sequence INTEGER PRIMARY KEY, rid INTEGER NOT NULL)",
    *FORGOTTEN,
)
