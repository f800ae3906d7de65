"""Settings: defaults here, documented in `config.toml`; a user's file and `GIEOK_…` variables override them.

An environment variable is the dotted name in capitals with underscores: `fusion.k` is `GIEOK_FUSION_K`. Unknown names
and bad values are refused with the dotted name. `GIEOK_HOME`, `GIEOK_CONFIG`, `GIEOK_DATA` and `GIEOK_DEBUG` are not
settings.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterator, Mapping
from datetime import tzinfo
from pathlib import Path
from typing import Annotated, Any, Literal
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import platformdirs
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from indexes.errors import ConfigError

PREFIX = "GIEOK_"
NOT_SETTINGS = frozenset({"GIEOK_HOME", "GIEOK_CONFIG", "GIEOK_DATA", "GIEOK_DEBUG"})

Fraction = Annotated[float, Field(ge=0, le=1)]
Count = Annotated[int, Field(ge=1)]
Seconds = Annotated[float, Field(ge=0)]


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class Layer1(_Section):
    """The index: how many hits, and the score below which none is shown."""

    top_k: Count = 10
    min_score: Fraction = 0.70


class Layer2(_Section):
    """The timeline: neighbours on each side of a hit."""

    window: Annotated[int, Field(ge=0, le=100)] = 3


class Layer3(_Section):
    """Details that a search of layer 3 opens at the most, and how much of each is given for a query.

    A detail that is opened for a query is the part that matches it, of at most `section_tokens` tokens; 0: the whole.
    """

    max_details: Count = 3
    section_tokens: Annotated[int, Field(ge=0)] = 500


class AutoExpand(_Section):
    """What a search opens without being asked for, and from which scores on. See docs/search.md."""

    timeline: bool = True
    details: bool = True
    max_auto_expand_count: Annotated[int, Field(ge=0)] = 3
    single_score: Fraction = 0.92
    winner_score: Fraction = 0.85
    winner_gap: Fraction = 0.1
    several_score: Fraction = 0.80
    several: Annotated[int, Field(ge=2)] = 3
    near_score: Fraction = 0.70
    near_minutes: Annotated[float, Field(ge=0)] = 30


class Progressive(_Section):
    """Whether a search discloses step by step, or gives the whole `legacy_top_k` at once as older versions did."""

    mode: Literal["progressive", "legacy"] = "progressive"
    legacy_top_k: Count = 5


def _known_zone(name: str) -> str:
    if name:
        try:
            ZoneInfo(name)
        except (ZoneInfoNotFoundError, ValueError, OSError):
            raise ValueError("no time zone has this name; write one such as Asia/Seoul") from None
    return name


class Time(_Section):
    """Words of time in a query ("어제", "last week") become a date filter in this zone; "" is the machine's."""

    detect: bool = True
    zone: Annotated[str, AfterValidator(_known_zone)] = ""

    def tzinfo(self) -> tzinfo | None:
        """The zone; None is the machine's."""
        return ZoneInfo(self.zone) if self.zone else None


class Budget(_Section):
    """Tokens that one search may return, whatever its form; what is left out is named."""

    max_total_tokens: Count = 2000


class Evidence(_Section):
    """What hits must show, whatever their rank: otherwise nonsense would find something, too.

    A hit that covers `min_coverage` of the query's words, or whose cosine with the query exceeds that of random letters
    by `hit_margin`, is listed; but there is no answer unless one of the first ten covers as much or exceeds
    `answer_margin`.
    """

    min_coverage: Fraction = 0.2
    answer_margin: Annotated[float, Field(ge=-2, le=2)] = 0.03
    hit_margin: Annotated[float, Field(ge=-2, le=2)] = -0.05


class Fusion(_Section):
    """How the legs are joined.

    "evidence" uses the weights that are fitted for the bundled model; "rrf" is reciprocal rank fusion, where each leg
    gives weight / (k + rank) to its first `depth` hits. Any other model is fused by "rrf".
    """

    order: Literal["evidence", "rrf"] = "evidence"
    k: Annotated[float, Field(gt=0)] = 3
    depth: Annotated[int, Field(ge=1, le=1000)] = 20
    words_weight: Annotated[float, Field(ge=0)] = 0.6
    vectors_weight: Annotated[float, Field(ge=0)] = 1.0


class Embedder(_Section):
    """The embedding model: the bundled one, or any that fastembed knows; "none" searches by words only."""

    model: str = "e5-small-ko-en"
    threads: Annotated[int, Field(ge=0)] = 0


class CacheLayer(_Section):
    """Entries that are kept, and for how long. 0 entries switch the cache off."""

    entries: Annotated[int, Field(ge=0, le=1_000_000)]
    seconds: Seconds


class Layer1Cache(CacheLayer):
    """Search results change often."""

    entries: Annotated[int, Field(ge=0, le=1_000_000)] = 100
    seconds: Seconds = 60


class Layer2Cache(CacheLayer):
    """Timelines hardly change."""

    entries: Annotated[int, Field(ge=0, le=1_000_000)] = 500
    seconds: Seconds = 300


class Layer3Cache(CacheLayer):
    """Details change least."""

    entries: Annotated[int, Field(ge=0, le=1_000_000)] = 200
    seconds: Seconds = 1800


class Cache(_Section):
    """Answers that are kept in memory; a write to the store makes them unreachable at once."""

    layer1: Layer1Cache = Layer1Cache()
    layer2: Layer2Cache = Layer2Cache()
    layer3: Layer3Cache = Layer3Cache()


