"""The command line: `gieok`.

Nothing heavy is imported before a command runs, so that help, completion and mistakes answer at once.
"""

from __future__ import annotations

from pipeline.cli.app import app
from pipeline.cli.run import speak_utf8

__all__ = ["app", "main"]


def main() -> None:
    """Run `gieok` with the arguments of this process, and exit with its code."""
    speak_utf8()
    app(prog_name="gieok")
