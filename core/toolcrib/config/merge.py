"""Merges the sources of the configuration into one, the workspace's as far as it is trusted."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import reduce
from pathlib import Path
from typing import Any, TypeVar

from attrs import evolve

from toolcrib.config.folders import home_folder, state_folder
from toolcrib.config.permission import RULE_KEYS, PermissionSettings
from toolcrib.config.reading import Reading
from toolcrib.config.restrict import restrict
from toolcrib.config.settings import (
    OutputSettings,
    PluginsSettings,
    Settings,
    ToolsSettings,
    WorkspaceSettings,
)
from toolcrib.config.sources import merge_tables
from toolcrib.config.structuring import structure, structure_class
from toolcrib.errors import Notice

T = TypeVar("T")


def restrict_readings(readings: Sequence[Reading]) -> tuple[list[Reading], tuple[Notice, ...]]:
    """What is left of the readings when the workspace may only restrict."""
    user = [reading for reading in readings if reading.layer.scope == "user"]
    timeouts = _table(user, "tools", ToolsSettings).timeouts
    notices: tuple[Notice, ...] = ()
    left: list[Reading] = []
    for reading in readings:
        if reading.layer.scope == "project":
            layer, ignored = restrict(reading.layer, timeouts)
            notices += ignored
            rules = tuple(rule for rule in reading.rules if rule.decision != "allow")
            reading = evolve(reading, layer=layer, rules=rules, profiles={})
        left.append(reading)
    return left, notices


def merge_readings(
    readings: Sequence[Reading], workspace: Path, environ: Mapping[str, str]
) -> Settings:
    """The settings of readings that are given from the weakest to the strongest."""
    user = [reading for reading in readings if reading.layer.scope == "user"]
    project = [reading for reading in readings if reading.layer.scope == "project"]
    by_scope = [*user, *project]
    rules = tuple(rule for reading in by_scope for rule in reading.rules)
    profiles = {name: profile for reading in readings for name, profile in reading.profiles.items()}
    folders = _joined(by_scope, "workspace", "additional_dirs")
    everything = _all_data(readings)
    return Settings(
        tools=evolve(
            _table(user, "tools", ToolsSettings),
            disabled=_joined(user, "tools", "disabled"),
            timeouts=_table(readings, "tools", ToolsSettings).timeouts,
        ),
        workspace_tools=evolve(_table(project, "tools", ToolsSettings), timeouts={}),
        permission=evolve(
            _table(readings, "permission", PermissionSettings, {"rules": rules}, RULE_KEYS),
            audit_file=_audit_file(user, environ),
        ),
        profiles=profiles,
        default_profile=str(everything.get("default_profile") or "default"),
        default_runtime=str(everything.get("default_runtime") or "local"),
        features=structure(everything.get("features", {}), Mapping[str, bool], (), []),
        plugins=PluginsSettings(
            blocked=_joined(by_scope, "plugins", "blocked"),
            required=_joined(by_scope, "plugins", "required"),
        ),
        output=_table(readings, "output", OutputSettings),
        workspace=WorkspaceSettings(
            additional_dirs=tuple(_absolute(folder, workspace, environ) for folder in folders)
        ),
        layers=tuple(reading.layer for reading in readings),
    )


def _all_data(readings: Sequence[Reading]) -> dict[str, Any]:
    nothing: dict[str, Any] = {}
    return reduce(merge_tables, (reading.layer.data for reading in readings), nothing)


def _table(
    readings: Sequence[Reading],
    name: str,
    cls: type[T],
    given: Mapping[str, Any] | None = None,
    ignored: Sequence[str] = (),
) -> T:
    """One table of checked layers, merged."""
    data = _all_data(readings).get(name, {})
    table = structure_class(cls, data, (name,), [], given=given, ignored=ignored)
    assert table is not None, "values that fit one by one fit together"
    return table


def _audit_file(user: Sequence[Reading], environ: Mapping[str, str]) -> str | None:
    file = _table(user, "permission", PermissionSettings, ignored=RULE_KEYS).audit_file
    return _absolute(file, state_folder(environ), environ) if file else None


def _joined(readings: Sequence[Reading], table: str, key: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for reading in readings for name in reading.names(table, key)))


def _absolute(folder: str, workspace: Path, environ: Mapping[str, str]) -> str:
    if folder == "~" or folder.startswith("~/"):
        folder = str(home_folder(environ)) + folder[1:]
    return os.path.abspath(os.path.join(workspace, folder))
