"""Filters what plugins contribute, before anything is imported, into an agent's tool table."""

from __future__ import annotations

import contextlib
import inspect
import sys
from collections.abc import Callable, Mapping
from typing import Any, Literal

from attrs import define, frozen

from toolcrib.config.permission import RuleScope
from toolcrib.contract.contribution import ActivationContext, Source, ToolContribution
from toolcrib.decisions import Decision, Filter
from toolcrib.errors import ConfigError
from toolcrib.features import FeatureState
from toolcrib.offered import ToolTable
from toolcrib.plugins.hook_calls import discard
from toolcrib.plugins.loader import PluginHost, describe, load_factory
from toolcrib.plugins.records import PluginRecord
from toolcrib.policy import ToolPolicy, disallows_tool, lists_tool, suggest
from toolcrib.registry import RegisteredTool, ToolRegistry
from toolcrib.runtime import Status
from toolcrib.services import Scope

Renewal = Literal["all", "with services"]
"""Which tools are made again."""


@frozen(kw_only=True)
class Conditions:
    """Everything that decides which tools an agent has; each part is one filter.

    `global_policy` and `workspace_policy` come from the configuration, `profile_policy` from the
    profile, `session_disabled` from the host at run time. `locate` tells where the configuration
    names something: by the name, the layer (`user` or `project`) and the list.
    """

    blocked: frozenset[str]
    features: Mapping[str, FeatureState]
    capabilities: frozenset[str]
    runtime: str
    runtime_status: Status
    workspace_policy: ToolPolicy
    profile: str
    profile_policy: ToolPolicy
    global_policy: ToolPolicy
    session_disabled: frozenset[str]
    context: ActivationContext
    profile_source: str
    locate: Callable[[str, RuleScope, str, str], str]


@frozen
class Refusal:
    """The filter that stopped a tool, why, and what would let it pass."""

    filter: Filter
    reason: str
    remedy: str


def policy_refusal(
    name: str, source: Source, on: Conditions, *, listed: bool = False
) -> Refusal | None:
    """The layer of the tool policy that forbids a tool, or None; asked again at each call.

    One that counts as `listed` passes the lists of allowed tools.
    """
    refusal = _layer_refusal("workspace", name, source, on.workspace_policy, on, listed)
    if refusal is not None:
        return refusal
    profile = on.profile_policy
    if not (listed or lists_tool(profile, name, source)):
        return Refusal(
            "profile",
            f"the profile {on.profile!r} does not list it",
            f"add {name!r} to tools of the profile {on.profile!r}{_at(on.profile_source)}, "
            "or choose another profile",
        )
    if disallows_tool(profile, name, source):
        return Refusal(
            "profile-disallowed",
            f"the profile {on.profile!r} disallows it",
            f"remove {name!r} from disallowed_tools of the profile {on.profile!r}"
            f"{_at(on.profile_source)}",
        )
    return None


def global_refusal(
    name: str, source: Source, on: Conditions, *, listed: bool = False
) -> Refusal | None:
    """What the user's configuration and the host say of a tool; None is no objection."""
    refusal = _layer_refusal("user", name, source, on.global_policy, on, listed)
    if refusal is not None:
        return refusal
    if name in on.session_disabled:
        return Refusal("session", "it is disabled for this session", "enable it in the session")
    return None


def _layer_refusal(
    layer: Literal["workspace", "user"],
    name: str,
    source: Source,
    policy: ToolPolicy,
    on: Conditions,
    listed: bool,
) -> Refusal | None:
    """What `[tools]` in the file of the workspace or the user says of a tool."""
    scope: RuleScope = "project" if layer == "workspace" else "user"
    whose = "the workspace's [tools]" if layer == "workspace" else "[tools]"
    if not (listed or lists_tool(policy, name, source)):
        place = _at(on.locate("", scope, "tools", "enabled"))
        return Refusal(
            "workspace" if layer == "workspace" else "tools.enabled",
            f"{whose} enabled does not list it",
            f"add {name!r} to [tools] enabled{place}",
        )
    if disallows_tool(policy, name, source):
        place = _at(on.locate(name, scope, "tools", "disabled"))
        return Refusal(
            "workspace" if layer == "workspace" else "tools.disabled",
            f"{whose} disabled lists it",
            f"remove {name!r} from [tools] disabled{place}",
        )
    return None


