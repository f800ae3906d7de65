"""All checks, in the order in which a reader wants to know them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

from indexes.errors import ConfigError, StoreError
from pipeline.doctor import agents, derived, environment, folder
from pipeline.doctor.findings import Check, Diagnosis, Finding, guarded, problem
from pipeline.doctor.storage import StoreCheck
from pipeline.home import Home, named_folder
from pipeline.settings import Settings
from pipeline.version import VERSION


def diagnose(home: Path | None = None, config: Path | None = None, *, deep: bool = False) -> Diagnosis:
    """Look at the installation and at the store in `home`, changing nothing.

    `deep` reads every page, index and row of the store. Never raises for anything that it finds, however broken. Raises
    StoreError for a home without a name.
    """
    place = Home(named_folder(home).resolve())
    return Diagnosis(home=str(place.path), version=VERSION, findings=list(_findings(place, config, deep)))


def _findings(home: Home, config: Path | None, deep: bool) -> Iterator[Finding]:
    settings = _settings(config)
    for name, check in _installation(config, settings):
        yield from guarded(name, check)
    try:
        missing = not home.store.exists() and not (home.words / "manifest.json").exists()
    except OSError as error:
        yield problem("store", f"{home.path} can't be entered ({error.strerror})", "Mend its permissions.")
        return
    if missing:
        yield problem(
            "store",
            f"there is none at {home.path}" + ("" if home.path.exists() else ", not even the folder"),
            "gieok index PATH makes one; is --home or GIEOK_HOME spelled right?",
        )
        return
    store = StoreCheck(home.store, deep=deep)
    try:
        home.check()
    except StoreError as error:
        yield problem("store", str(error))
    else:
        yield from guarded("store", store)
    if (facts := store.facts) is not None:
        yield from guarded("words", partial(derived.check_words, home, facts))
        yield from guarded("vectors", partial(derived.check_vectors, home, facts, settings))
    for name, check in _surroundings(home, config, store):
        yield from guarded(name, check)


def _installation(config: Path | None, settings: Settings) -> list[tuple[str, Check]]:
    return [
        ("python", environment.check_python),
        ("packages", environment.check_packages),
        ("names", environment.check_names),
        ("processor", environment.check_processor),
        ("settings", partial(environment.check_settings, config)),
        ("model", partial(derived.check_model, settings)),
        ("agents", agents.check_registered),
    ]


def _surroundings(home: Home, config: Path | None, store: StoreCheck) -> list[tuple[str, Check]]:
    newest = store.facts.newest_ms if store.facts is not None else None
    return [
        ("permissions", partial(folder.check_permissions, home)),
        ("disk", partial(folder.check_room, home)),
        ("leftovers", partial(folder.check_leftovers, home)),
        ("locks", partial(folder.check_locks, home)),
        ("processes", folder.check_processes),
        ("hook", partial(agents.check_hook, home.path, config)),
        ("hooks", partial(agents.check_log, home.path)),
        ("clock", partial(environment.check_clock, newest, home.store)),
    ]


def _settings(config: Path | None) -> Settings:
    try:
        return Settings.load(config)
    except ConfigError:
        return Settings()
