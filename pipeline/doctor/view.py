"""A diagnosis as people read it: a line for each finding, and what mends it below."""

from __future__ import annotations

from collections.abc import Iterator

from rich.text import Text

from pipeline.doctor.findings import Diagnosis, Level
from pipeline.formatter import Line
from pipeline.plaintext import clean, fold

_SIGNS: dict[Level, tuple[str, str]] = {
    "ok": ("ok", "green"),
    "warn": ("warn", "yellow"),
    "problem": ("PROBLEM", "bold red"),
}
_SUMMARY: dict[Level, str] = {
    "ok": "All is well.",
    "warn": "No problem; the warnings are worth a look.",
    "problem": "Something needs mending.",
}


def doctor_view(diagnosis: Diagnosis) -> Iterator[Line]:
    """All findings in the order in which they were looked at."""
    yield Line("", Text(f"gieok {diagnosis.version}, store in {clean(diagnosis.home)}"))
    for finding in diagnosis.findings:
        sign, style = _SIGNS[finding.level]
        body = Text.assemble((f"{sign:<8}", style), f"{finding.check:<12}", fold(clean(finding.what)))
        yield Line("", body)
        if finding.mend is not None:
            yield Line(" " * 20, Text(f"mend: {fold(clean(finding.mend))}"))
    yield Line("", Text(_SUMMARY[diagnosis.worst]))
