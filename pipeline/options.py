"""What one smart search may be told. Options belong to one call: nothing of them stays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from indexes.errors import UsageError
from pipeline.filters import SearchFilter

Form: TypeAlias = Literal["json", "markdown", "text"]
"""What an answer is written as, and so what its tokens are: JSON for programs, Markdown for agents, text for people."""

Mode: TypeAlias = Literal["progressive", "legacy"]
"""Step by step, or the whole contents of the first hits at once."""

Positive = Annotated[int, Field(ge=1)]


class SmartSearchOptions(BaseModel):
    """Options of `Gieok.smart_search`; what is None comes from the settings.

    `auto_expand_timeline` and `auto_expand_details` allow a layer, `max_auto_expand_count` bounds how many memories are
    opened, `max_total_tokens` everything that is returned. `detect_time` makes a date filter of words of time, unless
    `filter` has dates of its own. Options that make no sense, alone or together, raise UsageError.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True, allow_inf_nan=False)

    top_k: Positive | None = None
    min_score: Annotated[float, Field(ge=0, le=1)] | None = None
    auto_expand_timeline: bool | None = None
    auto_expand_details: bool | None = None
    max_auto_expand_count: Annotated[int, Field(ge=0)] | None = None
    max_total_tokens: Positive | None = None
    filter: SearchFilter | None = None
    detect_time: bool | None = None

    if not TYPE_CHECKING:  # type checkers know the fields from above

        def __init__(self, **given: Any) -> None:
            try:
                super().__init__(**given)
            except ValidationError as error:
                raise UsageError(_explain(error)) from error
            _refuse_contradictions(self)


def _refuse_contradictions(options: SmartSearchOptions) -> None:
    if options.max_auto_expand_count == 0:
        for name in ("auto_expand_timeline", "auto_expand_details"):
            if getattr(options, name):
                raise UsageError(f"max_auto_expand_count is 0, but {name} is on. Leave one of them out.")
    if options.max_auto_expand_count and options.auto_expand_timeline is options.auto_expand_details is False:
        raise UsageError(
            f"max_auto_expand_count is {options.max_auto_expand_count}, but auto_expand_timeline and"
            " auto_expand_details are off. Allow one of them, or leave the count out."
        )
    dated = options.filter is not None and (options.filter.since is not None or options.filter.until is not None)
    if dated and options.detect_time:
        raise UsageError("The filter has dates, but detect_time is on. Leave one of them out.")


def _explain(error: ValidationError) -> str:
    problems = []
    for item in error.errors():
        name = ".".join(str(part) for part in item["loc"])
        if item["type"] == "extra_forbidden":
            known = ", ".join(SmartSearchOptions.model_fields)
            problems.append(f"unknown option {name} (known: {known})")
        else:
            problems.append(f"{name} is {item['input']!r}: {item['msg'][:1].lower()}{item['msg'][1:]}")
    return f"Options of the search: {'; '.join(problems)}."
