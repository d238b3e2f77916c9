"""Why a tool is or is not in the table: one record for every contribution."""

from __future__ import annotations

from typing import Literal

from attrs import frozen

Filter = Literal[
    "plugin",
    "load",
    "name",
    "feature",
    "runtime",
    "workspace",
    "profile",
    "profile-disallowed",
    "when",
    "tools.enabled",
    "tools.disabled",
    "session",
    "factory",
    "withheld",
    "unknown",
]


@frozen
class Decision:
    """What became of a contribution.

    `filter` is the one that decided, `reason` why, `remedy` what would make the tool pass; all
    three are None for an active tool. A plugin that is blocked or broken has one decision under
    its own name, since nobody knows its tools.
    """

    name: str
    plugin: str
    active: bool
    filter: Filter | None = None
    reason: str | None = None
    remedy: str | None = None
