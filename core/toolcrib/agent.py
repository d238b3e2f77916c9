"""An agent: a profile, the tools it leaves, and the pipeline that runs their calls."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any

from attrs import frozen

from toolcrib.activation import (
    Activation,
    Conditions,
    Renewal,
    global_refusal,
    policy_refusal,
)
from toolcrib.config.permission import Mode
from toolcrib.contract.contribution import Disclosure, Source
from toolcrib.contract.tool import ToolLike
from toolcrib.decisions import Decision
from toolcrib.features import FeatureState, resolve_features
from toolcrib.offered import ToolTable
from toolcrib.pipeline.texts import unknown_tool
from toolcrib.plugins.hook_calls import HookTable, discard
from toolcrib.plugins.loader import describe
from toolcrib.policy import ToolPolicy, suggest
from toolcrib.profiles import Profile
from toolcrib.registry import SELECT_TOOLS, RegisteredTool, ToolRegistry
from toolcrib.runtimes import Generation
from toolcrib.services import Scope

if TYPE_CHECKING:
    from toolcrib.contract.events import Event
    from toolcrib.pipeline.executor import Executor
    from toolcrib.pipeline.flight import Completion
    from toolcrib.pipeline.scheduler import Scheduler
    from toolcrib.selection import ToolSelection
    from toolcrib.session import Session
    from toolcrib.truncation import OutputStore


@frozen
class ToolInfo:
    """An active tool as it is listed: what a model needs to call it, and where it comes from."""

    name: str
    source: Source
    disclosure: Disclosure
    domain: str
    plugin: str
    description: str
    parameters: Mapping[str, Any]


class Agent:
    """One agent of a session; the main agent is made with it."""

    def __init__(self, session: Session, name: str, profile: Profile) -> None:
        self.session = session
        self.name = name
        self.profile = profile
        self.scope = Scope("agent", session.scope)
        self.registry = ToolRegistry()
        self.hooks = HookTable(session.crib.plugins, self.silenced, session)
        self.features = self._decided_features()
        self.timeouts: Mapping[str, float] = {}
        self.observed = False
        self.table = ToolTable(session.crib.plugins.records, self._table_changed)
        self.scope.add_value(ToolTable, self.table)
        self._activation = Activation(
            session.crib.plugins, self.scope, self.registry, self.table, self._conditions
        )
        self._on: Conditions | None = None
        self._refusals: dict[tuple[str, Source, bool], str | None] = {}
        self._evaluated = False
        self._selection: ToolSelection | None = None
        self.scope.add_value(Agent, self)

    def refresh(self, reason: str, *, renew: Renewal | None = None) -> None:
        """Evaluate which tools the agent has, after something that decides it has changed.

        With `renew` tools are made anew, for they may hold settings of their own, or services.
        """
        self.features = self._decided_features()
        self._on = None
        self._refusals.clear()
        self.timeouts = self.session.settings.tools.timeouts
        self.hooks.clear()
        self.note_observers()
        self._evaluate(reason, renew)

    def _decided_features(self) -> dict[str, FeatureState]:
        session = self.session
        return resolve_features(
            session.crib.features(),
            settings=session.settings,
            profile=self.profile,
            environ=session.environment,
        )

    def _table_changed(self, reason: str) -> None:
        if self._evaluated:  # otherwise the first evaluation is still to come
            self._evaluate(reason)

    def _evaluate(self, reason: str, renew: Renewal | None = None) -> None:
        self._evaluated = True
        changes = self._activation.evaluate(renew=renew)
        if self._selection is None and SELECT_TOOLS in self.registry:
            self._selection = self._new_selection()
        if changes and self.observed:
            from toolcrib.contract.events import ToolListUpdated

            self.emit(
                ToolListUpdated(
                    agent=self.name,
                    reason=reason,
                    added=changes.added,
                    removed=changes.removed,
                    replaced=changes.replaced,
                )
            )

    def _new_selection(self) -> ToolSelection:
        """Have deferred tools announced and loaded, from the first time on that this is wanted."""
        from toolcrib.selection import ToolSelection

        made = ToolSelection(self.registry, describe=self._description, define=self._info)
        self.session.messages.add_source(made)
        return made

    @property
    def selection(self) -> ToolSelection | None:
        """The tools that are loaded on demand; None when none is, and deferred ones are listed."""
        listed = self._selection is None or SELECT_TOOLS not in self.registry
        return None if listed else self._selection

    def forget_context(self, kept: Iterable[Mapping[str, Any]]) -> None:
        """The conversation has lost all messages but those with these origins.

        That counts also for a model that takes in tools only later.
        """
        if self._selection is None:
            self._selection = self._new_selection()
        self._selection.forget(kept)

    def note_observers(self) -> None:
        """Find out whether anybody follows the events; without anybody none is made."""
        self.observed = self.session.has_listeners or bool(self.hooks.all("observe"))

    def tools(self) -> list[ToolInfo]:
        """The active tools in name order, their descriptions rendered now."""
        return [info for entry in self.registry if (info := self._info(entry)) is not None]

    def model_tools(self) -> list[ToolInfo]:
        """Those that a model is given with each request; see `Session.model_tools`."""
        if self.selection is None:
            return self.tools()
        inline = [entry for entry in self.registry if entry.disclosure == "inline"]
        return [info for entry in inline if (info := self._info(entry)) is not None]

    def _info(self, entry: RegisteredTool) -> ToolInfo | None:
        """An active tool as it is listed; one that cannot be described is withdrawn."""
        try:
            description, parameters = _description(entry.tool), _parameters(entry.tool)
        except (Exception, SystemExit) as error:
            self._withdraw(entry, error)
            return None
        return ToolInfo(
            entry.name,
            entry.source,
            entry.disclosure,
            entry.domain,
            entry.plugin,
            description,
            parameters,
        )

    def _description(self, entry: RegisteredTool) -> str | None:
        """What an active tool says of itself; one that fails to is withdrawn."""
        try:
            return _description(entry.tool)
        except (Exception, SystemExit) as error:
            self._withdraw(entry, error)
            return None

    def _withdraw(self, entry: RegisteredTool, error: BaseException) -> None:
        problem = f"its description or schema cannot be made: {describe(error)}"
        self._activation.withdraw(entry.name, problem)

    def decisions(self) -> list[Decision]:
        """What became of every contribution, by name."""
        return sorted(self._activation.decisions, key=lambda d: (d.name, d.plugin))

    def explain(self, name: str) -> Decision:
        """Why a tool is or is not active."""
        return self._activation.decision(name)

    def execute(
        self, calls: Iterable[Mapping[str, Any]], turn_id: str | None = None
    ) -> AsyncIterator[Completion]:
        """Run a batch of calls; see `Session.execute`."""
        return self.executor.execute(calls, turn_id)

    @cached_property
    def executor(self) -> Executor:
        # Imported here because a listing of tools needs neither asyncio nor the validators.
        from toolcrib.pipeline.executor import Executor

        return Executor(self)

    @property
    def mode(self) -> Mode:
        return self.session.mode

    @cached_property
    def scheduler(self) -> Scheduler:
        return self.session.scheduler

    @cached_property
    def outputs(self) -> OutputStore:
        return self.session.outputs

    @property
    def generation(self) -> Generation:
        return self.session.binding.stay.generation

    def refusal(self, entry: RegisteredTool) -> str | None:
        """Why the tool policy forbids a registered tool, in words for the model, or None."""
        return self.forbidden(entry.name, entry.source, listed=entry.always_listed)

    def forbidden(self, name: str, source: Source, *, listed: bool = False) -> str | None:
        """Why the tool policy forbids tools of a name, in words for the model, or None."""
        key = (name, source, listed)
        if key not in self._refusals:
            on = self._conditions()
            refusal = policy_refusal(name, source, on, listed=listed) or global_refusal(
                name, source, on, listed=listed
            )
            self._refusals[key] = (
                f"Tool {name!r} is disabled by the active tool policy: {refusal.reason}."
                if refusal
                else None
            )
        return self._refusals[key]

    def explain_missing(self, name: str) -> str:
        decision = self._activation.decision(name)
        if self._selection is not None:
            loaded = self._selection.explain_missing(decision)
            if loaded is not None:
                return loaded
        if decision.filter == "unknown" and not decision.plugin:
            return unknown_tool(name, suggest(name, self.registry.names()), None)
        told = decision.filter in ("withheld", "unknown")
        remedy = f" ({decision.remedy})" if told else ""
        return unknown_tool(name, (), f"{decision.reason}{remedy}.")

    def emit(self, event: Event) -> None:
        """Give an event to the plugins that observe and to the session's listeners."""
        for implementation in self.hooks.all("observe"):
            try:
                answer = implementation.function(event)
                if answer is not None:
                    discard(answer)
                    raise TypeError(f"it answered {answer!r}; it must not be a coroutine function")
            except (KeyboardInterrupt, GeneratorExit):
                raise
            except BaseException as error:
                self.session.crib.plugins.report(
                    implementation.plugin, "hook", f"observe failed: {describe(error)}"
                )
        self.session.tell(event)

    def report(self, plugin: str, stage: str, message: str) -> None:
        """Note that a plugin's hook failed, and tell those who listen."""
        self.session.crib.plugins.report(plugin, "hook", f"{stage} failed: {message}")
        if self.observed:
            from toolcrib.contract.events import PluginProblem

            self.emit(PluginProblem(plugin=plugin, stage=stage, message=message))

    def silenced(self) -> frozenset[str]:
        """The plugins that do not count here: blocked, or part of a feature that is off."""
        off = frozenset(
            plugin
            for feature in self.session.crib.features()
            for plugin in feature.plugins
            if feature.name in self.features and not self.features[feature.name].enabled
        )
        names = self.session.blocked_plugins
        records = self.session.crib.plugins.records.values()
        return off | {r.name for r in records if r.blocked_in(names) is not None}

    def _conditions(self) -> Conditions:
        if self._on is None:
            session, profile, tools = self.session, self.profile, self.session.settings
            generation = self.generation
            self._on = Conditions(
                blocked=session.blocked_plugins,
                features=self.features,
                capabilities=generation.capabilities,
                runtime=generation.runtime.id,
                runtime_status=generation.status,
                workspace_policy=ToolPolicy(
                    tools=tools.workspace_tools.enabled,
                    disallowed_tools=tools.workspace_tools.disabled,
                ),
                profile=profile.name,
                profile_policy=ToolPolicy(
                    tools=profile.tools, disallowed_tools=profile.disallowed_tools
                ),
                global_policy=ToolPolicy(
                    tools=tools.tools.enabled, disallowed_tools=tools.tools.disabled
                ),
                session_disabled=session.disabled_tools,
                context=_Context(session, profile.name),
                profile_source=profile.source,
                # A thousand tools that one list leaves out have one place to look at.
                locate=cache(
                    lambda name, scope, table, key: tools.locate_name(name, table, key, scope=scope)
                ),
            )
        return self._on


def _description(tool: ToolLike) -> str:
    """What a model is told of a tool; the tool makes it afresh and may fail to."""
    description = tool.description
    if not isinstance(description, str):
        raise TypeError(f"the description is {description!r}, no text")
    return description


def _parameters(tool: ToolLike) -> Mapping[str, Any]:
    """The schema of a tool; it may fail to make it."""
    parameters = tool.parameters
    if not isinstance(parameters, Mapping):
        raise TypeError(f"the schema is {parameters!r}, no mapping")
    return parameters


@frozen
class _Context:
    """The facts that `when` predicates may look at."""

    _session: Session
    profile: str

    @property
    def workspace(self) -> str:
        return self._session.workspace.root

    @property
    def mode(self) -> str:
        return self._session.mode

    @property
    def environment(self) -> Mapping[str, str]:
        return self._session.environment

    @property
    def model_capabilities(self) -> frozenset[str]:
        return self._session.model_capabilities

    def section(self, name: str) -> Mapping[str, Any]:
        return self._session.section(name)
