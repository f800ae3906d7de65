"""The facade: one object for everything that people and agents do with a store."""

from __future__ import annotations

import functools
import threading
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import date, datetime, tzinfo
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Literal

from indexes.errors import GieokError, StoreBusyError, StoreError, UnknownIdError, UsageError
from indexes.store import Store
from indexes.types import Filter, Memory
from pipeline import layers
from pipeline.budget import cost, section
from pipeline.cache import TimedCache
from pipeline.confidence import Confidence
from pipeline.filters import SearchFilter
from pipeline.home import Home
from pipeline.legs import NO_MODEL, Legs
from pipeline.options import Form, Mode, SmartSearchOptions
from pipeline.progress import OnProgress
from pipeline.results import (
    Answer,
    CacheStatus,
    Failure,
    FullDetail,
    IndexReport,
    LegacyHit,
    LegStatus,
    SearchIndexItem,
    Status,
    TimelineItem,
)
from pipeline.retriever import Rankings, Retriever
from pipeline.search import Search
from pipeline.settings import Settings
from pipeline.smart import Plan, Question, SmartSearch, narrowed, today, understand
from pipeline.version import VERSION

if TYPE_CHECKING:  # imported where they are used: a hook must not wait for what it doesn't need
    from pipeline.brief import Briefing
    from pipeline.check import CheckReport
    from pipeline.diary.write import About, DiaryReport
    from pipeline.explain import Explanation
    from pipeline.forget.forgetting import Forgetting
    from pipeline.forget.results import ForgetReport
    from pipeline.imports.importer import ImportReport
    from pipeline.notes import Note, Origin, Remembered
    from pipeline.reflect.results import Reflection

EMBEDDED_WITH_A_NOTE = 50
"""Memories that may lack vectors for a new note to be embedded at once, and they with it: about ten seconds of work."""


FORGOTTEN_FROM = 0.8
"""The score from which a hit is forgotten with a query: the lowest that promises something (docs/confidence.md)."""