def _at(place: str) -> str:
    return f" ({place})" if place else ""


@frozen
class Changes:
    """The names of the tools that an evaluation added, removed, and put others in the place of."""

    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    replaced: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.added or self.removed or self.replaced)


@define
class _Active:
    contribution: ToolContribution
    remove: Callable[[], None]


class Activation:
    """Keeps one agent's registry in line with its conditions.

    `evaluate` may be called at any time: tools that no longer pass are withdrawn (calls that run
    with them finish), those that pass now are imported, made and registered.
    """

    def __init__(
        self,
        plugins: PluginHost,
        scope: Scope,
        registry: ToolRegistry,
        table: ToolTable,
        conditions: Callable[[], Conditions],
    ) -> None:
        self._plugins = plugins
        self._table = table
        self._scope = scope
        self._registry = registry
        self._conditions = conditions
        self._active: dict[str, _Active] = {}
        self._broken: dict[int, tuple[ToolContribution, str]] = {}
        self.decisions: list[Decision] = []

    def evaluate(self, *, renew: Renewal | None = None) -> Changes:
        """Filter everything anew.

        With `renew` tools are made again, also those that failed to be made before.
        """
        on = self._conditions()
        before = {name: active.contribution for name, active in self._active.items()}
        if renew:
            self._broken.clear()
            for name, active in list(self._active.items()):
                if renew == "all" or _has_services(active.contribution):
                    active.remove()
                    del self._active[name]
        self.decisions = self._unknown_tools(on) + self._withheld_tools()
        passing: list[tuple[PluginRecord, ToolContribution]] = []
        owners: dict[str, PluginRecord] = {}
        offers = (*self._plugins.contributions(), *self._table.contributions())
        for record, contribution in offers:
            refusal = self._refusal(record, contribution, owners, on)
            if refusal is None:
                passing.append((record, contribution))
            else:
                self._decide(record, contribution, refusal)
        passing = self._without_overridden(passing)
        wanted = {id(contribution) for _, contribution in passing}
        for name, active in list(self._active.items()):
            if id(active.contribution) not in wanted:
                active.remove()
                del self._active[name]
        known = set(self._broken)
        for record, contribution in passing:
            self._decide(record, contribution, self._activate(record, contribution))
        if any(c.overrides and id(c) in self._broken.keys() - known for _, c in passing):
            self.evaluate()  # now that it proved broken, what it would replace stays
        after = {name: active.contribution for name, active in self._active.items()}
        return Changes(
            added=tuple(sorted(after.keys() - before.keys())),
            removed=tuple(sorted(before.keys() - after.keys())),
            replaced=tuple(
                sorted(n for n in after.keys() & before.keys() if after[n] is not before[n])
            ),
        )

    def withdraw(self, name: str, reason: str) -> None:
        """Take out a tool that turned out to be broken, and say so in its decision."""
        active = self._active.pop(name, None)
        if active is None:
            return
        active.remove()
        self._broken[id(active.contribution)] = (active.contribution, reason)
        self.evaluate()

    def decision(self, name: str) -> Decision:
        """What became of the tool with a name; an unknown one gets near names as a remedy."""
        found = [d for d in self.decisions if d.name == name]
        if found:
            return next((d for d in found if d.active), found[0])
        missing = self._table.missing(name)
        if missing is not None:
            record, why = missing
            filter_: Filter = "withheld" if why.known else "unknown"
            return _decision(name, record, Refusal(filter_, why.reason, why.remedy))
        silent = [d.name for d in self.decisions if d.filter in ("plugin", "load")]
        near = suggest(name, [d.name for d in self.decisions if d.name not in silent])
        remedy = f"did you mean {near[0]!r}?" if near else "install the plugin that offers it"
        if silent and not near:
            remedy += f", or see to {', '.join(silent)}: blocked or broken, with tools unknown"
        return Decision(name, "", False, "unknown", "no plugin contributes it", remedy)

    def _refusal(
        self,
        record: PluginRecord,
        contribution: ToolContribution,
        owners: dict[str, PluginRecord],
        on: Conditions,
    ) -> Refusal | None:
        name = contribution.name
        blocked = record.blocked_in(on.blocked)
        if blocked is not None:
            return _blocked(blocked, on)
        if contribution.overrides != name:
            owner = owners.get(name)
            if owner is not None:
                taken = f"the plugin {owner.name!r} of {owner.distribution!r} already offers it"
                self._plugins.report(record.name, "duplicate", f"{name}: {taken}")
                remedy = f"block one of them, or contribute with overrides={name!r}"
                return Refusal("name", taken, remedy)
            owners[name] = record
        state = on.features.get(contribution.feature) if contribution.feature else None
        if contribution.feature and state is None:
            return Refusal(
                "feature",
                f"there is no feature {contribution.feature!r}",
                "install or enable the plugin that contributes the feature",
            )
        if state is not None and not state.enabled:
            return Refusal(
                "feature",
                f"the feature {contribution.feature!r} is off (by {state.decided_by})",
                state.remedy,
            )
        missing = contribution.requires - on.capabilities
        if missing:
            return Refusal(
                "runtime",
                f"the runtime {on.runtime!r} lacks {', '.join(sorted(missing))}"
                if on.runtime_status in ("ready", "degraded")
                else f"the runtime {on.runtime!r} is {on.runtime_status}",
                "use a runtime that offers it",
            )
        source = _source(record, contribution)
        listed = _always_listed(record, contribution)
        return (
            policy_refusal(name, source, on, listed=listed)
            or self._when(record, contribution, on)
            or global_refusal(name, source, on, listed=listed)
        )

    def _when(
        self, record: PluginRecord, contribution: ToolContribution, on: Conditions
    ) -> Refusal | None:
        if contribution.when is None:
            return None
        try:
            passes = contribution.when(on.context)
            if inspect.isawaitable(passes):  # it would count as true
                discard(passes)
                raise TypeError("it must not be a coroutine function")
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            problem = f"its when() failed: {describe(error)}"
            self._plugins.report(record.name, "hook", f"{contribution.name}: {problem}")
            return Refusal("when", problem, f"fix or update the plugin {record.name!r}")
        if passes:
            return None
        doc = (contribution.when.__doc__ or "").strip()
        return Refusal("when", doc or "its when() says no here", "see the plugin's documentation")

    def _without_overridden(
        self, passing: list[tuple[PluginRecord, ToolContribution]]
    ) -> list[tuple[PluginRecord, ToolContribution]]:
        winners: dict[str, tuple[PluginRecord, ToolContribution]] = {}
        for record, contribution in passing:
            if contribution.overrides and id(contribution) not in self._broken:
                winners.setdefault(contribution.overrides, (record, contribution))
        left = []
        for record, contribution in passing:
            winner, theirs = winners.get(contribution.name, (record, contribution))
            if theirs is contribution:
                left.append((record, contribution))
                continue
            refusal = Refusal(
                "name",
                f"the plugin {winner.name!r} overrides it with {theirs.name!r}",
                f"block the plugin {winner.name!r}",
            )
            self._decide(record, contribution, refusal)
        return left

    def _activate(self, record: PluginRecord, contribution: ToolContribution) -> Refusal | None:
        active = self._active.get(contribution.name)
        if active is not None and active.contribution is contribution:
            return None
        broken = self._broken.get(id(contribution))
        problem = broken[1] if broken and broken[0] is contribution else None
        if problem is None:
            try:
                tool = self._make(contribution)
            except ConfigError:
                raise  # the user's to mend, and too important to lose a tool over in silence
            except KeyboardInterrupt:
                raise
            except BaseException as error:  # extension modules panic with others than Exception
                problem = describe(error)
        if problem is not None:
            self._broken[id(contribution)] = (contribution, problem)
            self._plugins.report(record.name, "hook", f"{contribution.name}: {problem}")
            return Refusal("factory", problem, f"fix or update the plugin {record.name!r}")
        entry = RegisteredTool(
            name=contribution.name,
            tool=tool,
            source=_source(record, contribution),
            disclosure=contribution.disclosure,
            domain=contribution.domain,
            plugin=record.name,
            requires=contribution.requires,
            always_listed=_always_listed(record, contribution),
        )
        self._active[contribution.name] = _Active(contribution, self._registry.add(entry))
        return None

    def _make(self, contribution: ToolContribution) -> Any:
        with contextlib.redirect_stdout(sys.stderr):
            factory = load_factory(contribution.factory)
            tool = self._scope.construct(factory) if _is_constructor(factory) else factory
        name = getattr(tool, "name", None)
        if name != contribution.name:
            raise TypeError(f"the tool calls itself {name!r}, the contribution says otherwise")
        if not callable(getattr(tool, "resolve_execution", None)):
            raise TypeError("the tool has no resolve_execution")
        if getattr(type(tool), "Input", tool) is None and getattr(tool, "Input", None) is None:
            raise TypeError("the tool has no Input: derive it from Tool[YourInput], or set Input")
        return tool

    def _unknown_tools(self, on: Conditions) -> list[Decision]:
        """Decisions on plugins whose tools nobody knows: blocked, or broken before they told."""
        decisions = []
        for record in self._plugins.records.values():
            if record.status == "blocked":
                refusal = _blocked(record.blocked_by or record.name, on)
            elif record.status == "failed":
                reasons = [f.reason for f in self._plugins.failures if f.plugin == record.name]
                refusal = Refusal(
                    "load",
                    f"the plugin could not be loaded: {'; '.join(reasons)}",
                    f"update or uninstall {record.distribution!r}, or block it",
                )
            else:
                continue
            decisions.append(_decision(record.name, record, refusal))
        return decisions

    def _withheld_tools(self) -> list[Decision]:
        return [
            _decision(tool.name, record, Refusal("withheld", tool.reason, tool.remedy))
            for record, tool in self._table.withheld()
        ]

    def _decide(
        self, record: PluginRecord, contribution: ToolContribution, refusal: Refusal | None
    ) -> None:
        self.decisions.append(_decision(contribution.name, record, refusal))


def _has_services(contribution: ToolContribution) -> bool:
    """Whether the tool was made with services, of which one may be the runtime or the workspace."""
    factory = load_factory(contribution.factory)
    return _is_constructor(factory) and bool(inspect.signature(factory).parameters)


def _is_constructor(factory: Any) -> bool:
    return isinstance(factory, type) or not hasattr(factory, "resolve_execution")


def _decision(name: str, record: PluginRecord, refusal: Refusal | None) -> Decision:
    if refusal is None:
        return Decision(name, record.name, True)
    return Decision(name, record.name, False, refusal.filter, refusal.reason, refusal.remedy)


def _blocked(by: str, on: Conditions) -> Refusal:
    place = on.locate(by, "user", "plugins", "blocked")
    return Refusal(
        "plugin",
        f"the plugin is blocked ({by!r} in [plugins] blocked)",
        f"remove {by!r} from [plugins] blocked{_at(place)}",
    )


def _always_listed(record: PluginRecord, contribution: ToolContribution) -> bool:
    return record.builtin and contribution.always_listed


def _source(record: PluginRecord, contribution: ToolContribution) -> Source:
    if record.builtin or contribution.source != "builtin":
        return contribution.source
    return "plugin"
