"""Named groups of plugins that are turned on and off together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal

from attrs import field, frozen
from attrs.validators import instance_of

from toolcrib.config.settings import Settings
from toolcrib.errors import ConfigError, Notice
from toolcrib.profiles import Profile

DecidedBy = Literal["default", "profile", "configuration", "environment"]

_ON = frozenset({"1", "true", "yes", "on"})
_OFF = frozenset({"0", "false", "no", "off"})


@frozen(kw_only=True)
class Feature:
    """A group of plugins that a user can turn on and off.

    Attributes:
        name: in lower case, with hyphens.
        default: whether the feature is on when nobody decides.
        surface: what turning it on adds for the model, in a few words.
        needs: a table of the configuration without which there is nothing for it to do: as long as
            nobody sets it the feature is off, whoever turns it on.
        plugins: the names of the plugins that belong to it.
        settings: tables of the configuration that it reads, each with the place of the attrs
            class that describes it.
        mcp_servers: MCP servers that come with it, by name, each with an entry as in `.mcp.json`.
            The feature `mcp` offers their tools while this one is on. For users the name is
            `plugin-<feature>:<name>`; what they configure under it replaces the entry.
        check: the place of a function that `toolcrib config check` asks for more notices; it gets
            the settings, the folder of the workspace and the environment variables.
    """

    name: str
    description: str
    default: bool = True
    surface: str = ""
    needs: str | None = None
    plugins: tuple[str, ...] = ()
    settings: Mapping[str, str] = field(factory=dict)
    mcp_servers: Mapping[str, Mapping[str, Any]] = field(
        factory=dict,
        validator=instance_of(Mapping),  # type: ignore[type-abstract]
    )
    check: str | None = None


@frozen(kw_only=True)
class FeatureState:
    """Whether a feature is on, who decided it, and how to change that."""

    enabled: bool
    decided_by: DecidedBy
    remedy: str


def resolve_features(
    features: Iterable[Feature],
    *,
    settings: Settings,
    profile: Profile,
    environ: Mapping[str, str],
) -> dict[str, FeatureState]:
    """Decide on each feature, by name.

    `TOOLCRIB_FEATURE_<NAME>` decides before `[features]` in the configuration, that before the
    profile, and that before the feature's own default.

    Raises:
        ConfigError: an environment variable is neither on nor off.
    """
    return {feature.name: _state(feature, settings, profile, environ) for feature in features}


def feature_notices(
    features: Iterable[Feature], *, settings: Settings, profile: Profile
) -> Iterator[Notice]:
    """The names in the configuration and in the profile that no feature has."""
    from toolcrib.config.structuring import suggestion

    known = {feature.name for feature in features}
    for name in settings.features:
        if name not in known:
            text = f"there is no feature {name!r}; {suggestion(name, known)}"
            yield Notice.at(settings.locate("features", name), key=f"features.{name}", text=text)
    for name in profile.features:
        if name not in known:
            text = f"there is no feature {name!r}; {suggestion(name, known)}"
            yield Notice.at(profile.source, key=f"profiles.{profile.name}.features", text=text)


def _state(
    feature: Feature, settings: Settings, profile: Profile, environ: Mapping[str, str]
) -> FeatureState:
    name, variable = feature.name, feature_variable(feature.name)
    if feature.needs is not None and feature.needs not in settings.sections():
        remedy = f"set {feature.needs!r} in toolcrib.toml"
        return FeatureState(enabled=False, decided_by="default", remedy=remedy)
    if text := environ.get(variable):
        enabled = _is_on(variable, text)
        remedy = f"unset {variable}, or set it to {_digit(not enabled)}"
        return FeatureState(enabled=enabled, decided_by="environment", remedy=remedy)
    if name in settings.features:
        enabled = settings.features[name]
        how = f"set it to {_word(not enabled)} at {settings.locate('features', name)}"
        decided_by: DecidedBy = "configuration"
    elif name in profile.features:
        enabled = profile.features[name]
        how = f"set {name} = {_word(not enabled)} under [features] in toolcrib.toml"
        decided_by = "profile"
    else:
        enabled = feature.default
        how = f"set {name} = {_word(not enabled)} under [features] in toolcrib.toml"
        decided_by = "default"
    remedy = f"{how}, or {variable}={_digit(not enabled)} in the environment"
    return FeatureState(enabled=enabled, decided_by=decided_by, remedy=remedy)


def feature_variable(name: str) -> str:
    """The environment variable that turns the feature on and off."""
    return f"TOOLCRIB_FEATURE_{name.upper().replace('-', '_')}"


def _is_on(variable: str, text: str) -> bool:
    if text.strip().lower() in _ON:
        return True
    if text.strip().lower() in _OFF:
        return False
    problem = f"expected 1 or 0, not {text!r}"
    raise ConfigError(Notice(file=f"environment variable {variable}", text=problem))


def _digit(enabled: bool) -> str:
    return "1" if enabled else "0"


def _word(enabled: bool) -> str:
    return "true" if enabled else "false"
