"""Who decides whether a feature is on, and how to change it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from toolcrib.config.load import load_settings
from toolcrib.config.settings import Settings
from toolcrib.errors import ConfigError
from toolcrib.features import Feature, FeatureState, feature_notices, resolve_features
from toolcrib.profiles import DEFAULT, Profile

GUARD = Feature(name="stale-guard", description="writes need a read")
TOWER = Feature(name="tower", description="many agents", default=False)

Load = Callable[[str], Settings]


@pytest.fixture
def load(workspace: Path, tmp_path: Path) -> Load:
    def load(text: str) -> Settings:
        (tmp_path / "user.toml").write_text(text)
        return load_settings(workspace=workspace, environ={}, config_file=tmp_path / "user.toml")

    return load


def decide(
    feature: Feature,
    settings: Settings | None = None,
    profile: Profile = DEFAULT,
    **environ: str,
) -> FeatureState:
    resolved = resolve_features(
        [GUARD, TOWER], settings=settings or Settings(), profile=profile, environ=environ
    )
    assert list(resolved) == ["stale-guard", "tower"]
    return resolved[feature.name]


def test_a_feature_is_what_its_author_chose() -> None:
    assert (decide(GUARD).enabled, decide(GUARD).decided_by) == (True, "default")
    assert (decide(TOWER).enabled, decide(TOWER).decided_by) == (False, "default")


def test_each_decider_beats_those_below_it(load: Load) -> None:
    profile = Profile(name="p", features={"tower": True})
    by_profile = decide(TOWER, None, profile)
    assert (by_profile.enabled, by_profile.decided_by) == (True, "profile")
    settings = load("[features]\ntower = false\n")
    by_file = decide(TOWER, settings, profile)
    assert (by_file.enabled, by_file.decided_by) == (False, "configuration")
    by_variable = decide(TOWER, settings, profile, TOOLCRIB_FEATURE_TOWER="1")
    assert (by_variable.enabled, by_variable.decided_by) == (True, "environment")


@pytest.mark.parametrize(
    ("text", "enabled"), [("1", True), ("true", True), ("0", False), ("OFF", False), ("", True)]
)
def test_the_environment_can_decide(text: str, enabled: bool) -> None:
    assert decide(GUARD, TOOLCRIB_FEATURE_STALE_GUARD=text).enabled is enabled


def test_a_variable_that_is_neither_on_nor_off_is_an_error() -> None:
    with pytest.raises(ConfigError) as caught:
        decide(GUARD, TOOLCRIB_FEATURE_STALE_GUARD="perhaps")
    assert "TOOLCRIB_FEATURE_STALE_GUARD" in caught.value.file
    assert "'perhaps'" in str(caught.value)


def test_the_remedy_leads_to_where_it_was_decided(load: Load, tmp_path: Path) -> None:
    settings = load("\n[features]\ntower = false\n")
    assert f"{tmp_path / 'user.toml'}:3" in decide(TOWER, settings).remedy
    assert "TOOLCRIB_FEATURE_TOWER=1" in decide(TOWER, settings).remedy
    assert "[features]" in decide(TOWER).remedy
    by_variable = decide(GUARD, TOOLCRIB_FEATURE_STALE_GUARD="0")
    assert "TOOLCRIB_FEATURE_STALE_GUARD" in by_variable.remedy


def test_following_the_remedy_of_a_default_turns_the_feature_on(load: Load) -> None:
    line = decide(TOWER).remedy.removeprefix("set ").split(" under ")[0]
    assert decide(TOWER, load(f"[features]\n{line}\n")).enabled


def test_names_that_no_feature_has_are_noticed_with_the_nearest(load: Load, tmp_path: Path) -> None:
    settings = load("[features]\ntowr = true\ntower = true\n")
    profile = Profile(name="p", features={"stale_guard": False}, source="f.toml:3")
    first, second = feature_notices([GUARD, TOWER], settings=settings, profile=profile)
    assert (first.file, first.line, first.key) == (
        str(tmp_path / "user.toml"),
        2,
        "features.towr",
    )
    assert "'tower'" in first.text
    assert (second.file, second.line) == ("f.toml", 3)
    assert "'stale-guard'" in second.text


@pytest.mark.parametrize("table", ["[[jobs]]\nname = 'a'\n", "[jobs]\nname = 'a'\n"])
def test_a_feature_without_anything_to_do_is_off(load: Load, table: str) -> None:
    """Whoever turns it on; with the table that it needs, it is as its author chose."""
    needy = Feature(name="needy", description="runs jobs", needs="jobs")

    def state(settings: Settings, **environ: str) -> FeatureState:
        resolved = resolve_features([needy], settings=settings, profile=DEFAULT, environ=environ)
        return resolved["needy"]

    idle = state(load("[features]\nneedy = true\n"), TOOLCRIB_FEATURE_NEEDY="1")
    assert not idle.enabled
    assert "jobs" in idle.remedy
    assert state(load(table)).enabled
    assert not state(load(f"{table}[features]\nneedy = false\n")).enabled
