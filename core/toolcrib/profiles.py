"""Named sets of tools, features, mode and rules, which build on each other."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from attrs import evolve, field, frozen

from toolcrib.config.permission import Mode, PermissionRule
from toolcrib.errors import ConfigError, Notice

ALL_TOOLS = ("*",)


def _optional_names(value: Iterable[str] | None) -> tuple[str, ...] | None:
    return None if value is None else tuple(value)


def _names(value: Iterable[str]) -> tuple[str, ...]:
    return tuple(value)


def _rules(value: Iterable[PermissionRule]) -> tuple[PermissionRule, ...]:
    return tuple(value)


@frozen(kw_only=True)
class Profile:
    """What an agent may use.

    Attributes:
        when_to_use: told to an agent that chooses a profile for another.
        extends: the profile that this one builds on.
        tools: the only tools; `("*",)` is every tool, and `()` none. None takes those of the
            profile that it extends, or every tool.
        disallowed_tools: never available, also not to profiles that extend this one.
        features: turned on or off by name.
        mode: of permissions; None leaves the configured one.
        rules: of permissions, beside the configured ones.
        network: whether a runtime that can cut off the network lets programs reach it; None leaves
            what is configured for the runtime.
        source: `file:line`, or the plugin that contributes the profile.
    """

    name: str
    description: str = ""
    when_to_use: str = ""
    extends: str | None = None
    tools: tuple[str, ...] | None = field(default=None, converter=_optional_names)
    disallowed_tools: tuple[str, ...] = field(default=(), converter=_names)
    features: Mapping[str, bool] = field(factory=dict)
    mode: Mode | None = None
    rules: tuple[PermissionRule, ...] = field(default=(), converter=_rules)
    network: bool | None = None
    source: str = ""

    def restricts_tools(self) -> bool:
        """Whether `tools` is the list of the only tools."""
        return self.tools is not None and self.tools != ALL_TOOLS


DEFAULT = Profile(
    name="default",
    description="Every tool, and the features that are on by default.",
    source="toolcrib",
)


def resolve_profile(name: str, profiles: Mapping[str, Profile]) -> Profile:
    """The profile with everything that it takes from those it extends.

    The result extends nothing, and its `tools` are None when every tool is allowed. What a
    parent disallows stays disallowed.

    Raises:
        ConfigError: a profile in the chain does not exist, or extends itself in the end.
    """
    chain = _chain(name, profiles)
    merged = chain[0]
    for child in chain[1:]:
        merged = _extended(merged, child)
    return evolve(merged, extends=None, tools=merged.tools if merged.restricts_tools() else None)


def _chain(name: str, profiles: Mapping[str, Profile]) -> list[Profile]:
    """The profile and its ancestors, the eldest first."""
    chain: list[Profile] = []
    wanted: str | None = name
    while wanted is not None:
        profile = DEFAULT if wanted == DEFAULT.name and wanted not in profiles else None
        profile = profile or profiles.get(wanted)
        names = [known.name for known in chain]
        if profile is None:
            raise ConfigError(_missing(wanted, chain, profiles))
        if wanted in names:
            cycle = " -> ".join([*names[names.index(wanted) :], wanted])
            raise ConfigError(
                _notice(chain[-1], f"the profile extends itself: {cycle}; remove one 'extends'")
            )
        chain.append(profile)
        wanted = profile.extends
    return chain[::-1]


def _missing(wanted: str, chain: list[Profile], profiles: Mapping[str, Profile]) -> Notice:
    from toolcrib.config.structuring import suggestion

    hint = suggestion(wanted, {DEFAULT.name, *profiles})
    if not chain:
        return Notice(file="profile", text=f"there is no profile {wanted!r}; {hint}")
    names = " -> ".join([*(profile.name for profile in chain), wanted])
    return _notice(chain[-1], f"there is no profile {wanted!r} to extend ({names}); {hint}")


def _notice(profile: Profile, text: str) -> Notice:
    return Notice.at(profile.source, key=f"profiles.{profile.name}.extends", text=text)


def _extended(parent: Profile, child: Profile) -> Profile:
    return Profile(
        name=child.name,
        description=child.description or parent.description,
        when_to_use=child.when_to_use or parent.when_to_use,
        tools=parent.tools if child.tools is None else child.tools,
        disallowed_tools=tuple(dict.fromkeys(parent.disallowed_tools + child.disallowed_tools)),
        features={**parent.features, **child.features},
        mode=child.mode or parent.mode,
        rules=parent.rules + child.rules,
        network=parent.network if child.network is None else child.network,
        source=child.source,
    )
