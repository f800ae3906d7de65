"""Settings: documented defaults, files, variables, and refusals that name the setting."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from indexes.errors import ConfigError
from pipeline.settings import Settings, names

ROOT = Path(__file__).parents[2]


def load(tmp_path: Path, text: str, environ: dict[str, str] | None = None) -> Settings:
    path = tmp_path / "config.toml"
    path.write_text(text, encoding="utf-8")
    return Settings.load(path, environ or {})


def test_config_toml_states_every_setting_with_its_default() -> None:
    documented = tomllib.loads((ROOT / "config.toml").read_text(encoding="utf-8"))

    def flat(table: dict[str, object], prefix: str = "") -> dict[str, object]:
        out: dict[str, object] = {}
        for key, value in table.items():
            out |= flat(value, f"{prefix}{key}.") if isinstance(value, dict) else {prefix + key: value}
        return out

    assert set(flat(documented)) == set(names())
    assert Settings.model_validate(documented) == Settings()


def test_a_file_overrides_defaults_and_a_variable_overrides_the_file(tmp_path: Path) -> None:
    settings = load(
        tmp_path, "[fusion]\nk = 3\ndepth = 7\n", {"GIEOK_FUSION_K": "5", "GIEOK_CACHE_LAYER1_ENTRIES": "0"}
    )
    assert settings.fusion.k == 5
    assert settings.fusion.depth == 7
    assert settings.cache.layer1.entries == 0
    assert settings.layer1 == Settings().layer1


def test_the_file_may_be_named_by_a_variable(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text("\ufeff[layer1]\ntop_k = 4\n", encoding="utf-8")
    assert Settings.load(environ={"GIEOK_CONFIG": str(path)}).layer1.top_k == 4


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("[fusion]\nkk = 1\n", "unknown setting fusion.kk"),
        ("[nonsense]\na = 1\n", "unknown setting nonsense"),
        ("[layer1]\ntop_k = 0\n", "layer1.top_k = 0"),
        ("[layer1]\nmin_score = 1.5\n", "layer1.min_score = 1.5"),
        ("[layer1]\ntop_k = 'viele'\n", "layer1.top_k = 'viele'"),
        ("[fusion]\nk = nan\n", "fusion.k"),
        ("[fusion\n", "not valid TOML"),
        ("fusion = 3\n", "fusion = 3"),
    ],
)
def test_mistakes_are_named(tmp_path: Path, text: str, named: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load(tmp_path, text)
    assert named in str(caught.value)
    assert "\n" not in str(caught.value)


def test_an_unknown_variable_is_refused_but_other_variables_of_ours_are_not(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="GIEOK_FUSION_KK"):
        load(tmp_path, "", {"GIEOK_FUSION_KK": "1"})
    assert load(tmp_path, "", {"GIEOK_HOME": "/x", "GIEOK_DATA": "/y", "GIEOK_DEBUG": "1"}) == Settings()


def test_a_named_file_must_exist(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"missing\.toml"):
        Settings.load(tmp_path / "missing.toml", {})