class Sources(_Section):
    """What is read: files above the bound are left out with a notice."""

    max_file_bytes: Annotated[int, Field(ge=1, le=1 << 40)] = 64_000_000


class Reflect(_Section):
    """What becomes a rule proposal, and the file that rules go to (from the current folder unless absolute)."""

    min_count: Annotated[int, Field(ge=2)] = 3
    to: Annotated[str, Field(min_length=1)] = "CLAUDE.md"


class Privacy(_Section):
    """Whether secrets are masked before anything is written."""

    redact: bool = True


class StoreSettings(_Section):
    """Seconds that a write waits for another process."""

    busy_timeout: Seconds = 30.0


class Hooks(_Section):
    """What hooks may take: seconds that the host waits, tokens of one injection, seconds of work after that.

    `this_project` searches and briefs only for the project of the session's folder; `transcripts` lets hooks index the
    session and keep a diary of it before it is compacted.
    """

    timeout: Annotated[float, Field(gt=0, le=60)] = 2.0
    max_tokens: Count = 1000
    this_project: bool = False
    transcripts: bool = True
    background: Annotated[float, Field(ge=0, le=600)] = 60.0


class DiarySettings(_Section):
    """Diary entries: where they lie and how they are written.

    An empty `folder` is `diary` in the home. `max_transcript_bytes` of a transcript are read at the most, from its end.
    """

    folder: str = ""
    language: Literal["ko", "en"] = "ko"
    max_transcript_bytes: Annotated[int, Field(ge=10_000, le=1 << 34)] = 8_000_000


class BriefSettings(_Section):
    """The briefing: its tokens, the diary entries it sums up, and those it looks through for what is open."""

    max_tokens: Count = 600
    entries: Count = 3
    look_back: Count = 30


class CheckSettings(_Section):
    """What memory says about a task: hits at the most."""

    top_k: Count = 8


class Settings(_Section):
    """All settings. `Settings()` is the default; `load` reads the user's."""

    layer1: Layer1 = Layer1()
    layer2: Layer2 = Layer2()
    layer3: Layer3 = Layer3()
    auto_expand: AutoExpand = AutoExpand()
    progressive: Progressive = Progressive()
    time: Time = Time()
    budget: Budget = Budget()
    evidence: Evidence = Evidence()
    fusion: Fusion = Fusion()
    embedder: Embedder = Embedder()
    cache: Cache = Cache()
    sources: Sources = Sources()
    privacy: Privacy = Privacy()
    reflect: Reflect = Reflect()
    store: StoreSettings = StoreSettings()
    diary: DiarySettings = DiarySettings()
    brief: BriefSettings = BriefSettings()
    check: CheckSettings = CheckSettings()
    hooks: Hooks = Hooks()

    @classmethod
    def load(cls, path: Path | None = None, environ: Mapping[str, str] = os.environ) -> Settings:
        """Defaults, then the file, then the environment.

        The file is `path`, else `GIEOK_CONFIG`, else `config.toml` in the platform's folder for settings, which may
        be missing. Raises ConfigError.
        """
        named = path or (Path(environ["GIEOK_CONFIG"]) if environ.get("GIEOK_CONFIG") else None)
        values = _read(named or user_file(), required=named is not None)
        for variable, dotted, raw in _from_environment(environ):
            _put(values, dotted, raw, variable)
        try:
            return cls.model_validate(values)
        except ValidationError as error:
            raise ConfigError(_explain(error, named or user_file())) from error


def user_file() -> Path:
    """Where a user's settings lie."""
    return Path(platformdirs.user_config_dir("gieok", appauthor=False)) / "config.toml"


def names(model: type[BaseModel] = Settings, prefix: str = "") -> Iterator[str]:
    """All dotted names."""
    for name, field in model.model_fields.items():
        annotation = field.annotation
        if isinstance(annotation, type) and issubclass(annotation, BaseModel):
            yield from names(annotation, f"{prefix}{name}.")
        else:
            yield prefix + name


def _read(path: Path, *, required: bool) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except FileNotFoundError:
        if required:
            raise ConfigError(f"No settings file at {path}. Create it or leave --config out.") from None
        return {}
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} is not valid TOML ({error}). Mend the line or move the file away.") from error
    except OSError as error:
        raise ConfigError(f"{path} can't be read ({error.strerror}).") from error


def _from_environment(environ: Mapping[str, str]) -> Iterator[tuple[str, str, str]]:
    known = {PREFIX + name.upper().replace(".", "_"): name for name in names()}
    for variable, raw in sorted(environ.items()):
        if not variable.startswith(PREFIX) or variable in NOT_SETTINGS:
            continue
        if variable not in known:
            raise ConfigError(f"Unknown setting {variable} in the environment. All names stand in config.toml.")
        yield variable, known[variable], raw


def _put(values: dict[str, Any], dotted: str, raw: str, variable: str) -> None:
    *sections, name = dotted.split(".")
    for section in sections:
        values = values.setdefault(section, {})
        if not isinstance(values, dict):
            raise ConfigError(f"{variable} can't be set: {section} is not a section in the settings file.")
    values[name] = raw  # pydantic turns the text into the type


def _explain(error: ValidationError, path: Path) -> str:
    problems = []
    for item in error.errors():
        dotted = ".".join(str(part) for part in item["loc"])
        if item["type"] == "extra_forbidden":
            problems.append(f"unknown setting {dotted}")
        else:
            problems.append(f"{dotted} = {item['input']!r}: {item['msg'].lower()}")
    return f"Settings ({path} and GIEOK_ variables): {'; '.join(problems)}. All names stand in config.toml."
