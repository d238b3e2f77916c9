"""The checks of the configuration that need more than one of its values, or the plugins."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Mapping
from importlib import import_module
from pathlib import Path

from attrs import evolve, frozen

from toolcrib.config.load import merge_sources, read_sources
from toolcrib.config.merge import merge_readings
from toolcrib.config.reading import CORE_TABLES, doubts
from toolcrib.config.sections import check_section
from toolcrib.config.settings import Settings
from toolcrib.config.structuring import structure
from toolcrib.crib import Crib
from toolcrib.errors import ConfigError, Notice, PluginError
from toolcrib.features import feature_notices, feature_variable, resolve_features
from toolcrib.paths import Workspace
from toolcrib.permissions.lint import lint_rules
from toolcrib.plugins.records import normalised
from toolcrib.policy import MCP_PREFIX, find_inactive_tool_patterns, suggest
from toolcrib.profiles import DEFAULT, Profile, resolve_profile
from toolcrib.runtime import LOCAL

_VARIABLES = tuple(
    f"TOOLCRIB_{name}"
    for name in (
        "CONFIG",
        "DISABLE_PLUGIN_AUTOLOAD",
        "MCP_STARTUP_TIMEOUT_MS",
        "MCP_TOOL_TIMEOUT_MS",
        "MODE",
        "PLUGINS",
        "PROFILE",
        "RUNTIME",
        "STATE",
        "TRUST_WORKSPACE",
    )
)


@frozen(kw_only=True)
class Findings:
    """What a check found; with `unusable`, some of it is that a whole file cannot be used.

    `remarks` are no faults: what is ignored as long as the workspace is not trusted.
    """

    findings: tuple[Notice, ...]
    remarks: tuple[Notice, ...]
    unusable: bool


def check_configuration(
    workspace: Path,
    environ: Mapping[str, str],
    *,
    autoload: bool = True,
    profile: str | None = None,
) -> Findings:
    """Check all sources of the configuration of a workspace, and all profiles."""
    sources = read_sources(workspace=workspace, environ=environ)
    in_force = merge_sources(sources, workspace=workspace, environ=environ)
    readings = [reading.sound() for reading in sources.readings]
    doubtful = tuple(doubts(readings))
    written = merge_readings(readings, workspace, environ)
    crib = Crib.load(blocked=in_force.plugins.blocked, autoload=autoload, environ=environ)
    found = [*sources.unusable, *sources.faults, *doubtful]
    found += _Check(crib, written, workspace, environ, profile).findings()
    told = {(notice.file, notice.line, notice.key) for notice in doubtful}
    findings = [
        notice
        for notice in dict.fromkeys(found)
        if notice in doubtful or (notice.file, notice.line, notice.key) not in told
    ]
    findings.sort(key=_place_of)
    remarks = [notice for notice in in_force.notices if notice not in doubtful]
    return Findings(
        findings=tuple(findings), remarks=tuple(remarks), unusable=bool(sources.unusable)
    )


class _Check:
    """Checks of settings as they are written, whether they are in force or not."""

    def __init__(
        self,
        crib: Crib,
        settings: Settings,
        workspace: Path,
        environ: Mapping[str, str],
        profile: str | None,
    ) -> None:
        self._crib = crib
        self._settings = settings
        self._environ = environ
        self._profile = profile
        self._profiles: dict[str, Profile] = {**crib.profiles(), **settings.profiles}
        self._domains = {c.name: c.domain for _, c in crib.plugins.contributions()}
        self._workspace = Workspace(
            root=os.path.normpath(workspace),
            additional_dirs=settings.workspace.additional_dirs,
            home_dir=environ.get("HOME") or os.path.expanduser("~"),
        )

    def findings(self) -> Iterator[Notice]:
        yield from self._choice_of_profile()
        yield from self._choice_of_runtime()
        yield from self._chains_of_profiles()
        yield from self._features()
        yield from self._tables()
        yield from self._checks_of_features()
        yield from self._tool_names()
        yield from self._blocked_plugins()
        yield from self._rules()
        yield from self._variables()

    def _choice_of_profile(self) -> Iterator[Notice]:
        known = {DEFAULT.name, *self._profiles}
        chosen = self._settings.default_profile
        if chosen not in known:
            place = self._settings.locate("default_profile")
            text = f"there is no profile {chosen!r}{_hint(chosen, known)}"
            yield Notice.at(place, key="default_profile", text=text)
        if self._profile is not None and self._profile not in known:
            text = f"there is no profile {self._profile!r}{_hint(self._profile, known)}"
            yield Notice(file="--profile", text=text)

    def _choice_of_runtime(self) -> Iterator[Notice]:
        chosen, known = self._settings.default_runtime, {LOCAL, *self._crib.runtimes()}
        if chosen not in known:
            place = self._settings.locate("default_runtime")
            text = f"there is no runtime {chosen!r}{_hint(chosen, known)}"
            yield Notice.at(place, key="default_runtime", text=text)

    def _chains_of_profiles(self) -> Iterator[Notice]:
        told: set[object] = set()
        for name in self._profiles:
            try:
                resolve_profile(name, self._profiles)
            except ConfigError as error:
                (problem,) = error.problems
                # The same fault is met from every profile in a circle, or above a gap.
                same = {self._ancestors(name), (problem.file, problem.line)}
                if same.isdisjoint(told):
                    yield problem
                told |= same

    def _ancestors(self, name: str | None) -> frozenset[str]:
        found: set[str] = set()
        while name in self._profiles and name not in found:
            found.add(name)
            name = self._profiles[name].extends
        return frozenset(found)

    def _features(self) -> Iterator[Notice]:
        features = self._crib.features()
        for profile in (*self._profiles.values(), DEFAULT):
            yield from feature_notices(features, settings=self._settings, profile=profile)

    def _tables(self) -> Iterator[Notice]:
        """Tables that nobody reads, and those that their reader cannot use."""
        declared: dict[str, str] = {}
        for _, contribution in self._crib.plugins.contributions():
            declared.update(contribution.settings)
        for _, runtime in self._crib.runtimes().values():
            declared.update(runtime.settings)
        for feature in self._crib.features():
            declared.update(feature.settings)
        for name in self._settings.sections():
            if name in CORE_TABLES:
                continue
            if name not in declared and name in self._tables_of_plugins():
                continue
            if name not in declared:
                hint = _hint(name, [*CORE_TABLES, *declared])
                text = f"nothing reads the table [{name}]{hint}"
                yield Notice.at(self._settings.locate(name), key=name, text=text)
                continue
            module, _, attribute = declared[name].partition(":")
            try:
                check_section(getattr(import_module(module), attribute), self._settings)
            except ConfigError as error:
                yield from error.problems

    def _checks_of_features(self) -> Iterator[Notice]:
        written = evolve(self._settings, workspace_trusted=True)
        for feature in self._crib.features():
            if feature.check is not None:
                module, _, attribute = feature.check.partition(":")
                check = getattr(import_module(module), attribute)
                yield from check(written, self._workspace.root, self._environ)

    def _tables_of_plugins(self) -> frozenset[str]:
        """A plugin whose hooks read settings has a table with its own name."""
        records = self._crib.plugins.records.values()
        names = {name for record in records for name in (record.name, record.distribution)}
        return frozenset(name.replace("-", "_") for name in names)

    def _tool_names(self) -> Iterator[Notice]:
        for layer in self._settings.layers:
            tools = layer.data.get("tools", {})
            for key in ("enabled", "disabled"):
                for index, name in enumerate(_names(tools.get(key, ()))):
                    for text in self._dead(name):
                        yield layer.notice(("tools", key, index), text)
            for name in structure(tools.get("timeouts", {}), Mapping[str, object], (), []):
                if not name.startswith(MCP_PREFIX):
                    for text in self._dead(name):
                        yield layer.notice(("tools", "timeouts", name), text)
        for profile in self._profiles.values():
            for key in ("tools", "disallowed_tools"):
                for name in getattr(profile, key) or ():
                    if (key, name) != ("tools", "*"):
                        for text in self._dead(name):
                            where = f"profiles.{profile.name}.{key}"
                            yield Notice.at(self._place(profile, key, name), key=where, text=text)

    def _place(self, profile: Profile, key: str, name: str) -> str:
        layer = self._settings.layer_of("profiles", profile.name, key)
        if layer is None:
            return profile.source
        names = layer.data["profiles"][profile.name][key]
        index = names.index(name) if isinstance(names, list) and name in names else 0
        return layer.locate(("profiles", profile.name, key, index))

    def _dead(self, pattern: str) -> Iterator[str]:
        for found in find_inactive_tool_patterns([pattern], self._domains):
            hint = _hint(pattern, self._domains) if found.kind == "unknown-tool" else ""
            yield f"{pattern!r} matches nothing: {found.reason}{hint}"

    def _blocked_plugins(self) -> Iterator[Notice]:
        records = self._crib.plugins.records.values()
        known = {name for record in records for name in (record.name, record.distribution)}
        for layer in self._settings.layers:
            for key in ("blocked", "required"):
                named = layer.data.get("plugins", {}).get(key, ())
                for index, name in enumerate(_names(named)):
                    if not known & {name, normalised(name)}:
                        hint = _hint(name, known)
                        text = f"no plugin or distribution {name!r} is installed{hint}"
                        yield layer.notice(("plugins", key, index), text)
        try:
            self._crib.require(self._settings.plugins.required, self._settings.plugins.blocked)
        except PluginError as error:
            yield Notice.at(
                self._settings.locate("plugins"), key="plugins.required", text=str(error)
            )

    def _rules(self) -> Iterator[Notice]:
        configured = self._settings.permission.rules
        yield from lint_rules(configured, self._domains, self._workspace)
        for profile in self._profiles.values():
            yield from lint_rules(profile.rules, self._domains, self._workspace, beside=configured)

    def _variables(self) -> Iterator[Notice]:
        """Variables that turn a feature neither on nor off, or look like one of toolcrib's."""
        features = {feature_variable(feature.name) for feature in self._crib.features()}
        try:
            resolve_features(
                self._crib.features(),
                settings=self._settings,
                profile=DEFAULT,
                environ=self._environ,
            )
        except ConfigError as error:
            yield from error.problems
        for name in sorted(self._environ):
            unread = name.startswith("TOOLCRIB_") and "__" not in name
            if unread and name not in features and name not in _VARIABLES:
                near = suggest(name, [*_VARIABLES, *features])
                if near and not name.startswith(near[0]):
                    text = f"nothing reads it; did you mean {near[0]!r}?"
                    yield Notice(file=f"environment variable {name}", text=text)


def _names(value: object) -> tuple[str, ...]:
    """A list of names from a file, or from the text of an environment variable."""
    names: tuple[str, ...] = structure(value, tuple[str, ...], (), [])
    return names


def _place_of(notice: Notice) -> tuple[bool, str, int]:
    """Files by name and line, then everything that is in no file."""
    return (notice.line is None, notice.file, notice.line or 0)


def _hint(name: str, known: Collection[str] | Iterable[str]) -> str:
    near = suggest(name, known)
    return f"; did you mean {near[0]!r}?" if near else ""
