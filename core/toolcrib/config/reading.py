"""Checks what one source says, and names what looks wrong though it can be meant."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from attrs import evolve, frozen

from toolcrib.config.lines import KeyPath
from toolcrib.config.permission import RULE_KEYS, PermissionRule, RuleReader, read_permission
from toolcrib.config.settings import (
    OutputSettings,
    PluginsSettings,
    ToolsSettings,
    WorkspaceSettings,
)
from toolcrib.config.sources import Layer
from toolcrib.config.structuring import Problems, structure, structure_class, suggestion
from toolcrib.errors import Notice
from toolcrib.profiles import Profile
from toolcrib.rules import parse_rule

_TABLES: Mapping[str, type[Any]] = {
    "tools": ToolsSettings,
    "plugins": PluginsSettings,
    "output": OutputSettings,
    "workspace": WorkspaceSettings,
}
_KEYS = ("default_profile", "default_runtime")
CORE_TABLES = (*_TABLES, "permission", "profiles", "features")


@frozen(kw_only=True)
class Reading:
    """A layer that has been checked, with what is not merged key by key.

    `faults` are the values that do not fit; the tables they stand in can only be merged without
    them, see `sound`.
    """

    layer: Layer
    rules: tuple[PermissionRule, ...] = ()
    profiles: Mapping[str, Profile]
    faults: tuple[Notice, ...] = ()
    faulty_tables: frozenset[str] = frozenset()

    def names(self, table: str, key: str) -> tuple[str, ...]:
        value = self.layer.data.get(table, {}).get(key, ())
        found: tuple[str, ...] = structure(value, tuple[str, ...], (table, key), [])
        return found

    def sound(self) -> Reading:
        """The reading without the tables that have faults, but with the rules that have none."""
        data = {k: v for k, v in self.layer.data.items() if k not in self.faulty_tables}
        return evolve(self, layer=evolve(self.layer, data=data))


def check(layer: Layer) -> Reading:
    """Read a layer and note every value that does not fit."""
    problems: Problems = []
    reader = RuleReader(layer.scope, layer.locate, problems)
    data = layer.data
    for name, cls in _TABLES.items():
        structure_class(cls, data.get(name, {}), (name,), problems)
    structure(data.get("features", {}), Mapping[str, bool], ("features",), problems)
    for name in _KEYS:
        structure(data.get(name, ""), str, (name,), problems)
    rules = read_permission(data.get("permission", {}), reader)
    profiles = _profiles(data.get("profiles", {}), reader)
    for name, value in data.items():
        if not _is_tables(value) and name not in (*_KEYS, *CORE_TABLES):
            hint = suggestion(name, (*_KEYS, *CORE_TABLES))
            problems.append(((name,), f"unknown key outside of a table; {hint}"))
    return Reading(
        layer=layer,
        rules=rules,
        profiles=profiles,
        faults=tuple(layer.notice(path, text) for path, text in problems),
        faulty_tables=frozenset(str(path[0]) for path, _ in problems),
    )


def _is_tables(value: object) -> bool:
    """Whether the value is a table or an array of tables, which may be anybody's."""
    items = value if isinstance(value, list) else [value]
    return all(isinstance(item, Mapping) for item in items)


def _profiles(tables: object, reader: RuleReader) -> dict[str, Profile]:
    if not isinstance(tables, Mapping):
        reader.problems.append((("profiles",), f"expected tables [profiles.NAME], not {tables!r}"))
        return {}
    read = {name: _profile(name, table, reader) for name, table in tables.items()}
    return {name: profile for name, profile in read.items() if profile is not None}


def _profile(name: str, table: object, reader: RuleReader) -> Profile | None:
    path: KeyPath = ("profiles", name)
    given: dict[str, Any] = {"name": name, "source": reader.locate(path)}
    if isinstance(table, Mapping):
        given["rules"] = reader.read(table, path)
        if isinstance(features := table.get("features"), list):
            names = structure(features, tuple[str, ...], (*path, "features"), reader.problems)
            given["features"] = dict.fromkeys(names, True)
    ignored = (*RULE_KEYS, "features") if "features" in given else RULE_KEYS
    return structure_class(Profile, table, path, reader.problems, given=given, ignored=ignored)


def doubts(readings: Sequence[Reading]) -> Iterator[Notice]:
    """What can be meant, but often is not."""
    profiles: dict[str, Profile] = {}
    for reading in readings:
        layer = reading.layer
        for name, value in layer.data.items():
            if isinstance(value, Mapping) and (core := _misspelt(name)):
                text = f"toolcrib reads no table [{name}] itself; is [{core}] meant?"
                yield layer.notice((name,), text)
        if layer.scope == "project" and layer.sets(("permission", "audit_file")):
            text = "ignored: only the user's own configuration decides what is recorded"
            yield layer.notice(("permission", "audit_file"), text)
        for rule in reading.rules:
            if rule.decision == "allow" and _is_catch_all(rule.pattern):
                text = f"the rule {rule.pattern!r} allows calls of every tool"
                yield Notice.at(rule.source, key="permission", text=text)
        for name, profile in reading.profiles.items():
            if name in profiles:
                text = f"replaces the profile of {profiles[name].source}"
                yield layer.notice(("profiles", name), text)
            profiles[name] = profile


def _misspelt(table: str) -> str | None:
    if table in CORE_TABLES:
        return None
    import difflib

    close = difflib.get_close_matches(table, CORE_TABLES, n=1, cutoff=0.8)
    return close[0] if close else None


def _is_catch_all(pattern: str) -> bool:
    tool = parse_rule(pattern).tool_name
    return tool.startswith("!") or not tool.strip("*")