class Gieok:
    """An open store. Safe for threads of one process; any number of processes may open the same home.

    Use as a context manager, or call `close`.
    """

    def __init__(self, home: Home, settings: Settings) -> None:
        """See `open`."""
        self.home: Path = home.path
        self.settings = settings
        self._home = home
        self._lock = threading.RLock()
        home.check()
        self.read_only = not home.writable
        """Whether the home can't be written: searches answer from what is there, and nothing can be put in."""
        self._store = Store(home.store, busy_timeout=settings.store.busy_timeout, read_only=self.read_only)
        self._legs = Legs(home, self._store, settings, read_only=self.read_only)
        cache = settings.cache
        self._layer1 = TimedCache(cache.layer1.entries, cache.layer1.seconds)
        self._layer2 = TimedCache(cache.layer2.entries, cache.layer2.seconds)
        self._layer3 = TimedCache(cache.layer3.entries, cache.layer3.seconds)

    @classmethod
    def open(
        cls, home: Path | str | None = None, config: Path | str | Settings | None = None, *, create: bool = True
    ) -> Gieok:
        """Open the store in the folder `home`, or make one unless `create` is False.

        `home` defaults to `GIEOK_HOME`, else the platform's folder for data; `config` to the user's settings file.
        Raises StoreError (NoStoreError if there is none and `create` is False) and ConfigError.
        """
        settings = config if isinstance(config, Settings) else Settings.load(Path(config) if config else None)
        return cls(Home.create(home) if create else Home.existing(home), settings)

    def close(self) -> None:
        """Release files. Closing twice is harmless."""
        with self._lock:
            self._legs.close()
            self._store.close()

    def __enter__(self) -> Gieok:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # --- putting in --------------------------------------------------------------------------------

    def index(
        self,
        paths: Sequence[Path | str] = (),
        *,
        vectors: bool = True,
        redact: bool | None = None,
        on_progress: OnProgress | None = None,
    ) -> IndexReport:
        """Make the store hold what these files and folders hold now; without paths, only finish what is pending.

        Words can be searched at once; vectors follow unless `vectors` is False. An interrupted call loses nothing that
        was reported, and the next one resumes. Files that can't be read are named in the report. Secrets are masked
        before anything is written, unless `redact` (by default `privacy.redact`) is False.
        """
        from pipeline.indexing import index_paths  # what only writing needs, no search shall wait for
        from pipeline.notes import own_notes
        from pipeline.sources.walker import expanded

        named = [expanded(Path(path)) for path in paths]
        self._refuse_read_only()
        with self._lock:
            unfinished = self.finish_forgetting()
            tally = index_paths(
                self._store,
                [*own_notes(self.home, named), *named],
                self._home.lock("store"),
                wait=self.settings.store.busy_timeout,
                max_file_bytes=self.settings.sources.max_file_bytes,
                redact=self.settings.privacy.redact if redact is None else redact,
                on_progress=on_progress,
            )
            self._legs.sync_words(on_progress)
            notices = [*(Failure(path="forget", reason=notice) for notice in unfinished), *tally.notices]
            if vectors and self._legs.embedder is not None:
                self._embed(on_progress)
            if self._legs.vectors_problem:
                notices.append(Failure(path="vectors", reason=self._legs.vectors_problem))
            return IndexReport(
                indexed=tally.indexed,
                updated=tally.updated,
                skipped=tally.skipped,
                removed=tally.removed,
                moved=tally.moved,
                passed_over=tally.passed_over,
                forgotten=tally.forgotten,
                failed=tally.failed,
                notices=notices,
                memories=self._store.counts().memories,
                vectors_pending=self._legs.vectors_pending(),
            )

    def import_from(
        self,
        kind: str,
        path: Path | str,
        *,
        dry_run: bool = False,
        vectors: bool = True,
        on_progress: OnProgress | None = None,
    ) -> ImportReport:
        """Take over the store of another tool (docs/import.md); what was taken before and is unchanged is skipped.

        The other store is only read. Nothing is ever removed here. Raises UsageError (an unknown `kind`), SourceError
        (no store there that can be read; nothing was written) and StoreError.
        """
        from pipeline.imports.importer import Import, kind_of  # no hook shall wait for it

        if not dry_run:
            self._refuse_read_only()
        with self._lock:
            work = Import(
                kind_of(kind),
                self._store,
                None if dry_run else self._home.lock("store"),
                self.settings.store.busy_timeout,
                redact=self.settings.privacy.redact,
                on_progress=on_progress,
            )
            work.run(Path(path))
            notices = []
            if not dry_run:
                self._legs.sync_words(on_progress)
                if vectors and self._legs.embedder is not None:
                    self._embed(on_progress)
                if self._legs.vectors_problem:
                    notices.append(Failure(path="vectors", reason=self._legs.vectors_problem))
            return work.report(
                memories=self._store.counts().memories,
                vectors_pending=self._legs.vectors_pending(),
                notices=notices,
            )

    def remember(
        self,
        text: str,
        *,
        title: str | None = None,
        tags: Sequence[str] = (),
        project: str | None = None,
        origin: Origin | None = None,
    ) -> Remembered:
        """Keep a note: a file in the home first, then memories that can be searched at once.

        `origin` gives the session, and the project if none is named. Raises UsageError (empty, too long) and StoreError
        (the file can't be written); once it is written nothing is raised, and the notices say what it lacks.
        """
        from pipeline.notes import FOLDER, compose, write

        now = datetime.now(self.settings.time.tzinfo()).astimezone(self.settings.time.tzinfo())
        note = compose(text, title=title, tags=tags, project=project, origin=origin, now=now)
        return self._remembered(note, write(note, self.home / FOLDER))

    def _ids_of(self, path: Path) -> list[str]:
        from pipeline.sources.walker import identity_of

        return self._store.ids_at(identity_of(path))

    def _remembered(self, note: Note, path: Path) -> Remembered:
        from pipeline.notes import Remembered

        notices, ids = list(note.notices), []
        try:
            with self._lock:
                # A store that lacks many vectors would keep the caller waiting for minutes.
                report = self.index([path], vectors=self._legs.vectors_pending() <= EMBEDDED_WITH_A_NOTE)
                ids = self._ids_of(path)
            notices += [f"{failure.path}: {failure.reason}" for failure in report.failed]
            if report.vectors_pending:
                notices.append(f"{report.vectors_pending} memories have no vectors yet. Run: gieok index")
        except GieokError as error:
            notices.append(f"It is in its file but can't be searched yet; gieok index makes up for it. {error}")
        return Remembered(id=ids[0] if ids else None, ids=ids, path=str(path), notices=notices)

    def diary(
        self,
        text: str | None = None,
        *,
        transcript: Path | str | None = None,
        session_id: str | None = None,
        project: str | None = None,
        team_id: str = "",
        task_id: str = "",
        tags: Sequence[str] = (),
        date: date | None = None,
        auto_generated: bool = False,
    ) -> DiaryReport:
        """Write a diary entry from a text or a transcript, and index it at once (docs/diary.md).

        Raises UsageError, SourceError (the transcript) and DiaryError (the file can't be written; carries the text).
        """
        from pipeline.diary.write import About

        about = About(
            session_id=session_id,
            project=project,
            team_id=team_id,
            task_id=task_id,
            tags=tags,
            date=date,
            auto_generated=auto_generated,
        )
        return self.keep_entry(text, Path(transcript) if transcript is not None else None, about)

    def keep_entry(self, text: str | None, transcript: Path | None, about: About) -> DiaryReport:
        """See `diary`."""
        from pipeline.diary.keeping import kept, written

        entry = written(text, transcript, about, home=self.home, settings=self.settings)
        with self._lock:

            def index(path: Path) -> IndexReport:
                # A store that lacks many vectors would keep the caller waiting for minutes.
                return self.index([path], vectors=self._legs.vectors_pending() <= EMBEDDED_WITH_A_NOTE)

            return kept(entry, index, self._ids_of)

    def brief(
        self,
        project: str | None = None,
        max_tokens: int | None = None,
        *,
        form: Literal["text", "markdown"] = "markdown",
    ) -> Briefing:
        """What the last diary entries say: sessions, open points, decisions, rules that wait (docs/diary.md).

        Written as `form` it has at most `max_tokens` (`brief.max_tokens`). Needs no model. Raises UsageError.
        """
        from pipeline.brief import briefing

        def id_of(path: Path) -> str | None:
            with self._lock:
                ids = self._ids_of(path)
                return self.short_id(ids[0]) if ids else None

        return briefing(self.settings, self.home, project, max_tokens, form=form, id_of=id_of)

    def check(self, task: str, *, project: str | None = None, top_k: int | None = None) -> CheckReport:
        """What memory says about a task, one line a finding, in groups: mistakes, rules, decisions (docs/diary.md).

        Scores and their floor are those of a search. Raises UsageError.
        """
        from pipeline.check import MAX_TASK, report

        top_k = self.settings.check.top_k if top_k is None else top_k
        task = task[:MAX_TASK]
        answer = self.find(task, top_k=top_k, filter=SearchFilter(project=project))
        with self._lock:
            found = [memory for item in answer.result.index if (memory := self._store.by_id(item.id)) is not None]
        return report(task, answer, found)

    def reflect(
        self,
        *,
        team: str | None = None,
        min_count: int | None = None,
        every: bool = False,
        folder: Path | None = None,
        to: Path | None = None,
    ) -> Reflection:
        """What repeats across diary entries, as proposals for the rules file `to`; consumes nothing (docs/reflect.md).

        `every` takes processed entries for new ones and proposes declined rules again. `pipeline.reflect.applying`
        writes rules. Raises UsageError, SourceError (no diary folder) and HostError (the rules file).
        """
        from pipeline.reflect.engine import Ask, reflect
        from pipeline.reflect.folders import folder_of, target_of

        ask = Ask(
            folder=folder_of(self.settings, self.home, folder),
            target=target_of(self.settings, to),
            min_count=self.settings.reflect.min_count if min_count is None else min_count,
            team=team,
            every=every,
        )
        return reflect(ask, self._legs.embedder)

    def forget(
        self,
        ids: Sequence[str] = (),
        *,
        filter: SearchFilter | None = None,  # noqa: A002
        matching: str | None = None,
        top_k: int | None = None,
        min_score: float = FORGOTTEN_FROM,
        dry_run: bool = False,
        verify: bool = False,
    ) -> ForgetReport:
        """Remove memories for good, from every file of the home, and keep them from coming back (docs/privacy.md).

        Those with these `ids`, or all that pass the filter, or with `matching` the best `top_k` that a search for it
        finds among them, if they score `min_score` at least. With them go memories with the same text, and notes and
        diaries of the home that hold them. `dry_run` only says which. `verify` looks through every file for what is
        left. Raises UsageError, UnknownIdError, AmbiguousIdError, StoreError; what an error or a crash left half done,
        the next `index` or `forget` finishes.
        """
        from pipeline.forget.forgetting import report

        if sum((bool(ids), bool(filter) or matching is not None)) != 1:
            raise UsageError("Say what to forget: ids, or a filter, or what it matches.")
        if not dry_run:
            self._refuse_read_only()
        with self._lock:
            notices = [] if dry_run else self.finish_forgetting()
            if matching is not None:
                answer = self.find(matching, top_k=top_k, filter=filter, min_score=min_score)
                ids = [item.id for item in answer.result.index]
            named = [self._store.by_id(name) for name in ids]
            if matching is None and filter is not None:
                named = self._store.matching(self._where(filter))
            work = self._forgetting()
            choice = work.choose(named)
            if dry_run or not choice.memories:
                return report(choice, work.backups(), notices, dry_run=dry_run)
            backups, traces = work.backups(), work.remove(choice)
            for cache in (self._layer1, self._layer2, self._layer3):
                cache.clear()
            notices += work.clean()
            if self._legs.embedder is not None and self._legs.vectors_pending() <= EMBEDDED_WITH_A_NOTE:
                self._embed(None)  # turns beside a forgotten one
            residue = list(work.residue(traces, choice.memories)) if verify else None
            return report(choice, backups, notices, residue=residue)

    def unforget(self) -> list[str]:
        """Let what was forgotten last come back when its files are indexed again; its ids.

        Notes that were deleted with it stay deleted.
        """
        self._refuse_read_only()
        with self._lock:
            self.finish_forgetting()
            return self._store.lift_last()

    def _forgetting(self) -> Forgetting:
        from pipeline.forget.forgetting import Forgetting

        return Forgetting(self._home, self._store, self._legs, self.settings)

    def finish_forgetting(self) -> list[str]:
        """Finish what a forgetting left undone that was killed or found somebody in its way. Notices for the user."""
        with self._lock:
            if self._store.due() is None:
                return []
            try:
                return self._forgetting().clean()
            except StoreBusyError as error:
                return [f"A forgetting is not finished yet: {error}"]

    def _refuse_read_only(self) -> None:
        if self.read_only:
            raise StoreError(
                f"The store in {self.home} can't be written here. Mend its permissions, or name another --home"
            )

    def embed_pending(self, on_progress: OnProgress | None = None) -> int:
        """Embed what has no vectors yet; the number of changes applied. Raises EmbedderError, StoreBusyError."""
        self._refuse_read_only()
        with self._lock:
            return self._legs.sync_vectors(on_progress)

    def _embed(self, on_progress: OnProgress | None) -> None:
        try:
            self._legs.sync_vectors(on_progress)
        except StoreBusyError:
            return  # the process that is embedding takes our memories along; the report says how many are pending
        except GieokError as error:
            self._legs.vectors_problem = str(error)

    def warm_up(self) -> None:
        """Load the model, which takes most of the time of a first search. Raises EmbedderError."""
        if self._legs.embedder is not None and self._legs.vectors is not None:
            self._legs.embedder.embed_query("기억")

    def rebuild(self, *, words: bool = True, vectors: bool = True, on_progress: OnProgress | None = None) -> None:
        """Throw the derived indexes away and make them again from the store."""
        self._refuse_read_only()
        with self._lock:
            self.finish_forgetting()
            embedder = self._legs.embedder
            if vectors and embedder is not None:
                embedder.embed_query("기억")  # a model that can't be had must not cost the vectors that are there
            if words:
                self._legs.reset_words()
                self._legs.sync_words(on_progress)
            if vectors and self._legs.embedder is not None:
                self._legs.reset_vectors()
                self._legs.sync_vectors(on_progress)

    # --- the three layers ------------------------------------------------------------------------

    def search_index(
        self,
        query: str,
        top_k: int | None = None,
        filter: SearchFilter | None = None,  # noqa: A002 - the name that the specification gives it
        min_score: float | None = None,
    ) -> list[SearchIndexItem]:
        """Layer 1: the best `top_k` memories for a question, best first, one line each."""
        return self.find(query, top_k=top_k, filter=filter, min_score=min_score).result.index

    def find(
        self,
        query: str,
        *,
        layer: int = 1,
        top_k: int | None = None,
        filter: SearchFilter | None = None,  # noqa: A002
        min_score: float | None = None,
    ) -> Answer:
        """Search for the query as it stands, one layer, and say what limits the answer or why there is none.

        Layer 2 adds a snippet to each hit, layer 3 the details of the best hits within `budget.max_total_tokens`.
        Raises UsageError.
        """
        settings = self.settings.layer1
        top_k = settings.top_k if top_k is None else top_k
        min_score = settings.min_score if min_score is None else min_score
        if layer not in (1, 2, 3):
            raise UsageError(f"There is no layer {layer}. Layers: 1 index, 2 index with snippets, 3 with details")
        if top_k < 1:
            raise UsageError(f"top_k is {top_k}; it must be at least 1")
        if not 0 <= min_score <= 1:
            raise UsageError(f"min_score is {min_score}; it must lie between 0 and 1")
        _refuse_empty(query)
        with self._lock:
            notices = self._legs.prepare()
            where = self._where(filter)
            key = (self._legs.generation(), tuple(notices), query, layer, top_k, where, min_score)
            return self._layer1.get_or_make(
                key,
                lambda: self._search().answer(
                    query, layer=layer, top_k=top_k, where=where, min_score=min_score, notices=notices
                ),
            )

    def smart_search(self, query: str, options: SmartSearchOptions | None = None, *, form: Form = "json") -> Answer:
        """The index always, timeline and details where a rule or the query says so (docs/search.md), within a budget.

        The query may name ids ("mem_abc 보여줘"), ask for detail ("자세히 알려줘", "in detail") and name a time
        ("어제", "last week"). Written as `form` (JSON: the whole answer), it never exceeds `max_total_tokens`. Raises
        UsageError.
        """
        _refuse_empty(query)
        options = options if options is not None else SmartSearchOptions()
        return self._smart(query, options, Plan.of(options, self.settings, form))

    def explain(self, query: str, expect: str | None = None, options: SmartSearchOptions | None = None) -> Explanation:
        """Why `smart_search` answers as it does, and what became of the memory that was expected (its id).

        Raises UsageError, AmbiguousIdError.
        """
        from pipeline.explain import Explainer

        _refuse_empty(query)
        options = options if options is not None else SmartSearchOptions()
        plan = Plan.of(options, self.settings, "json")
        with self._lock:
            notices = self._legs.prepare()
            question, where, smart = self._understood(query, options)
            depth = self._store.counts().memories if expect is not None else 0
            found, _, decision = smart.consider(question, plan, where, depth=depth)
            explainer = Explainer(self._store, self.settings, question, plan, where, found, self._confidence())
            return explainer.explanation(decision, scores=self._scores(), notices=notices, expect=expect)

    def _understood(self, query: str, options: SmartSearchOptions) -> tuple[Question, Filter, SmartSearch]:
        zone = self.settings.time.tzinfo()
        question = understand(query, by_id=self._store.by_id, day=self._day(options, zone))
        where = self._where(narrowed(options.filter, question.time))
        short = functools.cache(self.short_id)  # asked for with every line and every try to fit a budget
        return question, where, SmartSearch(self._search(), self.get_timeline, self._detail, short, zone)

    def _smart(self, query: str, options: SmartSearchOptions, plan: Plan) -> Answer:
        with self._lock:
            notices = self._legs.prepare()
            question, where, smart = self._understood(query, options)
            key = (self._legs.generation(), tuple(notices), question.key, plan, where)
            return self._layer1.get_or_make(key, lambda: smart.answer(question, plan, where, notices))

    def _day(self, options: SmartSearchOptions, zone: tzinfo | None) -> date | None:
        """Today, if words of time shall be read: a filter's own dates come first."""
        chosen = options.filter
        if chosen is not None and (chosen.since is not None or chosen.until is not None):
            return None
        wanted = self.settings.time.detect if options.detect_time is None else options.detect_time
        return today(zone) if wanted else None

    def search(
        self,
        query: str,
        top_k: int | None = None,
        *,
        filter: SearchFilter | None = None,  # noqa: A002
        mode: Mode | None = None,
    ) -> list[LegacyHit]:
        """The whole contents of the best `top_k` memories at once: what older versions gave.

        In progressive mode (`progressive.mode`, overridden by `mode`) smart search finds them, without its budget, and
        its answer is converted; in legacy mode the query is taken as it stands and no score is too low.
        """
        top_k = self.settings.progressive.legacy_top_k if top_k is None else top_k
        mode = mode if mode is not None else self.settings.progressive.mode
        if mode == "legacy":
            index = self.find(query, top_k=top_k, filter=filter, min_score=0.0).result.index
        else:
            _refuse_empty(query)
            options = SmartSearchOptions(
                top_k=top_k, filter=filter, auto_expand_timeline=False, auto_expand_details=False
            )
            plan = replace(Plan.of(options, self.settings, "json"), max_total_tokens=None)
            index = self._smart(query, options, plan).result.index
        return [hit for item in index if (hit := self._whole(item)) is not None]

    def _whole(self, item: SearchIndexItem) -> LegacyHit | None:
        try:
            with self._lock:
                full = self._detail(item.id)
        except UnknownIdError:
            return None  # another process removed it since the index was read
        return LegacyHit(
            id=full.id,
            content=full.content,
            score=item.score,
            type=full.type,
            timestamp=full.timestamp,
            session_id=full.session_id,
        )

    def get_timeline(self, ids: Sequence[str], window: int | None = None) -> list[TimelineItem]:
        """Layer 2: these memories and `window` neighbours on each side in their sessions, once, in time order.

        A unique beginning of an id is enough. Raises UnknownIdError, AmbiguousIdError.
        """
        window = self.settings.layer2.window if window is None else window
        if not 0 <= window <= 100:
            raise UsageError(f"window is {window}; it must lie between 0 and 100")
        with self._lock:
            key = (self._store.sequence, tuple(ids), window)
            made = self._layer2.get_or_make(
                key, lambda: layers.timeline(self._store, [self._store.by_id(name) for name in ids], window)
            )
            return list(made)

    def get_details(
        self, ids: Sequence[str], query: str | None = None, *, max_tokens: int | None = None
    ) -> list[FullDetail]:
        """Layer 3: these memories in the order given, whole; with a `query`, of each the part that matches it.

        `max_tokens` bounds each content (by default only with a query, by `layer3.section_tokens`); marks in it say how
        much is left out. Raises UnknownIdError, AmbiguousIdError, UsageError.
        """
        if max_tokens is not None and max_tokens < 1:
            raise UsageError(f"max_tokens is {max_tokens}; it must be at least 1")
        if query is not None:
            _refuse_empty(query)
        room = max_tokens if max_tokens is not None else self.settings.layer3.section_tokens if query else 0
        with self._lock:
            details = [self._detail(name) for name in dict.fromkeys(ids)]
            long = [detail for detail in details if room and cost(detail.content) > room]
            memories = [self._store.by_id(detail.id) for detail in long] if query else []
            spans = self._search().matching(query, memories) if query and memories else {}
        return [section(detail, spans.get(detail.id), room) for detail in details]

    def _detail(self, name: str) -> FullDetail:
        key = (self._store.sequence, name)
        return self._layer3.get_or_make(key, lambda: layers.detail(self._store, self._store.by_id(name)))

    # --- for tools -------------------------------------------------------------------------------

    def rank(self, query: str, depth: int = 100, filter: SearchFilter | None = None) -> Rankings:  # noqa: A002
        """What each leg ranks for a query, by row number, and the fused order: for evaluation and explanation."""
        with self._lock:
            self._legs.prepare()
            return self._retriever().rank(query, depth=depth, where=self._where(filter))

    def memories(self, rids: Iterable[int]) -> list[Memory]:
        """The memories in these rows, in the order given."""
        with self._lock:
            return self._store.memories(rids)

    def short_id(self, memory_id: str) -> str:
        """The shortest beginning of an id that no other shares: for people."""
        with self._lock:
            return self._store.unique_prefix(memory_id)

    def status(self) -> Status:
        """Sizes, lags and problems."""
        with self._lock:
            self._legs.prepare()
            counts = self._store.counts()
            return Status(
                home=str(self.home),
                version=VERSION,
                memories=counts.memories,
                sources=counts.sources,
                sessions=counts.sessions,
                by_type=dict(counts.by_type),
                bytes=self._home.bytes(self._home.store),
                words=LegStatus(
                    memories=self._legs.words_count(),
                    pending=self._legs.words_pending(),
                    bytes=self._home.bytes(self._home.words),
                    problem=self._legs.words_problem,
                ),
                vectors=LegStatus(
                    memories=self._legs.vectors_count(),
                    pending=self._legs.vectors_pending(),
                    bytes=self._home.bytes(self._home.vectors),
                    problem=self._legs.vectors_problem,
                ),
                model=self.settings.embedder.model,
                analyzer=self._legs.analyzer,
                order=self._retriever().order,
                scores=self._scores(),
                caches={
                    name: CacheStatus(entries=entries, hits=hits, misses=misses)
                    for name, cache in (("layer1", self._layer1), ("layer2", self._layer2), ("layer3", self._layer3))
                    for entries, hits, misses in [cache.counts()]
                },
            )

    def _retriever(self) -> Retriever:
        legs = self._legs
        return Retriever(legs.words, legs.vectors, legs.embedder, legs.noise, self.settings)

    def _search(self) -> Search:
        return Search(self._store, self._retriever(), self.settings, self._confidence())

    def _confidence(self) -> Confidence:
        legs = self._legs
        return Confidence.load(
            # Without vectors there is no need to know the model, whose name may be wrong.
            model=legs.embedder.name if legs.embedder is not None and legs.vectors is not None else NO_MODEL,
            analyzer=legs.analyzer,
            order=self._retriever().order_name,
        )

    def _scores(self) -> str:
        """What a score means here, for people."""
        confidence = self._confidence()
        if not confidence.calibrated:
            return "uncalibrated: fitted for another model, analyzer or order; nothing is expanded by score"
        promises = ", ".join(f"{anchor:.2f}" for anchor in confidence.certified)
        return f"calibrated (promises kept at {promises or 'none'})"

    def _where(self, chosen: SearchFilter | None) -> Filter:
        if chosen is None:
            return Filter()
        session = chosen.session
        if session is not None:
            matches = self._store.sessions(session)
            if session not in matches and len(matches) > 1:
                raise UsageError(f"The session {session!r} fits several ({', '.join(matches[:5])}). Give more of it.")
            if session not in matches and matches:
                session = matches[0]
        return chosen.to_index(session=session, zone=self.settings.time.tzinfo())


def _refuse_empty(query: str) -> None:
    if not query.strip():
        raise UsageError("The query is empty. Write what you look for: gieok search QUERY")
