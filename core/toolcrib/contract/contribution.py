"""The records by which a plugin says that a tool or runtime exists, made without importing it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal, Protocol

from attrs import Attribute, field, frozen

if TYPE_CHECKING:
    from toolcrib.contract.tool import ToolLike

Source = Literal["builtin", "user", "mcp", "plugin"]
Disclosure = Literal["inline", "deferred"]
_TOOL_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")
"""What model providers accept."""


class ActivationContext(Protocol):
    """What a `when` predicate may look at."""

    @property
    def profile(self) -> str: ...
    @property
    def workspace(self) -> str: ...
    @property
    def mode(self) -> str: ...
    @property
    def environment(self) -> Mapping[str, str]: ...
    @property
    def model_capabilities(self) -> frozenset[str]: ...

    def section(self, name: str) -> Mapping[str, Any]: ...


def _names(names: Iterable[str]) -> frozenset[str]:
    return frozenset([names] if isinstance(names, str) else names)


def _is_name(contribution: object, field: Attribute[Any], value: object) -> None:
    if not isinstance(value, str) or not value:
        raise TypeError(f"{field.name} of a contribution has to be a name, not {value!r}")


def _is_optional_name(contribution: object, field: Attribute[Any], value: object) -> None:
    if value is not None:
        _is_name(contribution, field, value)


def _is_tool_name(contribution: ToolContribution, field: Attribute[Any], value: object) -> None:
    if not isinstance(value, str) or not _TOOL_NAME.fullmatch(value):
        raise ValueError(
            f"a tool cannot be named {value!r}: use up to 64 letters, digits, '_' and '-', "
            "beginning with a letter"
        )


@frozen(kw_only=True)
class ToolContribution:
    """A tool that a plugin offers.

    `factory` is a class, a function that makes the tool, the tool itself, or best its place as
    `"package.module:Class"`, which is imported at activation and not before. `requires` names
    runtime capabilities (`fs`, `process`), `feature` the feature the tool belongs to, `when` a
    predicate over the activation context; `overrides` the tool that this one replaces. `settings`
    maps a section of the configuration to the place of the attrs class that describes it. A tool
    that is `always_listed` is active where a list of allowed tools leaves it out; this counts for
    toolcrib's own plugins alone.
    """

    name: str = field(validator=_is_tool_name)
    factory: str | type | Callable[..., Any] | ToolLike
    domain: str = "other"
    requires: frozenset[str] = field(default=frozenset(), converter=_names)
    feature: str | None = field(default=None, validator=_is_optional_name)
    when: Callable[[ActivationContext], bool] | None = None
    disclosure: Disclosure = "inline"
    source: Source = "plugin"
    overrides: str | None = field(default=None, validator=_is_optional_name)
    settings: Mapping[str, str] = field(factory=dict)
    always_listed: bool = False


@frozen(kw_only=True)
class RuntimeContribution:
    """A runtime that a plugin offers; it is made when a session chooses it.

    `factory` is a class or function, or best its place as `"package.module:Class"`; its annotated
    parameters are services of the session: `Workspace`, `LocalRuntime` (this machine, with its
    environment), settings of its own. `capabilities` are those of the runtime that it makes.
    `settings` maps a section of the configuration to the place of the attrs class that describes
    it; `description` says in a sentence what the place is.
    """

    id: str = field(validator=_is_name)
    factory: str | type | Callable[..., Any]
    capabilities: frozenset[str] = field(converter=_names)
    settings: Mapping[str, str] = field(factory=dict)
    description: str = ""
