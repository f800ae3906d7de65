"""How a command ends: exit codes, errors as one line, Ctrl-C, closed pipes."""

from __future__ import annotations

import functools
import io
import os
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import ParamSpec

import typer

from indexes.errors import GieokError
from pipeline.plaintext import clean, fold

FOUND, NOTHING, FAILED, INTERRUPTED = 0, 1, 2, 130
"""Exit codes. 130 is what shells give a command that was stopped by Ctrl-C (128 + SIGINT)."""

P = ParamSpec("P")


def ends_well(command: Callable[P, int]) -> Callable[P, None]:
    """Let a command exit with the code that it returns, and turn whatever it raises into one line on stderr."""

    @functools.wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        raise typer.Exit(_outcome(lambda: command(*args, **kwargs)))

    run.__annotations__ = {**command.__annotations__, "return": "None"}
    return run


def _outcome(command: Callable[[], int]) -> int:
    try:
        code = command()
        sys.stdout.flush()
    except (typer.Exit, typer.BadParameter):
        raise
    except KeyboardInterrupt:
        complain("stopped; what was stored stays. `gieok index` resumes.")
        return INTERRUPTED
    except BrokenPipeError:
        into_nothing()  # the reader (`| head`) has seen enough
        return FOUND
    except GieokError as error:
        _trace()
        complain(f"Error: {error}")
        return FAILED
    except BaseException as error:  # the panics of tantivy are not Exceptions
        _trace()
        said = f"{error}"[:300]
        complain(f"Error: unexpected {type(error).__name__}: {said}. For the traceback set GIEOK_DEBUG=1.")
        return FAILED
    return code


def into_nothing() -> None:
    """Let what is still to be written to stdout vanish: Python flushes once more at exit, and would complain."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def complain(message: str) -> None:
    """Say something on stderr, on one line and with nothing that a terminal would obey."""
    print(fold(clean(message)), file=sys.stderr)  # noqa: T201


def _trace() -> None:
    if os.environ.get("GIEOK_DEBUG") == "1":
        traceback.print_exc()


def speak_utf8() -> None:
    """Print UTF-8 whatever the locale says: Korean must not fail under `LANG=C`."""
    # A closed stream (`>&-`) is None: nobody listens.
    sys.stdout = sys.stdout or Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115
    sys.stderr = sys.stderr or Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")


def decoded(argument: str) -> str:
    """An argument as UTF-8, also where the locale made Python take its bytes for something else."""
    return argument.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
