from __future__ import annotations

import json
from pathlib import Path

import pytest

from pipeline.install.claude_code import Place, install
from pipeline.install.host import HOOKS, executable
from pipeline.install.state import registered


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    return {"CLAUDE_CONFIG_DIR": str(tmp_path)}


def test_nothing_is_registered_and_nothing_is_made(tmp_path: Path, environ: dict[str, str]) -> None:
    state = registered(environ=environ)
    assert (state.any, state.missing, state.problems) == (False, [], [])
    assert list(tmp_path.iterdir()) == []


def test_all_is_registered(environ: dict[str, str]) -> None:
    install(Place.of("user", environ=environ), [executable(), "--home", "/a b"]).carry_out()
    state = registered(environ=environ)
    assert state.any
    assert state.hooks == [hook.subcommand for hook in HOOKS]
    assert (state.server, state.commands) == (True, ["diary", "reflect", "memory"])
    assert (state.missing, state.problems) == ([], [])
    assert f"{executable()} --home /a b mcp" in state.calls


def test_what_is_missing_is_named(environ: dict[str, str]) -> None:
    place = Place.of("user", environ=environ)
    install(place, [executable()]).carry_out()
    value = json.loads(place.settings.read_bytes())
    del value["hooks"]["Stop"]
    place.settings.write_text(json.dumps(value))
    place.servers.unlink()
    (place.commands / "memory.md").unlink()
    assert registered(environ=environ).missing == ["hook stop", "server", "/memory"]


def test_a_gieok_that_is_gone_is_a_problem(environ: dict[str, str]) -> None:
    install(Place.of("user", environ=environ), ["/gone/bin/gieok"]).carry_out()
    [problem] = registered(environ=environ).problems
    assert problem.startswith("/gone/bin/gieok is registered and is not there")


def test_files_that_can_not_be_read_are_problems(environ: dict[str, str]) -> None:
    place = Place.of("user", environ=environ)
    place.settings.write_text("{ // mine")
    place.servers.write_text("[]")
    state = registered(environ=environ)
    assert not state.any
    assert [str(path) in problem for path, problem in zip((place.settings, place.servers), state.problems, strict=True)]
