"""The commands `/diary`, `/reflect` and `/memory`: Markdown that tells an agent what to do.

Each is written for two places, with what to call filled in: the host's commands folder and the plugin. Installed files
carry a digest of their text, so that one that its user changed is known and left alone.
"""

from __future__ import annotations

import hashlib
import re
import shlex
from collections.abc import Sequence
from importlib import resources

INSTALLED_TOOLS, PLUGIN_TOOLS = "mcp__gieok__", "mcp__plugin_gieok_gieok__"
"""How Claude Code names the tools of a server that is registered by itself, and of one that a plugin brings."""

NAMES = ("diary", "reflect", "memory")
"""The commands, each a template in the folder `templates`."""

_SIGNATURE = re.compile(r"^gieok: ([0-9a-f]{16})\n", re.MULTILINE)


def text(name: str, words: Sequence[str], tools: str) -> str:
    """A command that calls gieok by `words`, and its MCP tools by the prefix `tools`."""
    template = resources.files("pipeline.install").joinpath("templates", f"{name}.md").read_text(encoding="utf-8")
    return template.replace("{tools}", tools).replace("{gieok}", shlex.join(words))


def signed(command: str) -> str:
    """A command with the digest of its text in the front matter, where no agent pays for it."""
    head, fence, rest = command.partition("\n---\n")
    return f"{head}\ngieok: {_digest(command)}{fence}{rest}"


def is_ours(installed: str) -> bool:
    """Whether a file in the commands folder was written by some gieok, changed since or not."""
    return _SIGNATURE.search(_head(installed)) is not None


def is_untouched(installed: str) -> bool:
    """Whether a file in the commands folder is as some gieok wrote it."""
    found = _SIGNATURE.search(_head(installed))
    return found is not None and found[1] == _digest(installed[: found.start()] + installed[found.end() :])


def _head(installed: str) -> str:
    return installed.partition("\n---\n")[0] + "\n"


def _digest(command: str) -> str:
    return hashlib.sha256(command.encode("utf-8", "surrogatepass")).hexdigest()[:16]
