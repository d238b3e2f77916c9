"""The settings that toolcrib itself reads, and the tables of everyone else."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from attrs import field, frozen

from toolcrib.config.permission import PermissionSettings, RuleScope
from toolcrib.config.sources import Layer, merge_tables
from toolcrib.config.structuring import Bounds
from toolcrib.errors import Notice
from toolcrib.profiles import Profile

Seconds = Annotated[float, Bounds(gt=0, lt=float("inf"))]

GIBIBYTE = 1 << 30


@frozen(kw_only=True)
class ToolsSettings:
    """The table `[tools]`.

    Attributes:
        enabled: the only tools; None is every tool, `()` none.
        disabled: tools that are never available.
        timeouts: the longest time of one call, in seconds, by tool.
    """

    enabled: tuple[str, ...] | None = None
    disabled: tuple[str, ...] = ()
    timeouts: Mapping[str, Seconds] = field(factory=dict)


@frozen(kw_only=True)
class PluginsSettings:
    """The table `[plugins]`.

    Attributes:
        blocked: the plugins or distributions that are not loaded, by name.
        required: those without which no session opens, such as one that guards.
    """

    blocked: tuple[str, ...] = ()
    required: tuple[str, ...] = ()


@frozen(kw_only=True)
class OutputSettings:
    """The table `[output]`: how many bytes the spilled outputs of a session may take."""

    quota_bytes: Annotated[int, Bounds(ge=0)] = GIBIBYTE


@frozen(kw_only=True)
class WorkspaceSettings:
    """The table `[workspace]`: absolute folders that count as part of the workspace."""

    additional_dirs: tuple[str, ...] = ()


@frozen(kw_only=True)
class Settings:
    """The whole configuration of a session.

    Attributes:
        tools: what the user allows; the timeouts are those in force.
        workspace_tools: what the workspace's file leaves of them; it can only restrict.
        default_profile: the profile of a session that is opened without one.
        default_runtime: the runtime of a session that is opened without one.
        features: turned on or off by name.
        workspace_trusted: whether the workspace's file was allowed to widen anything.
        notices: what was ignored or looks wrong, for the user to know.
        layers: the sources, the weakest first.
    """

    tools: ToolsSettings = field(factory=ToolsSettings)
    workspace_tools: ToolsSettings = field(factory=ToolsSettings)
    permission: PermissionSettings = field(factory=PermissionSettings)
    profiles: Mapping[str, Profile] = field(factory=dict)
    default_profile: str = "default"
    default_runtime: str = "local"
    features: Mapping[str, bool] = field(factory=dict)
    plugins: PluginsSettings = field(factory=PluginsSettings)
    output: OutputSettings = field(factory=OutputSettings)
    workspace: WorkspaceSettings = field(factory=WorkspaceSettings)
    workspace_trusted: bool = False
    notices: tuple[Notice, ...] = ()
    layers: tuple[Layer, ...] = field(default=(), repr=False)

    def section(self, name: str) -> Mapping[str, Any]:
        """The values of one table, of all sources together; empty when nobody sets any.

        A value from an environment variable is text, whatever its key asks for: `build_section`
        gives it its type.
        """
        merged: dict[str, Any] = {}
        for layer in self.layers:
            table = layer.data.get(name)
            if isinstance(table, Mapping):
                merged = merge_tables(merged, table)
        return merged

    def tables(self, name: str) -> tuple[Mapping[str, Any], ...]:
        """The entries of an array of tables `[[name]]`, of all sources one after the other."""
        arrays = (layer.data.get(name) for layer in self.layers)
        return tuple(entry for array in arrays if isinstance(array, list) for entry in array)

    def sections(self) -> tuple[str, ...]:
        """The names of all tables and arrays of tables that are set somewhere."""
        names = (
            name
            for layer in self.layers
            for name, value in layer.data.items()
            if isinstance(value, Mapping | list)
        )
        return tuple(dict.fromkeys(names))

    def layer_of(self, *path: str | int) -> Layer | None:
        """The source whose value of the key is in force."""
        return next((layer for layer in reversed(self.layers) if layer.sets(path)), None)

    def locate_name(self, name: str, *path: str, scope: RuleScope) -> str:
        """Where a list of names has this one, or else where the list is; empty without one."""
        place = ""
        for layer in self.layers:
            if layer.scope == scope and layer.sets(path):
                names: Any = layer.data
                for key in path:
                    names = names[key]
                if isinstance(names, list) and name in names:
                    return layer.locate((*path, names.index(name)))
                place = layer.locate(path)
        return place

    def locate(self, *path: str | int) -> str:
        """Where the key is set: `file:line`, another source, or `default`."""
        layer = self.layer_of(*path)
        return layer.locate(path) if layer else "default"
