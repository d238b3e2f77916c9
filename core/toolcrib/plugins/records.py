"""What is known of a plugin: where it comes from, what it offers, and what went wrong."""

from __future__ import annotations

from typing import Any, Literal

from attrs import define, field, frozen

from toolcrib.contract.contribution import ToolContribution

Stage = Literal["import", "version", "register", "unknown-hook", "duplicate", "contribute", "hook"]
Status = Literal["loaded", "failed", "blocked"]


@frozen
class PluginSource:
    """An entry point: the plugin's name, the place of its module, and who ships it."""

    name: str
    value: str
    distribution: str
    version: str


@frozen
class PluginFailure:
    """Something that a plugin did wrong, and what it cost."""

    plugin: str
    distribution: str
    stage: Stage
    reason: str


@define
class PluginRecord:
    """One plugin, loaded or not. `load_ms` is the time its import took, in milliseconds."""

    name: str
    distribution: str
    version: str
    status: Status = "loaded"
    plugin: Any = field(default=None, repr=False)
    hooks: tuple[str, ...] = ()
    contributions: tuple[ToolContribution, ...] = ()
    load_ms: float = 0.0
    blocked_by: str | None = None

    @property
    def builtin(self) -> bool:
        return self.distribution == OWN_DISTRIBUTION


OWN_DISTRIBUTION = "toolcrib"
IN_PROCESS = "(in process)"
"""Stands for the distribution of a plugin that the host registered itself."""
