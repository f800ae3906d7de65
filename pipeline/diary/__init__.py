"""Diary entries: what a session did, was told, decided, got wrong and repeats, one Markdown file a session."""
