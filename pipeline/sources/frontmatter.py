"""YAML front matter: `---`, keys, `---` at the top of a Markdown file."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

import yaml

from indexes.types import JSON

MAX_CHARACTERS = 20_000
"""Longer front matter is no front matter: the longest in the notes this was tried on has 300 characters."""

_OPEN = re.compile(r"---[ \t]*\n")
_CLOSE = re.compile(r"^(?:---|\.\.\.)[ \t]*$", re.MULTILINE)
_KEY_LINE = re.compile(r"(\w[\w.-]*(?: [\w.-]+)*)[ \t]*:(?:[ \t]+(.*))?")


@dataclass(frozen=True, slots=True)
class FrontMatter:
    """What stands above the body; `data` is empty and `body` the whole text if there is none."""

    body: str
    data: dict[str, JSON] = field(default_factory=dict)
    notices: tuple[str, ...] = ()


class _Loader(yaml.SafeLoader):
    """Plain values only: no aliases (a few of them make gigabytes), dates stay text, `14:05` and `01` too."""

    yaml_implicit_resolvers = {}  # noqa: RUF012 - PyYAML's own name and form

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            raise yaml.YAMLError("aliases are not read")
        return super().compose_node(parent, index)


for _tag, _pattern, _first in (
    ("null", r"|~|null|Null|NULL", ["~", "n", "N", ""]),
    ("bool", r"true|True|TRUE|false|False|FALSE", list("tTfF")),
    ("int", r"-?(?:0|[1-9][0-9]{0,17})", list("-0123456789")),
    ("float", r"-?[0-9]+\.[0-9]+", list("-0123456789")),
):
    _Loader.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", re.compile(rf"(?:{_pattern})$"), _first)


def split_front_matter(text: str) -> FrontMatter:
    """Take the front matter off `text`. What is no YAML is read line by line as `key: value`, with a notice."""
    opening = _OPEN.match(text)
    closing = opening and _CLOSE.search(text, opening.end(), opening.end() + MAX_CHARACTERS)
    if not opening or not closing:
        if opening and _KEY_LINE.match(text, opening.end()):
            return FrontMatter(text, notices=("its front matter is not closed by '---', so it was read as text",))
        return FrontMatter(text)
    head, body = text[opening.end() : closing.start()], text[closing.end() :].removeprefix("\n")
    try:
        data = yaml.load(head, _Loader)  # noqa: S506 - derives from SafeLoader
    except Exception as error:  # PyYAML's constructors raise whatever comes on odd tags: `!!int ""`, `!!bool foo`
        return FrontMatter(body, _by_line(head), (f"its front matter is not valid YAML ({_place(error)})",))
    if data is None:
        return FrontMatter(body)
    if not isinstance(data, dict):
        return FrontMatter(text)  # two rules with prose between them
    return FrontMatter(body, {str(key): _json(value) for key, value in data.items()})


def _by_line(head: str) -> dict[str, JSON]:
    pairs = (_KEY_LINE.fullmatch(line) for line in head.split("\n"))
    return {pair[1]: (pair[2] or "").strip().strip("\"'") for pair in pairs if pair}


def _place(error: Exception) -> str:
    if isinstance(error, yaml.MarkedYAMLError) and error.problem_mark is not None:
        return f"line {error.problem_mark.line + 2}: {error.problem or error.context}; read key by key"
    return f"{error}; read key by key".split("\n")[0]


def _json(value: object) -> JSON:
    """`value` as JSON has it. Aliases are refused, so this ends."""
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if abs(value) < float("inf") else str(value)
    if isinstance(value, dict):
        return {str(key): _json(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set):
        return [_json(item) for item in value]
    return str(value)
