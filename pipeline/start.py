"""Where `gieok` begins: hooks take a short way, since a person waits for them; everything else is the command line."""

from __future__ import annotations

import sys


def main() -> None:
    """Run `gieok` with the arguments of this process."""
    from pipeline.hooks.command import hook_call

    call = hook_call(sys.argv[1:])
    if call is not None and not call.wants_help:
        from pipeline.hooks.guard import guarded

        guarded(call)
    from pipeline.cli import main as command_line

    command_line()
