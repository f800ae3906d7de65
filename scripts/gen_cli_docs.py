"""Writes docs/cli.md from the help of the commands.

python scripts/gen_cli_docs.py            write the page
python scripts/gen_cli_docs.py --check    exit 1 if the page is not what would be written
"""

from __future__ import annotations

import sys
from pathlib import Path

from typer.testing import CliRunner

from pipeline.cli import app

PAGE = Path(__file__).parents[1] / "docs" / "cli.md"
COMMANDS = ("index", "search", "explain", "timeline", "show", "status", "rebuild")

INTRODUCTION = """# Command line

This page is generated from `--help` by `scripts/gen_cli_docs.py`.

The options `--home`, `--config` and `--no-color` may stand before or after the command.

| exit code | meaning |
|---|---|
| 0 | found; for `index`: something could be indexed, or all was up to date |
| 1 | nothing found; stderr or the output says why, and what to do next |
| 2 | usage or input error: one line on stderr; for `index`: a path is missing, or everything failed |
| 130 | stopped by Ctrl-C; what was stored stays, and `gieok index` resumes |

`--json` prints one JSON object on stdout and nothing else; notices go to stderr. The shapes are in
[formats.md](formats.md): `search` prints index, timeline, details and meta as far as the layer goes (with
`--mode legacy` `{"results": […]}`), `timeline` `{"timeline": […]}`, `show` `{"details": […]}`. What a search opens by
itself, and why, is in [search.md](search.md).

A query needs no quotes: `gieok search 배포를 언제 막았지`. A word that begins with a dash works as it is (`-배포`)
unless it looks like an option (`-rf`); after `--` everything is the query.

Output is coloured and wrapped on a terminal, plain when it is piped, and never coloured with `NO_COLOR` or
`--no-color`. `GIEOK_DEBUG=1` adds the traceback to an error.
"""


def page() -> str:
    """The whole page."""
    sections = [INTRODUCTION, _section("gieok", ["--help"])]
    sections += [_section(f"gieok {name}", [name, "--help"]) for name in COMMANDS]
    return "\n".join(sections)


def _section(title: str, arguments: list[str]) -> str:
    # A fixed width, whatever the terminal's.
    shown = CliRunner().invoke(app, arguments, prog_name="gieok", terminal_width=100)
    if shown.exit_code != 0:
        raise SystemExit(f"gieok {' '.join(arguments)} failed: {shown.output}")
    return f"## {title}\n\n```text\n{shown.stdout.rstrip()}\n```\n"


def main(arguments: list[str]) -> int:
    """Write or check the page."""
    if arguments == ["--check"]:
        current = PAGE.read_text(encoding="utf-8") if PAGE.exists() else ""
        if current != page():
            print("docs/cli.md is out of date. Run: python scripts/gen_cli_docs.py")
            return 1
        return 0
    PAGE.write_text(page(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
