"""What each tool may be told: typed, bounded, and nothing else. The same models make the schemas that clients see."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from indexes.errors import UsageError
from indexes.types import MemoryType
from pipeline.filters import SearchFilter
from pipeline.notes import MAX_CHARACTERS, MAX_NAME, MAX_TAGS
from pipeline.plaintext import cut, shown

RESULT_TOKENS = 8_000
"""What one result may hold unless it is told otherwise: hosts cut off or refuse what is much longer."""
MOST_TOKENS = 20_000
LEAST_TOKENS = 200
"""A frame and a line fit into so many."""

Query = Annotated[str, Field(min_length=1, max_length=10_000)]
TopK = Annotated[int, Field(ge=1, le=50)]
Score = Annotated[float, Field(ge=0, le=1)]
Tokens = Annotated[int, Field(ge=LEAST_TOKENS, le=MOST_TOKENS)]
Name = Annotated[str, Field(min_length=1, max_length=MAX_NAME)]
Day = Annotated[str, Field(max_length=40)]
Ids = Annotated[list[Annotated[str, Field(max_length=100)]], Field(min_length=1, max_length=20)]

A = TypeVar("A", bound="Arguments")


class Arguments(BaseModel):
    """Base of them all. What is null counts as left out."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)


class Nothing(Arguments):
    """No arguments."""


class Narrowing(Arguments):
    """What narrows a search; everything given must fit."""

    types: list[MemoryType] | None = None
    session: Name | None = None
    project: Name | None = None
    since: Annotated[Day | None, Field(description="YYYY-MM-DD, inclusive, as until")] = None
    until: Day | None = None

    def filter(self) -> SearchFilter:
        """The filter that these arguments make."""
        given = {name: getattr(self, name) for name in type(self).model_fields if name in _FILTER_FIELDS}
        for several in ("types", "tags"):
            given[several] = tuple(given.get(several) or ())
        return SearchFilter(**given)


_FILTER_FIELDS = frozenset(SearchFilter.__dataclass_fields__)


class Search(Narrowing):
    """Layer 1."""

    query: Query
    top_k: TopK | None = None
    min_score: Score | None = None


class Timeline(Arguments):
    """Layer 2."""

    observation_ids: Ids
    window: Annotated[Annotated[int, Field(ge=0, le=20)] | None, Field(description="neighbours on each side")] = None


class GetObservations(Arguments):
    """Layer 3."""

    ids: Ids
    query: Annotated[Query | None, Field(description="give only the parts that match it")] = None
    max_tokens: Annotated[Tokens | None, Field(description=f"default {RESULT_TOKENS}")] = None


class Smart(Narrowing):
    """All layers, by rules."""

    team: Name | None = None
    task: Name | None = None
    tags: Annotated[list[Name], Field(max_length=MAX_TAGS)] | None = None
    query: Query
    top_k: TopK | None = None
    min_score: Score | None = None
    auto_expand_timeline: bool | None = None
    auto_expand_details: bool | None = None
    max_auto_expand_count: Annotated[int, Field(ge=0, le=10)] | None = None
    max_total_tokens: Tokens | None = None
    detect_time: Annotated[bool | None, Field(description="words of time in the query are dates")] = None


class Remember(Arguments):
    """A note."""

    text: Annotated[str, Field(min_length=1, max_length=MAX_CHARACTERS)]
    title: Name | None = None
    tags: Annotated[list[Name], Field(max_length=MAX_TAGS)] | None = None
    project: Name | None = None


def read(model: type[A], tool: str, given: Mapping[str, Any] | None) -> A:
    """The arguments of a call, checked. Raises UsageError, one line that says what to change."""
    try:
        return model.model_validate(dict(given or {}))
    except ValidationError as error:
        raise UsageError(f"{tool}: {'; '.join(_problems(error, model))}.") from None


def schema(model: type[Arguments]) -> dict[str, Any]:
    """The JSON schema of the arguments, without what only costs tokens: titles, nulls, docstrings."""
    full = model.model_json_schema()
    properties = {name: _lean(field) for name, field in full.get("properties", {}).items()}
    required = full.get("required", [])
    first = {name: properties[name] for name in required}
    lean: dict[str, Any] = {"type": "object", "properties": first | properties}
    if required:
        lean["required"] = required
    return lean | {"additionalProperties": False}


def _lean(field: Mapping[str, Any]) -> dict[str, Any]:
    rest = {name: value for name, value in field.items() if name not in ("title", "default", "anyOf")}
    for option in field.get("anyOf", ()):
        if option.get("type") != "null":
            rest = _lean(option) | rest
    if "items" in rest:
        rest["items"] = _lean(rest["items"])
    return rest


def _problems(error: ValidationError, model: type[Arguments]) -> list[str]:
    problems = []
    for item in error.errors(include_url=False)[:5]:
        name = shown(".".join(str(part) for part in item["loc"]))
        match item["type"]:
            case "extra_forbidden":
                known = ", ".join(schema(model)["properties"]) or "none"
                problems.append(f"unknown argument {name} (known: {known})")
            case "missing":
                problems.append(f"{name} is missing")
            case _:
                said = item["msg"][:1].lower() + item["msg"][1:]
                problems.append(f"{name} is {cut(shown(repr(item['input'])), 60)}: {said}")
    return problems
