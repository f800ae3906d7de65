"""What `gieok search` does with its options: which kind of search, in which form, and how it ends."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import typer

from indexes.errors import UsageError
from pipeline.cli.options import print_json, wrapped
from pipeline.cli.run import FOUND, NOTHING, complain

if TYPE_CHECKING:
    from pipeline.cli.options import Common
    from pipeline.filters import SearchFilter
    from pipeline.gieok import Gieok
    from pipeline.options import Form
    from pipeline.results import Answer, LegacyHit


class Layer(StrEnum):
    """How much is shown: what the rules say, or always the same."""

    auto = "auto"
    lines = "1"
    snippets = "2"
    details = "3"


class Mode(StrEnum):
    """Step by step, or all at once."""

    progressive = "progressive"
    legacy = "legacy"


class Format(StrEnum):
    """What people read, or agents."""

    text = "text"
    markdown = "markdown"


@dataclass(frozen=True, slots=True)
class Ask:
    """The options of one search, as given: None is not given."""

    question: str
    narrowed: SearchFilter
    layer: Layer | None
    mode: Mode | None
    top_k: int | None
    min_score: float | None
    max_tokens: int | None
    no_expand: bool
    no_time: bool
    as_json: bool
    form: Format | None

    def check(self) -> None:
        """Refuse options that contradict each other. Raises UsageError."""
        smart = {"--no-expand": self.no_expand, "--max-tokens": self.max_tokens is not None}
        fixed = f"--layer {self.layer}" if self.layer not in (None, Layer.auto) else None
        if self.mode is Mode.legacy:
            fixed = "--mode legacy"
            smart |= {"--layer": self.layer is not None, "--min-score": self.min_score is not None}
        given = [name for name, is_given in smart.items() if is_given]
        if fixed and given:
            raise UsageError(f"{given[0]} does not go with {fixed}. Leave one of them out.")
        if self.as_json and self.form is not None:
            raise UsageError("--format does not go with --json. Leave one of them out.")

    def run(self, memory: Gieok, chosen: Common) -> int:
        """Search and print; the exit code."""
        self.check()
        if self.mode is not None:
            legacy = self.mode is Mode.legacy
        else:  # a layer is something that only the progressive mode has
            legacy = self.layer is None and memory.settings.progressive.mode == "legacy"
        if legacy:
            return self._legacy(memory, chosen)
        return self._show(self._answer(memory), memory, chosen)

    def _answer(self, memory: Gieok) -> Answer:
        if self.layer not in (None, Layer.auto):
            return memory.find(
                self.question,
                layer=int(self.layer),
                top_k=self.top_k,
                filter=self.narrowed,
                min_score=self.min_score,
            )
        from pipeline.options import SmartSearchOptions

        given: dict[str, Any] = {"auto_expand_timeline": False, "auto_expand_details": False} if self.no_expand else {}
        if self.no_time:
            given["detect_time"] = False
        options = SmartSearchOptions(
            top_k=self.top_k,
            min_score=self.min_score,
            max_total_tokens=self.max_tokens,
            filter=self.narrowed,
            **given,
        )
        form: Form = "json" if self.as_json else "markdown" if self.form is Format.markdown else "text"
        return memory.smart_search(self.question, options, form=form)

    def _show(self, answer: Answer, memory: Gieok, chosen: Common) -> int:
        zone = memory.settings.time.tzinfo()
        if self.as_json:
            print_json(answer.result.to_json())
            for line in [*answer.notices, *(part for part in (answer.reason, answer.advice) if answer.reason and part)]:
                complain(line)
        elif self.form is Format.markdown:
            from pipeline.markdown import search_markdown

            sys.stdout.write(search_markdown(answer, memory.short_id, zone=zone))
        else:
            from pipeline.formatter import search_view

            smart = self.layer in (None, Layer.auto)
            layer = None if smart else int(self.layer or 1)
            budget = self.max_tokens or memory.settings.budget.max_total_tokens
            chosen.show(search_view(self.question, answer, memory.short_id, layer=layer, budget=budget, zone=zone))
        return FOUND if answer.result.index else NOTHING

    def _legacy(self, memory: Gieok, chosen: Common) -> int:
        hits = memory.search(self.question, self.top_k, filter=self.narrowed, mode="legacy")
        self._show_legacy(hits, memory, chosen)
        if hits:
            return FOUND
        why = memory.find(self.question, filter=self.narrowed, min_score=0.0)
        for line in [*why.notices, *(part for part in (why.reason, why.advice) if part)]:
            complain(line)
        return NOTHING

    def _show_legacy(self, hits: Sequence[LegacyHit], memory: Gieok, chosen: Common) -> None:
        zone = memory.settings.time.tzinfo()
        if self.as_json:
            print_json(wrapped("results", hits))
        elif self.form is Format.markdown:
            from pipeline.markdown import legacy_markdown

            typer.echo(legacy_markdown(hits, memory.short_id, zone=zone), nl=False)
        else:
            from pipeline.formatter import legacy_view

            chosen.show(legacy_view(self.question, hits, memory.short_id, zone=zone))
