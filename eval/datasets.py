"""Labelled sets in the BEIR layout, read strictly.

A set is a folder with `corpus.jsonl` (`_id`, `title`, `text`, `metadata`), `queries.jsonl` (`_id`, `text`) and
`qrels/<split>.tsv` (query id, document id, grade; a header line is allowed). What cannot be scored is refused
(a missing split, a broken line, a repeated id, a judged query without text of its own, no relevant document at all);
what can still be scored, but says something about the set, comes back as a `Problem` with its count and names.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from indexes.errors import SourceError, UsageError

_ROOT = Path(__file__).resolve().parent.parent
SAMPLE = Path(__file__).resolve().parent / "sample"
SAMPLE_NAME = "sample"


@dataclass(frozen=True, slots=True)
class Document:
    """A row of the corpus. `metadata` may hold `type`, `timestamp` and `session_id` (or `session`)."""

    id: str
    title: str
    text: str
    metadata: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Problem:
    """Something odd in a set that did not stop it: what, how often, and the first few names."""

    kind: str
    count: int
    examples: tuple[str, ...]
    consequence: str

    def __str__(self) -> str:
        more = " …" if self.count > len(self.examples) else ""
        return f"{self.kind}: {self.count} ({', '.join(self.examples)}{more}); {self.consequence}"


@dataclass(frozen=True, slots=True)
class Dataset:
    """One split of a set: the whole corpus, the judged queries of the split, and grades above 0 per query.

    Every query of `queries` has an entry in `qrels` with at least one document, and is part of every mean.
    """

    name: str
    split: str
    path: Path
    documents: tuple[Document, ...]
    queries: Mapping[str, str]
    qrels: Mapping[str, Mapping[str, int]]
    problems: tuple[Problem, ...] = ()


def data_folder() -> Path:
    """Where sets are looked for: `GIEOK_DATA`, else `../shared/data` beside the project."""
    given = os.environ.get("GIEOK_DATA")
    return Path(given).expanduser() if given else _ROOT.parent / "shared" / "data"


def is_set(folder: Path) -> bool:
    """Whether a folder has the BEIR layout."""
    return (folder / "corpus.jsonl").is_file() and (folder / "queries.jsonl").is_file()


def found() -> dict[str, Path]:
    """The sets at hand by name: those of `data_folder()`, and the built-in `sample`."""
    folder = data_folder()
    inside = sorted(folder.iterdir()) if folder.is_dir() else []
    sets = {path.name: path for path in inside if path.is_dir() and is_set(path)}
    if is_set(SAMPLE):
        sets.setdefault(SAMPLE_NAME, SAMPLE)
    return sets


def locate(name: str) -> Path:
    """The folder of a set given by name or by path.

    Raises UsageError (nothing of that name has the BEIR layout).
    """
    known = found()
    if name in known:
        return known[name]
    if is_set(Path(name)):
        return Path(name)
    raise UsageError(
        f"No dataset {name!r}: it is neither a folder with corpus.jsonl and queries.jsonl nor one of "
        f"{', '.join(known) or 'nothing'} in {data_folder()}. See: python -m eval datasets"
    )


def splits(folder: Path) -> list[str]:
    """The splits that a set has."""
    return sorted(path.stem for path in (folder / "qrels").glob("*.tsv"))


def load(name: str, split: str) -> Dataset:
    """Read one split of a set.

    Raises UsageError (no such set, or no such split in it), SourceError (a file is missing, unreadable or
    broken, an id is repeated, or nothing is relevant).
    """
    folder = locate(name)
    judged = folder / "qrels" / f"{split}.tsv"
    if not judged.is_file():
        have = ", ".join(splits(folder)) or "none"
        raise UsageError(f"The set {folder.name!r} has no split {split!r}; it has: {have}")
    documents = _documents(folder / "corpus.jsonl")
    texts = _queries(folder / "queries.jsonl")
    grades = _qrels(judged)
    unknown = [query for query in grades if query not in texts]
    if unknown:
        raise SourceError(f"{judged}: {_named(unknown)} judged but not in queries.jsonl; add them or the rows")
    qrels = {query: {doc: g for doc, g in docs.items() if g > 0} for query, docs in grades.items()}
    scored = {query: docs for query, docs in qrels.items() if docs}
    if not scored:
        raise SourceError(f"{judged}: no document is relevant to any query (every grade is 0, or no rows)")
    queries = {query: texts[query] for query in scored}
    problems = _problems(qrels, queries, {document.id for document in documents})
    resolved = folder.resolve()
    return Dataset(resolved.name, split, resolved, documents, queries, scored, problems)


def _problems(
    qrels: Mapping[str, Mapping[str, int]], queries: Mapping[str, str], known: set[str]
) -> tuple[Problem, ...]:
    kinds = (
        (
            "judged documents that are not in the corpus",
            sorted({doc for docs in qrels.values() for doc in docs if doc not in known}),
            "they count as relevant and can never be found",
        ),
        (
            "queries without a relevant document",
            [query for query, docs in qrels.items() if not docs],
            "no measure is defined for them: they are in no mean",
        ),
        (
            "empty queries",
            [query for query, text in queries.items() if not text.strip()],
            "there is nothing to ask: they count 0 in every mean",
        ),
    )
    return tuple(Problem(kind, len(names), tuple(names[:5]), then) for kind, names, then in kinds if names)


def _named(names: Sequence[str], noun: str = "query ids") -> str:
    return f"{len(names)} {noun} ({', '.join(names[:5])}{' …' if len(names) > 5 else ''})"


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    """Numbered lines, cut at line feeds only: a text may hold other separators."""
    try:
        with path.open(encoding="utf-8-sig", newline="\n") as file:
            for number, line in enumerate(file, 1):
                if line.strip():
                    yield number, line.rstrip("\r\n")
    except OSError as error:
        raise SourceError(f"{path}: cannot be read ({error.strerror}). A set needs this file.") from error
    except UnicodeDecodeError as error:
        raise SourceError(f"{path}: not UTF-8 (byte {error.start}). Convert the file first.") from error


def _rows(path: Path) -> Iterator[tuple[str, dict[str, object]]]:
    """The objects of a JSON Lines file by `_id`, each with a `text`."""
    seen: set[str] = set()
    repeated: list[str] = []
    for number, line in _lines(path):
        try:
            row = json.loads(line)
        except ValueError as error:
            raise SourceError(f"{path}:{number}: not JSON ({error})") from error
        if not isinstance(row, dict) or not isinstance(row.get("_id"), str) or not isinstance(row.get("text"), str):
            raise SourceError(f'{path}:{number}: needs an object with the texts "_id" and "text"')
        if row["_id"] in seen:
            repeated.append(row["_id"])
        seen.add(row["_id"])
        yield row["_id"], row
    if repeated:
        raise SourceError(f"{path}: {_named(repeated, 'repeated ids')}; every id may stand once")


def _documents(path: Path) -> tuple[Document, ...]:
    documents = []
    for key, row in _rows(path):
        title, metadata = row.get("title") or "", row.get("metadata") or {}
        if not isinstance(title, str) or not isinstance(metadata, dict):
            raise SourceError(f'{path}: document {key!r} needs a text "title" and an object "metadata"')
        documents.append(Document(key, title, str(row["text"]), metadata))
    return tuple(documents)


def _queries(path: Path) -> dict[str, str]:
    return {key: str(row["text"]) for key, row in _rows(path)}


def _qrels(path: Path) -> dict[str, dict[str, int]]:
    grades: dict[str, dict[str, int]] = {}
    for number, line in _lines(path):
        cells = line.split("\t")
        if len(cells) == 3 and number == 1 and not cells[2].strip().lstrip("-").isdigit():
            continue  # the header
        try:
            query, document, grade = cells[0], cells[1], int(cells[2])
            if len(cells) != 3:
                raise ValueError
        except (IndexError, ValueError):
            raise SourceError(f"{path}:{number}: needs query id, document id and a whole grade, by tabs") from None
        if document in grades.setdefault(query, {}):
            raise SourceError(f"{path}:{number}: {query!r} and {document!r} are judged twice; keep one row")
        grades[query][document] = grade
    return grades
