"""Leaves of an untrusted workspace's file only what takes away from what tools may do."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from attrs import evolve

from toolcrib.config.lines import KeyPath
from toolcrib.config.sources import Layer
from toolcrib.errors import Notice

_REMEDY = "`toolcrib trust` trusts it, TOOLCRIB_TRUST_WORKSPACE=1 for one run"

# Whoever cloned a repository has not agreed to what is in it. Blocking a plugin or turning off a
# feature is no restriction: it may be the one that guards. So only these may speak.
_RESTRICTING_TOOLS = frozenset({"enabled", "disabled"})
_STRICT_PERMISSION: Mapping[str, object] = {
    "default_mode": "manual",
    "auto_respects_ask": True,
    "dangerous_command_guard": True,
    "allow_read_only_commands": False,
}


def restrict(layer: Layer, timeouts: Mapping[str, float]) -> tuple[Layer, tuple[Notice, ...]]:
    """The layer of the workspace without whatever could widen, and what was left out.

    Args:
        layer: must have been validated.
        timeouts: those of the user, in seconds by tool; shorter ones may be asked for.
    """
    dropped: list[KeyPath] = []
    kept: dict[str, Any] = {}
    for name, value in layer.data.items():
        if name == "tools":
            kept[name] = dict(_tools(value, timeouts, dropped))
        elif name == "permission":
            kept[name] = dict(_permission(value, dropped))
        else:
            dropped.append((name,))
    notices = tuple(
        layer.notice(path, f"ignored, since the workspace is not trusted; {_REMEDY}")
        for path in dropped
    )
    return evolve(layer, data=kept), notices


def _tools(
    table: Mapping[str, Any], timeouts: Mapping[str, float], dropped: list[KeyPath]
) -> Iterator[tuple[str, Any]]:
    for key, value in table.items():
        if key in _RESTRICTING_TOOLS:
            yield key, value
        elif key == "timeouts":
            longer = [
                tool for tool, time in value.items() if time > timeouts.get(tool, float("inf"))
            ]
            dropped += [("tools", key, tool) for tool in longer]
            yield key, {tool: time for tool, time in value.items() if tool not in longer}
        else:
            dropped.append(("tools", key))


def _permission(table: Mapping[str, Any], dropped: list[KeyPath]) -> Iterator[tuple[str, Any]]:
    for key, value in table.items():
        path: KeyPath = ("permission", key)
        if key in ("deny", "ask"):
            yield key, value
        elif key == "rules":
            allowing = [index for index, rule in enumerate(value) if rule["decision"] == "allow"]
            dropped += [(*path, index) for index in allowing]
            yield key, [rule for index, rule in enumerate(value) if index not in allowing]
        elif key in _STRICT_PERMISSION and value == _STRICT_PERMISSION[key]:
            yield key, value
        else:
            dropped.append(path)
