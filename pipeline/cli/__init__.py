"""The command line: `gieok`.

Nothing heavy is imported before a command runs, so that help, completion and mistakes answer at once.
"""

from __future__ import annotations

import sys

from pipeline.cli.app import app
from pipeline.cli.run import FAILED, INTERRUPTED, complain, into_nothing, speak_utf8

__all__ = ["app", "main"]


def main() -> None:
    """Run `gieok` with the arguments of this process, and exit with its code."""
    speak_utf8()
    try:
        try:
            app(prog_name="gieok")
        finally:
            sys.stdout.flush()
    except OSError as error:  # a full disk, a pipe that is gone
        into_nothing()
        complain(f"Error: stdout can't be written ({error.strerror})")
        sys.exit(FAILED)
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
