"""Loads plugins one by one, so that a broken one costs nothing but itself."""

from __future__ import annotations

import contextlib
import importlib
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any, get_args

import pluggy

from toolcrib.contract import hooks as specs
from toolcrib.contract.contribution import ToolContribution
from toolcrib.contract.hooks import CONTRACT_VERSION, PROJECT_NAME, PolicyName
from toolcrib.plugins.records import (
    IN_PROCESS,
    OWN_DISTRIBUTION,
    PluginFailure,
    PluginRecord,
    PluginSource,
    Stage,
    normalised,
)
from toolcrib.policy import suggest

VERSION_ATTRIBUTE = "TOOLCRIB_CONTRACT"
MAX_PROBLEM_CHARS = 1_000
"""Characters of what an exception says."""
MAX_REPORTS = 20
"""Faults of one kind that are remembered of one plugin."""


class PluginHost:
    """The plugins of a process: loaded, blocked and failed.

    Plugins can come and go at run time; `generation` counts the changes.
    """

    def __init__(self, *, blocked: Iterable[str] = ()) -> None:
        self.blocked = frozenset(blocked)
        self.records: dict[str, PluginRecord] = {}
        self.failures: list[PluginFailure] = []
        self.generation = 0
        self._listeners: list[Callable[[], None]] = []
        self.manager = pluggy.PluginManager(PROJECT_NAME)
        self.manager.add_hookspecs(specs)

    def load(self, sources: Iterable[PluginSource]) -> None:
        """Import and register entry points in their order; never raises for a plugin's fault."""
        for source in sources:
            self._load_one(source)
        self._changed()

    def register(self, plugin: object, name: str | None = None) -> PluginRecord:
        """Register a plugin of the host's own, now or at any later time.

        The plugin is a module or any object with marked functions. Its record says what became
        of it; faults are in `failures`. Without a `name` it goes by its own, numbered when several
        objects share it.
        """
        name = name or self._free_name(plugin)
        record = PluginRecord(name, IN_PROCESS, "", plugin=plugin)
        if name in self.records:
            self._fail(record, "duplicate", f"a plugin named {name!r} is already registered")
        else:
            self.records[name] = record
            self._adopt(record)
        self._changed()
        return record

    def unregister(self, name: str) -> None:
        """Take a plugin out; its tools are withdrawn, calls that run go on. KeyError if unknown."""
        record = self.records.pop(name)
        if self.manager.has_plugin(name):
            self.manager.unregister(name=name)
        self.failures = [f for f in self.failures if f.plugin != record.name]
        self._changed()

    def on_change(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Call `listener` after every change; returns the function that ends it."""

        def ignore() -> None:
            if listener in self._listeners:
                self._listeners.remove(listener)

        self._listeners.append(listener)
        return ignore

    def contributions(self) -> list[tuple[PluginRecord, ToolContribution]]:
        """Every tool on offer, in the order in which the plugins were loaded."""
        return [(r, c) for r in self.records.values() for c in r.contributions]

    def collect(self, hook: str) -> list[tuple[str, Any]]:
        """The answers to a `contribute_*` hook, each with its plugin's name."""
        answers: list[tuple[str, Any]] = []
        for record in self.records.values():
            implementation = getattr(record.plugin, hook, None)
            if record.status != "loaded" or hook not in record.hooks or implementation is None:
                continue
            try:
                answer = implementation()
                items = answer if isinstance(answer, list | tuple) else [answer]
                answers += [(record.name, item) for item in items if item is not None]
            except KeyboardInterrupt:
                raise
            except BaseException as error:
                self.report(record.name, "contribute", f"{hook} failed: {describe(error)}")
        return answers

    def report(self, plugin: str, stage: Stage, reason: str) -> None:
        """Note a fault of a plugin that stays loaded."""
        record = self.records.get(plugin)
        distribution = record.distribution if record else IN_PROCESS
        failure = PluginFailure(plugin, distribution, stage, reason)
        known = [f for f in self.failures if f.plugin == plugin and f.stage == stage]
        if failure not in known and len(known) < MAX_REPORTS:
            self.failures.append(failure)

    def _free_name(self, plugin: object) -> str:
        own: str = getattr(plugin, "__name__", None) or type(plugin).__name__
        number, name = 1, own
        while name in self.records and self.records[name].plugin is not plugin:
            number += 1
            name = f"{own}-{number}"
        return name

    def _load_one(self, source: PluginSource) -> None:
        record = PluginRecord(source.name, source.distribution, source.version)
        if source.name in self.records:
            owner = self.records[source.name].distribution
            self._fail(
                record,
                "duplicate",
                f"the distribution {owner!r} already has a plugin named {source.name!r}",
            )
            return
        self.records[source.name] = record
        record.blocked_by = record.blocked_in(self.blocked)
        if record.blocked_by is not None:
            record.status = "blocked"
            return
        if source.problem is not None:
            self._fail(record, "import", source.problem)
            return
        started = time.perf_counter()
        try:
            with contextlib.redirect_stdout(sys.stderr):
                record.plugin = _resolve(source.value)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # extension modules panic with others than Exception
            self._fail(record, "import", describe(error))
            return
        finally:
            record.load_ms = (time.perf_counter() - started) * 1000
        self._adopt(record)

    def _adopt(self, record: PluginRecord) -> None:
        with contextlib.redirect_stdout(sys.stderr):
            try:
                self._take_in(record)
            except KeyboardInterrupt:
                raise
            except BaseException as error:
                if self.manager.has_plugin(record.name):
                    self.manager.unregister(name=record.name)
                self._fail(record, "register", describe(error))

    def _take_in(self, record: PluginRecord) -> None:
        plugin = record.plugin
        version = getattr(plugin, VERSION_ATTRIBUTE, CONTRACT_VERSION)
        if version != CONTRACT_VERSION:
            newer = isinstance(version, int) and version > CONTRACT_VERSION
            self._fail(
                record,
                "version",
                f"it is written for contract version {version!r}, this is {CONTRACT_VERSION}: "
                f"update {'toolcrib' if newer else 'the plugin'}",
            )
            return
        known = _spec_names()
        marked = self._marked_names(plugin, known)
        for name in sorted(marked - known):
            hint = suggest(name, known)
            near = (
                f"; did you mean {hint[0]!r}?" if hint else f"; known: {', '.join(sorted(known))}"
            )
            self._fail(record, "unknown-hook", f"there is no hook {name!r}{near}")
            return
        self.manager.register(plugin, record.name)
        record.hooks = tuple(sorted(marked))
        if "check_permission" in marked:
            self._check_place(record)
        if "contribute_tool" in marked:
            self._collect_tools(record)

    def _marked_names(self, plugin: object, known: set[str]) -> set[str]:
        """The hooks that a plugin implements or means to implement."""
        names = set()
        for name in dir(plugin):
            options = self.manager.parse_hookimpl_opts(plugin, name)
            if options is not None and not (options["optionalhook"] and name not in known):
                names.add(name)
        return names

    def _check_place(self, record: PluginRecord) -> None:
        """Tell of a place among the permission policies that there is not."""
        policies = get_args(PolicyName)
        for side, known in (("before", policies[2:]), ("after", policies[1:])):
            place = getattr(record.plugin.check_permission, f"toolcrib_{side}", None)
            if place is not None and place not in known:
                near = suggest(place, known)
                hint = f"did you mean {near[0]!r}?" if near else f"known: {', '.join(known)}"
                problem = f"check_permission cannot go {side} {place!r}; {hint}"
                self.report(record.name, "hook", problem)

    def _collect_tools(self, record: PluginRecord) -> None:
        try:
            answer = record.plugin.contribute_tool()
            items = [answer] if isinstance(answer, ToolContribution) else list(answer or ())
            for item in items:
                if not isinstance(item, ToolContribution):
                    raise TypeError(f"contribute_tool returned {item!r}, not a ToolContribution")
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            self.report(record.name, "contribute", describe(error))
            return
        record.contributions = tuple(items)

    def _fail(self, record: PluginRecord, stage: Stage, reason: str) -> None:
        record.status = "failed"
        self.failures.append(PluginFailure(record.name, record.distribution, stage, reason))

    def _changed(self) -> None:
        self.generation += 1
        for listener in tuple(self._listeners):
            listener()


def _resolve(value: str) -> Any:
    module, _, attribute = value.partition("[")[0].partition(":")
    target: Any = importlib.import_module(module.strip())
    for name in filter(None, attribute.strip().split(".")):
        target = getattr(target, name)
    return target


def load_factory(factory: Any) -> Any:
    """What a contribution names as its factory, imported if it is a place."""
    if not isinstance(factory, str):
        return factory
    if ":" not in factory:
        raise ValueError(f"factory {factory!r} is no place such as 'package.module:Class'")
    return _resolve(factory)


def _spec_names() -> set[str]:
    return {name for name in vars(specs) if hasattr(getattr(specs, name), f"{PROJECT_NAME}_spec")}


def describe(error: BaseException) -> str:
    """An exception in one line: its kind and what it says."""
    try:
        if isinstance(error, SystemExit):
            return f"it called sys.exit({error.code!r})"
        lines = [line.strip() for line in str(error).splitlines()]
    except Exception:  # there are exceptions that cannot be shown
        lines = []
    text = "; ".join(filter(None, lines))
    if len(text) > MAX_PROBLEM_CHARS:
        text = f"{text[:MAX_PROBLEM_CHARS]}..."
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def wanted_sources(environ: Mapping[str, str], sources: list[PluginSource]) -> list[PluginSource]:
    """With TOOLCRIB_DISABLE_PLUGIN_AUTOLOAD set, only our own and those TOOLCRIB_PLUGINS names."""
    if environ.get("TOOLCRIB_DISABLE_PLUGIN_AUTOLOAD", "") in ("", "0"):
        return sources
    given = {name.strip() for name in environ.get("TOOLCRIB_PLUGINS", "").split(",")}
    named = given | {normalised(name) for name in given}
    own = OWN_DISTRIBUTION
    return [s for s in sources if s.distribution == own or named & {s.name, s.distribution}]
