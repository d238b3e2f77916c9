"""What is known of a plugin: where it comes from, what it offers, and what went wrong."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Literal

from attrs import define, field, frozen

from toolcrib.contract.contribution import ToolContribution

Stage = Literal["import", "version", "register", "unknown-hook", "duplicate", "contribute", "hook"]
Status = Literal["loaded", "failed", "blocked"]


def normalised(name: str) -> str:
    """A distribution's name as the packaging specifications compare it (PEP 503)."""
    return re.sub(r"[-_.]+", "-", name).lower()


@frozen
class PluginSource:
    """An entry point: the plugin's name, the place of its module, and who ships it."""

    name: str
    value: str
    distribution: str
    version: str
    problem: str | None = None
    """Why it cannot even be tried."""


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

    def blocked_in(self, names: Iterable[str]) -> str | None:
        """The one of the names that blocks it: its own, or its distribution in any spelling."""
        return next(
            (n for n in sorted(names) if n == self.name or normalised(n) == self.distribution), None
        )

    @property
    def builtin(self) -> bool:
        return self.distribution == OWN_DISTRIBUTION


OWN_DISTRIBUTION = "toolcrib"
IN_PROCESS = "(in process)"
"""Stands for the distribution of a plugin that the host registered itself."""
