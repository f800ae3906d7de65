"""Where diary entries lie and rules go, if nobody names another place."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.settings import Settings

if TYPE_CHECKING:
    from indexes.embedder import Embedder


def folder_of(settings: Settings, home: Path, named: Path | None = None) -> Path:
    """The folder of the diary: `named`, else that of the settings, else `diary` in the home."""
    configured: str = getattr(getattr(settings, "diary", None), "folder", "")
    return (named or (Path(configured) if configured else home / "diary")).expanduser()


def target_of(settings: Settings, named: Path | None = None) -> Path:
    """The rules file: `named`, else `reflect.to`, from the current folder."""
    return (named or Path(settings.reflect.to)).expanduser().absolute()


def embedder_of(settings: Settings) -> Embedder | None:
    """The model of the settings, not loaded yet; None if they want none. No store is needed for it."""
    if settings.embedder.model == "none":
        return None
    from indexes.embedder import FastEmbedder

    return FastEmbedder(settings.embedder.model, threads=settings.embedder.threads or None)
