"""`gieok install` and `gieok uninstall`."""

from __future__ import annotations

from enum import StrEnum
from importlib.util import find_spec
from typing import TYPE_CHECKING, Annotated

import typer

from pipeline.cli.lazy import module_app
from pipeline.cli.options import AsJson, Common, Config, Home, NoColor, common, print_json, wrapped
from pipeline.cli.run import FOUND, NOTHING, complain, ends_well

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pipeline.formatter import Line
    from pipeline.install.claude_code import Work
    from pipeline.install.snippets import Snippet

app = module_app()


class Scope(StrEnum):
    """For which projects."""

    user = "user"
    project = "project"


ScopeOption = Annotated[
    Scope,
    typer.Option("--scope", metavar="user|project", help="All projects of the user, or the one in this folder."),
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Show what would change, as a diff, and change nothing.")]


@app.command()
@ends_well
def install(
    ctx: typer.Context,
    host: Annotated[
        str | None, typer.Argument(metavar="HOST", help="claude-code; with --print, any that it names.")
    ] = None,
    scope: ScopeOption = Scope.user,
    dry_run: DryRun = False,
    print_only: Annotated[
        bool, typer.Option("--print", help="Print what MCP hosts need in their settings, and change nothing.")
    ] = False,
    as_json: AsJson = False,
    home: Home = None,
    config: Config = None,
    no_color: NoColor = False,
) -> int:
    """Register gieok in Claude Code: MCP server, hooks and the commands /diary, /reflect, /memory.

    Merged into what is there, with a backup. --home and --config are registered, too, if given.

    Example: gieok install claude-code --dry-run
    """
    from indexes.errors import UsageError
    from pipeline.install import claude_code, snippets

    chosen = common(ctx, home, config, no_color)
    words = _words(chosen, scope)
    if print_only:
        if dry_run:
            raise UsageError("--dry-run does not go with --print, which changes nothing. Leave one of them out.")
        _print(snippets.snippets(words, host), as_json=as_json)
        return FOUND
    _refuse_other_hosts(host, "install")
    work = claude_code.install(claude_code.Place.of(scope.value), words)
    changed = _do(work, scope, chosen, dry_run=dry_run, as_json=as_json)
    if not changed and not as_json:
        typer.echo("gieok is registered in Claude Code already; nothing to change.")
    elif not dry_run and not as_json:
        typer.echo("gieok is registered. Restart Claude Code, then try: /diary, /reflect, /memory QUERY")
    if find_spec("mcp") is None:
        complain('The MCP server will not start: it needs an extra. Run: pip install "gieok[mcp]"')
    return FOUND


@app.command()
@ends_well
def uninstall(
    ctx: typer.Context,
    host: Annotated[str | None, typer.Argument(metavar="HOST", help="claude-code.")] = None,
    scope: ScopeOption = Scope.user,
    dry_run: DryRun = False,
    as_json: AsJson = False,
    no_color: NoColor = False,
) -> int:
    """Take gieok out of Claude Code again. What else stands in its settings stays, and so does the memory.

    Example: gieok uninstall claude-code
    """
    from pipeline.install import claude_code
    from pipeline.install.state import registered

    chosen = common(ctx, None, None, no_color)
    _refuse_other_hosts(host, "uninstall")
    work = claude_code.uninstall(claude_code.Place.of(scope.value))
    changed = _do(work, scope, chosen, dry_run=dry_run, as_json=as_json)
    if not changed and not as_json:
        other = Scope.project if scope is Scope.user else Scope.user
        hint = f" But see: gieok uninstall claude-code --scope {other}" if registered(other.value).any else ""
        complain(f"Nothing of gieok is registered in Claude Code for this {scope}.{hint}")
    return FOUND if changed else NOTHING


def _words(chosen: Common, scope: Scope) -> list[str]:
    """What calls this gieok: its path, or by name in a project's files, which other machines share."""
    from pipeline.install.host import NAME, executable

    words = [executable() if scope is Scope.user else NAME]
    for option, path in (("--home", chosen.home), ("--config", chosen.config)):
        if path is not None:
            words += [option, str(path.expanduser().absolute())]
    return words


def _refuse_other_hosts(host: str | None, what: str) -> None:
    from indexes.errors import UsageError

    if host == "claude-code":
        return
    if host is None:
        raise UsageError(f"Name a host: gieok {what} claude-code. For others, see: gieok install --print")
    raise UsageError(f"gieok can't {what} itself in {host!r}. What to paste there is printed by: gieok install --print")


def _do(work: Work, scope: Scope, chosen: Common, *, dry_run: bool, as_json: bool) -> bool:
    """Do the work, or show what it would do; whether anything changed."""
    from pipeline.install.report import perform
    from pipeline.plaintext import clean

    report = perform(work, scope.value, dry_run=dry_run)
    if as_json:
        print_json(report.to_json())
        return bool(report.changes)
    for change in report.changes:
        kept = f" (before: {change.backup})" if change.backup else ""
        if dry_run:
            chosen.show(_diff_lines(change.diff))
        else:
            typer.echo(clean(f"{change.what.capitalize()} {change.path}{kept}"))
    for notice in report.notices:
        complain(f"Note: {notice}")
    return bool(report.changes)


def _diff_lines(diff: str) -> Iterator[Line]:
    from rich.text import Text

    from pipeline.formatter import Line

    styles = {"---": "bold", "+++": "bold", "@@": "cyan", "+": "green", "-": "red"}
    for text in diff.split("\n"):
        style = next((style for start, style in styles.items() if text.startswith(start)), "")
        yield Line("", Text(text, style))


def _print(found: list[Snippet], *, as_json: bool) -> None:
    from pipeline.plaintext import clean

    if as_json:
        print_json(wrapped("snippets", found))
        return
    for number, snippet in enumerate(found):
        lines = [f"# {snippet.title}: {', or '.join(snippet.files)}"]
        lines += [f"# {snippet.note}"] if snippet.note else []
        typer.echo(clean("\n".join(["", *lines] if number else lines)))
        typer.echo(clean(snippet.text))
