"""A session: one workspace, its configuration and its agents."""

from __future__ import annotations

import os
import time
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar, get_args

from toolcrib.agent import Agent, ToolInfo
from toolcrib.binding import Binding
from toolcrib.config.folders import state_folder
from toolcrib.config.load import load_settings
from toolcrib.config.permission import Mode
from toolcrib.config.sections import build_entries, build_section, check_section
from toolcrib.config.settings import Settings
from toolcrib.config.watch import ConfigWatch
from toolcrib.crib import Crib, offer_services
from toolcrib.decisions import Decision
from toolcrib.errors import ConfigError, Notice, RuntimeUnavailable
from toolcrib.messages import ContextMessages
from toolcrib.paths import Workspace
from toolcrib.permissions.ruleset import RuleSet
from toolcrib.plugins.hook_calls import Implementation
from toolcrib.plugins.loader import load_factory
from toolcrib.profiles import Profile, resolve_profile
from toolcrib.runtime import LocalRuntime, Runtime
from toolcrib.services import Scope

T = TypeVar("T")

if TYPE_CHECKING:
    from toolcrib.accesses import Accesses
    from toolcrib.approvals.store import SessionApprovals
    from toolcrib.audit import AuditLog
    from toolcrib.contract.contribution import Disclosure, Source
    from toolcrib.contract.events import Event
    from toolcrib.contract.interaction import InteractionHandler
    from toolcrib.contract.messages import ContextMessage
    from toolcrib.contract.tasks import Tasks
    from toolcrib.host_tools import Handler, HostTools
    from toolcrib.interactions import Interactions
    from toolcrib.permissions.approved import Approved
    from toolcrib.pipeline.flight import Completion
    from toolcrib.pipeline.scheduler import Scheduler
    from toolcrib.runtimes import Generation
    from toolcrib.truncation import OutputStore


class Session:
    """A workspace with everything that its calls need; make one with `open_session`.

    `mode` is the permission mode: the one it was opened with, else the profile's or the configured
    one. `permission_rules` are those in force: the configuration's, then the profile's. Closing the
    session stops what it started.
    """

    def __init__(
        self,
        crib: Crib,
        *,
        workspace: Workspace,
        settings: Settings,
        profile: str | None,
        mode: Mode | None,
        environment: Mapping[str, str],
        runtime: str | Runtime | None = None,
        overrides: Mapping[str, Any] | None = None,
        interact: InteractionHandler | None = None,
        model_capabilities: Iterable[str] = (),
        owns_crib: bool = False,
    ) -> None:
        crib.require_permissions()
        crib.require(settings.plugins.required, settings.plugins.blocked)
        self.crib = crib
        self._owns_crib = owns_crib
        self.id = f"{time.strftime('%Y%m%d-%H%M%S')}-{os.urandom(4).hex()}"
        self.workspace = workspace
        self.settings = settings
        self._chosen_mode = mode
        self.mode: Mode
        self._overrides = overrides
        self._interact = interact
        self.environment = environment
        self.model_capabilities = frozenset(model_capabilities)
        self.disabled_tools: frozenset[str] = frozenset()
        self.blocked_plugins = frozenset(settings.plugins.blocked)
        self.awaiting: set[Approved] = set()
        self.messages = ContextMessages(self._announce_messages)
        self._config = ConfigWatch(workspace.root, environment)
        self._starters: list[Callable[[], None]] = []
        self._started = False
        self._followers: list[Callable[[], None]] = []
        self._plugin_notices: dict[str, tuple[Notice, ...]] = {}
        self._listeners: list[Callable[[Event], None]] = []
        self.scope = Scope("session", crib.scope)
        self._offer_values()
        offer_services(crib.plugins, self.scope)
        local = LocalRuntime(environment=environment)
        self.binding = Binding(
            settings.default_runtime if runtime is None else runtime,
            workspace=workspace,
            scope=self.scope,
            local=local,
            offers=crib.runtimes,
        )
        chosen = self._resolved_profile(profile or settings.default_profile, settings)
        self.main = Agent(self, "main", chosen)
        self._take_profile(chosen)
        offer_services(crib.plugins, self.main.scope)
        self.main.refresh("start")
        self._check_sections()
        self._audit = self._open_audit()
        self.binding.moved = self._runtime_changed
        self.binding.lost = self._runtime_lost
        self._ignore_plugins = crib.plugins.on_change(self._plugins_changed)

    def tools(self) -> list[ToolInfo]:
        """The active tools of the main agent, in name order."""
        return self.main.tools()

    def model_tools(self) -> list[ToolInfo]:
        """The tools to send along with each request to the model, in name order.

        While tools are loaded on demand, those that are deferred are not among them, whether they
        are loaded or not: loading one leaves the list as it is. Otherwise it is `tools()`.
        """
        return self.main.model_tools()

    def allows_tool(self, name: str, source: Source) -> bool:
        """Whether the tool policy lets a tool through, which need not be in the table yet."""
        return self.main.forbidden(name, source) is None

    def explain(self, name: str) -> Decision:
        """Why a tool is or is not active, and what would change it."""
        return self.main.explain(name)

    def decisions(self) -> list[Decision]:
        """The decision on every contribution of every plugin."""
        return self.main.decisions()

    def execute(
        self, calls: Iterable[Mapping[str, Any]], turn_id: str | None = None
    ) -> AsyncIterator[Completion]:
        """Run a batch of calls and yield each completion as it finishes.

        A call is a mapping with `id`, `name` and `arguments` (a mapping, or the model's JSON
        text). Calls that conflict run in their order, others at the same time. Every call gets
        exactly one completion; nothing a tool or plugin does is raised here.
        """
        if self._config.changed():
            self._reload_changed()
        return self.main.execute(calls, turn_id)

    def cancel(self, *, by_user: bool = False) -> None:
        """Cancel the calls that have no result yet; `by_user` tells the model that it was meant."""
        self.main.executor.cancel(by_user=by_user)

    def disable_tools(self, *names: str) -> None:
        """Withdraw tools for the rest of the session."""
        self.disabled_tools |= set(names)
        self.main.refresh("policy")

    def enable_tools(self, *names: str) -> None:
        """Take back `disable_tools`."""
        self.disabled_tools -= set(names)
        self.main.refresh("policy")

    def register_tool(
        self,
        name: str,
        description: str,
        schema: Mapping[str, Any],
        handler: Handler | None = None,
        *,
        disclosure: Disclosure = "inline",
        read_only: bool = False,
        accesses: Accesses | None = None,
        timeout_s: float | None = None,
        owner: str | None = None,
    ) -> Callable[[], None]:
        """Offer a tool that the host program carries out; returns what ends this registration.

        One that was registered under the name is replaced; calls of it that run are finished. All
        filters decide on it, and permissions are asked, as for a tool of a plugin.

        Args:
            name: a letter, then up to 63 letters, digits, `_` and `-`; no plugin's tool has it, and
                it does not begin with `mcp__`.
            description: what the model reads.
            schema: JSON Schema of the arguments, an object; it is copied.
            handler: called with the arguments, and with the ToolContext if it needs a second
                argument. What it returns becomes the result as with `@tool`, what it raises an
                error. One that is not async runs in a thread, and cannot be interrupted there.
                Without a handler the call is a `UserToolRequest` to `interact`, which
                `session.interactions.respond` can answer as well.
            disclosure: `deferred` keeps it from the model until it is selected.
            read_only: it changes nothing, so calls of it run beside others.
            accesses: what its calls touch; without it, or `read_only`, each runs alone.
            timeout_s: seconds after which a call is given up; None waits for ever.
            owner: who answers the requests, to be told apart when they go; see `drop_tool_owner`.

        Raises:
            ValueError: the name, the schema or something else cannot be used.
        """
        from toolcrib.accesses import Accesses
        from toolcrib.host_tools import HostTool, checked_schema

        if accesses is None and read_only:
            accesses = Accesses.none()
        tool = HostTool(
            name=name,
            description=description,
            schema=checked_schema(name, schema),
            handler=handler,
            disclosure=disclosure,
            accesses=accesses,
            timeout_s=timeout_s,
            owner=owner,
        )
        return self.host_tools.register(tool)

    def unregister_tool(self, name: str) -> bool:
        """Withdraw a tool of the host; calls that run are finished. False when there is none."""
        return self.host_tools.unregister(name)

    def drop_tool_owner(self, owner: str, *, grace_s: float = 10.0) -> None:
        """Note that whoever registered tools as `owner` went away.

        The tools stay for `grace_s` seconds, in which calls wait. When the owner registers a tool
        again, its requests go on waiting; when another does, with the same schema, each is put to
        that one as a new request, and an answer to the old one comes too late. After that the tools
        are withdrawn, and the model is told. Needs an event loop, but for a `grace_s` of 0.
        """
        self.host_tools.drop_owner(owner, grace_s)

    @property
    def runtime(self) -> Runtime:
        """Where tools act."""
        return self.binding.stay.runtime

    def use_runtime(self, runtime: str | Runtime) -> None:
        """Let tools act somewhere else; what the new place cannot do is withdrawn.

        `runtime` is the name of one on offer, or a runtime of the host's own, which the session
        then closes when another takes its name or the session ends. Calls that run go on where
        they are. Raises RuntimeUnavailable, and leaves everything as it was, when there is no such
        runtime or it cannot be used; staying in the same one changes nothing.
        """
        self.binding.use(runtime)

    def _runtime_changed(self, elsewhere: bool) -> None:
        # Tools hold the runtime, and the workspace as it is seen from there.
        self.main.refresh("runtime", renew="with services" if elsewhere else None)
        if self.main.observed:
            self.main.emit(self.binding.stay.event(self.main.name))

    def _runtime_lost(self, generation: Generation) -> None:
        if "executor" in self.main.__dict__:
            self.main.executor.lose(generation)

    @property
    def notices(self) -> tuple[Notice, ...]:
        """What was ignored of the configuration or looks wrong, for the user to know."""
        more = (notice for notices in self._plugin_notices.values() for notice in notices)
        return (*self.settings.notices, *self._rule_notices, *more)

    def note(self, plugin: str, notices: Iterable[Notice]) -> None:
        """Let these be the notices of a plugin, instead of those that it had."""
        self._plugin_notices[plugin] = tuple(notices)

    def use_mode(self, mode: Mode) -> None:
        """Change the permission mode from the next call on; ValueError when there is no such mode.

        The mode holds until it is changed again, whatever profile or configuration says.
        """
        require_mode(mode)
        self._chosen_mode = mode
        if mode == self.mode:
            return
        before = self.mode
        self.mode = mode
        self.main.refresh("mode")
        if self.main.observed:
            from toolcrib.contract.events import PermissionModeChanged

            self.emit(PermissionModeChanged(before=before, mode=mode))

    def use_model(self, capabilities: Iterable[str]) -> None:
        """Say what the model can do now; tools may depend on it."""
        self.model_capabilities = frozenset(capabilities)
        self.main.refresh("model")

    def use_profile(self, name: str) -> None:
        """Give the main agent another profile; raises ConfigError when there is none."""
        self._take_profile(self._resolved_profile(name, self.settings))
        self.main.refresh("profile")
        self._tell_followers()

    def reload(self) -> None:
        """Read the configuration again, for everything but the folders of the workspace.

        Tools are made anew, and runtimes whose settings are others now; calls that run finish with
        the old ones. Raises ConfigError or RuntimeUnavailable, and leaves everything as it was,
        when a file cannot be used.
        """
        settings = load_settings(
            workspace=self.workspace.root, environ=self.environment, overrides=self._overrides
        )
        profile = self._resolved_profile(self.main.profile.name, settings)
        before = self.settings, self.main.profile
        try:
            self._apply(settings, profile)
        except (ConfigError, RuntimeUnavailable):  # a table that only a tool or runtime reads
            self._apply(*before)
            raise
        self._tell_followers()

    def start(self) -> None:
        """Begin what goes on in the background; `async with` does it. Needs an event loop."""
        self._started = True
        while self._starters:
            self._starters.pop(0)()

    def on_start(self, start: Callable[[], None]) -> None:
        """Have `start` called when the session starts, or now; there is an event loop then."""
        if self._started:
            start()
        else:
            self._starters.append(start)

    def on_change(self, follow: Callable[[], None]) -> None:
        """Have `follow` called after the configuration was read again, or the profile changed."""
        self._followers.append(follow)

    def watch(self, *files: str | os.PathLike[str]) -> None:
        """Read the configuration again also when one of these files changes, appears or goes."""
        self._config.add(files)

    def uses_plugin(self, name: str) -> bool:
        """Whether a plugin counts here: loaded, not blocked, no part of a feature that is off."""
        record = self.crib.plugins.records.get(name)
        return record is not None and record.status == "loaded" and name not in self.main.silenced()

    async def settle_tools(self) -> None:
        """Wait until what brings tools while the session lives has brought them, or failed to."""
        await self.main.table.settled()

    def _tell_followers(self) -> None:
        for follow in tuple(self._followers):
            follow()

    def _reload_changed(self) -> None:
        """Follow a change of a configuration file; one that cannot be used changes nothing."""
        problem = None
        try:
            self.reload()
        except (ConfigError, RuntimeUnavailable) as error:
            problem = str(error)
        if self.main.observed:
            from toolcrib.contract.events import ConfigurationReloaded

            self.emit(ConfigurationReloaded(problem=problem))

    def _open_audit(self) -> tuple[AuditLog, Callable[[], None]] | None:
        """Write decisions down where the settings say so."""
        file = self.settings.permission.audit_file
        if file is None:
            return None
        from toolcrib.audit import AuditLog

        log = AuditLog(file, session=self.id)
        return log, self.subscribe(log.take)

    def _close_audit(self) -> None:
        if self._audit is not None:
            log, unsubscribe = self._audit
            unsubscribe()
            log.close()
            self._audit = None

    def _apply(self, settings: Settings, profile: Profile) -> None:
        self.settings = settings
        self._take_profile(profile)
        self.blocked_plugins = frozenset(settings.plugins.blocked)
        self.scope.add_value(Settings, settings)
        self.binding.renew()
        self._close_audit()
        self.main.refresh("configuration", renew="all")
        self._check_sections()
        self._audit = self._open_audit()

    def _check_sections(self) -> None:
        """Raise ConfigError when the configuration of something that is active cannot be used.

        Tools read theirs when they are made, but what they share only when it is used.
        """
        written = self.settings.sections()
        read = [f.settings for f in self.crib.features() if self.main.features[f.name].enabled]
        active = self.main.registry
        for record, contribution in self.crib.plugins.contributions():
            entry = active.get(contribution.name)
            if entry is not None and entry.plugin == record.name:
                read.append(contribution.settings)
        places = {each[section] for each in read for section in each.keys() & written}
        for place in sorted(places):
            check_section(load_factory(place), self.settings)

    def _take_profile(self, profile: Profile) -> None:
        """Work out once what every call asks for: the mode, and the rules in force."""
        self.main.profile = profile
        permission = self.settings.permission
        self.mode = self._chosen_mode or profile.mode or permission.default_mode
        rules = permission.rules + profile.rules
        contributed = self.crib.plugins.contributions() if rules else ()
        domains = {contribution.name: contribution.domain for _, contribution in contributed}
        self._rule_notices: tuple[Notice, ...] = ()
        if any(rule.match or rule.no_match for rule in rules):
            from toolcrib.permissions.examples import checked

            rules, self._rule_notices = checked(rules, domains, self.workspace)
        self.permission_rules = RuleSet(rules, domains)

    def _resolved_profile(self, name: str, settings: Settings) -> Profile:
        return resolve_profile(name, {**self.crib.profiles(), **settings.profiles})

    def section(self, name: str) -> Mapping[str, Any]:
        """The values of a table of the configuration; empty when nobody sets any."""
        return self.settings.section(name)

    def entries(self, cls: type[T]) -> tuple[tuple[str, T], ...]:
        """The entries of the array of tables that a class describes, each with its place.

        `cls` is marked with `settings(section, each_needs=...)`. Raises ConfigError when an entry
        cannot be used.
        """
        return build_entries(cls, self.settings)

    def subscribe(self, listener: Callable[[Event], None]) -> Callable[[], None]:
        """Have every event given to `listener`; returns the function that ends it."""

        def unsubscribe() -> None:
            if listener in self._listeners:
                self._listeners.remove(listener)
            self.main.note_observers()

        self._listeners.append(listener)
        self.main.note_observers()
        return unsubscribe

    def permission_checks(self, tool: str) -> tuple[Implementation, ...]:
        """The plugins' `check_permission` for calls of one tool, first to last."""
        return self.main.hooks.for_tool("check_permission", tool)

    def report(self, plugin: str, stage: str, message: str) -> None:
        """Note that a plugin's hook failed, and tell those who listen."""
        self.main.report(plugin, stage, message)

    @property
    def observed(self) -> bool:
        """Whether anybody follows the events."""
        return self.main.observed

    def emit(self, event: Event) -> None:
        """Give an event to the plugins that observe and to the listeners."""
        self.main.emit(event)

    @property
    def tasks(self) -> Tasks | None:
        """The background tasks of the main agent; None when no plugin runs any."""
        from toolcrib.contract.tasks import Tasks

        scope = self.main.scope
        return scope.get(Tasks) if scope.offers(Tasks) else None  # type: ignore[type-abstract]

    def context_messages(self, turn_id: str | None = None) -> list[ContextMessage]:
        """What the model has to be told since the last time, such as the ends of its tasks.

        Put them into the conversation before the next request to the model. They count as
        delivered from now on: none of them comes again, in this session or one after it. With
        `turn_id`, a turn is told only at its first request which tools can be loaded.
        """
        if self._config.changed():
            self._reload_changed()
        _ = self.tasks  # those of an earlier session have news too
        if self.main.selection is not None:
            self.main.selection.turn_id = turn_id
        return self.messages.take()

    def return_messages(self, messages: Iterable[ContextMessage | str]) -> None:
        """Take messages back that did not stay in the conversation, given by themselves or id.

        `context_messages` gives those again whose news still hold.
        """
        _ = self.tasks  # those of an earlier session may be meant
        self.messages.give_back(messages)

    def forget_context(self, kept: Iterable[ContextMessage | Mapping[str, Any]] = ()) -> None:
        """The conversation was compacted, or goes on from an earlier session.

        Which tools can be loaded is announced anew, and what was loaded counts as loaded no more,
        but for what messages say that are still in the conversation: `kept`, by themselves or by
        their `origin`, in their order.
        """
        self.main.forget_context(m if isinstance(m, Mapping) else m.origin for m in kept)

    def outgoing(self, messages: Iterable[ContextMessage]) -> list[ContextMessage]:
        """What of these may be sent to the model now, for a conversation that is kept whole.

        Definitions of tools that are not active are left out, and everything about loading tools
        while none is loaded on demand. The others are the same objects.
        """
        from toolcrib.selection import outgoing

        fitting = (outgoing(message, self.main.registry) for message in messages)
        return [message for message in fitting if message is not None]

    def _announce_messages(self) -> None:
        if self.main.observed:
            from toolcrib.contract.events import ContextMessagesReady

            self.emit(ContextMessagesReady(agent=self.main.name))

    @property
    def has_listeners(self) -> bool:
        return bool(self._listeners)

    def tell(self, event: Event) -> None:
        """Give an event to the listeners; what one of them raises is logged."""
        for listener in tuple(self._listeners):
            try:
                listener(event)
            except Exception:
                import logging

                logging.getLogger("toolcrib").exception("a listener failed over %r", event)

    @cached_property
    def scheduler(self) -> Scheduler:
        from toolcrib.pipeline.scheduler import Scheduler

        return Scheduler()

    @cached_property
    def interactions(self) -> Interactions:
        """The questions to whoever hosts the session."""
        from toolcrib.interactions import Interactions

        return Interactions(self._interact, timeout_s=self.settings.permission.approval_timeout_s)

    @cached_property
    def host_tools(self) -> HostTools:
        """The tools of the host; they are the session's, so that other agents can have them too."""
        from toolcrib.host_tools import HostTools

        tools = HostTools(self)
        tools.offer_to(self.main)
        return tools

    @cached_property
    def approvals(self) -> SessionApprovals:
        """What was approved for the rest of the session."""
        from toolcrib.approvals.store import SessionApprovals

        file = self.state_folder / "approvals.db"
        return SessionApprovals(file, self.id, self.workspace.root)

    @property
    def state_folder(self) -> Path:
        """Where plugins keep what outlives a session, each in a folder or file of its own name."""
        return state_folder(self.environment)

    @cached_property
    def outputs(self) -> OutputStore:
        from toolcrib.truncation import OutputStore, remove_old_outputs

        sessions = self.state_folder / "sessions"
        remove_old_outputs(sessions)
        return OutputStore(sessions / self.id / "tool-results", self.settings.output.quota_bytes)

    async def __aenter__(self) -> Self:
        self.start()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Cancel what runs and close the services, the last made first.

        Raises ExceptionGroup when services failed to close, after all of them were told to.
        """
        self._ignore_plugins()
        if "executor" in self.main.__dict__:
            await self.main.executor.aclose()
        if "host_tools" in self.__dict__:
            self.host_tools.close()
        if "approvals" in self.__dict__:
            self.approvals.close()
        closers = [
            self.main.table.aclose,
            self.main.scope.aclose,
            self.binding.aclose,
            self.scope.aclose,
        ]
        if self._owns_crib:
            closers.append(self.crib.scope.aclose)
        failures: list[ExceptionGroup[Exception]] = []
        for close in closers:
            try:
                await close()
            except ExceptionGroup as failure:
                failures.append(failure)
        self._close_audit()
        if failures:
            raise ExceptionGroup("closing the session", failures)

    def _plugins_changed(self) -> None:
        for scope in (self.scope, self.main.scope):
            offer_services(self.crib.plugins, scope)
        self.main.refresh("plugins")

    def _offer_values(self) -> None:
        scope = self.scope
        scope.add_value(Session, self)
        scope.add_value(ContextMessages, self.messages)
        scope.add_value(Settings, self.settings)
        scope.use_settings(lambda cls: build_section(cls, self.settings))


def require_mode(mode: str) -> None:
    """Raise ValueError when there is no such permission mode."""
    if mode not in get_args(Mode):
        raise ValueError(f"there is no mode {mode!r}: use one of {', '.join(get_args(Mode))}")


def open_session(
    workspace: str | os.PathLike[str] = ".",
    *,
    profile: str | None = None,
    mode: Mode | None = None,
    plugins: Iterable[object] = (),
    autoload: bool = True,
    additional_dirs: Iterable[str] = (),
    runtime: str | Runtime | None = None,
    environ: Mapping[str, str] | None = None,
    overrides: Mapping[str, Any] | None = None,
    interact: InteractionHandler | None = None,
    model_capabilities: Iterable[str] = (),
    crib: Crib | None = None,
) -> Session:
    """Assemble a session for a workspace; `async with` closes it at the end of the block.

    Args:
        workspace: the folder that relative paths belong to.
        profile: a named set of tools, features and rules; the configuration names the default.
        mode: of permissions: `manual` asks, `yolo` asks only where a rule or a guard says so,
            `auto` never asks. Without it the profile's or the configured one.
        plugins: modules or objects with hooks, registered beside the installed plugins.
        autoload: whether to load the plugins of other distributions than toolcrib.
        additional_dirs: more folders that count as part of the workspace.
        runtime: where tools act: the name of a runtime (`local`, or one that a plugin offers), or
            a runtime, which the session closes. Without it the configured one, else this machine.
        environ: the environment variables, instead of those of the process.
        overrides: configuration that wins over all files, in their shape.
        interact: answers the questions of the session: approvals and others. Without it nobody can
            be asked, so what needs an approval is denied.
        model_capabilities: what the model can do, such as `tool_use` and
            `dynamically_loaded_tools`, for tools that depend on it; `use_model` changes it.
        crib: the plugins of an earlier session, to load them only once; whoever made it closes
            it.

    Raises:
        ConfigError: the configuration cannot be used; names file, line and key.
        NotADirectoryError: the workspace is not a folder.
        PluginError: one of `plugins` cannot be used, the permission plugin is broken, or
            toolcrib is not installed.
        RuntimeUnavailable: there is no such runtime, or it cannot be used.
        ValueError: there is no such mode.
    """
    if mode is not None:
        require_mode(mode)
    environ = os.environ if environ is None else environ
    try:
        root = Path(workspace).absolute()
    except FileNotFoundError:
        raise NotADirectoryError(
            f"the workspace {os.fspath(workspace)!r} is relative to the current folder, which "
            "does not exist any more"
        ) from None
    if not root.is_dir():
        raise NotADirectoryError(f"the workspace {str(root)!r} is not a folder")
    settings = load_settings(workspace=root, environ=environ, overrides=overrides)
    owns_crib = crib is None
    if crib is None:
        crib = Crib.load(blocked=settings.plugins.blocked, autoload=autoload, environ=environ)
    for plugin in plugins:
        crib.register(plugin)
    folders = dict.fromkeys((*settings.workspace.additional_dirs, *additional_dirs))
    return Session(
        crib,
        workspace=Workspace(
            root=os.path.normpath(root),
            additional_dirs=tuple(os.path.abspath(folder) for folder in folders),
            home_dir=environ.get("HOME") or os.path.expanduser("~"),
        ),
        settings=settings,
        profile=profile,
        mode=mode,
        environment=environ,
        runtime=runtime,
        overrides=overrides,
        interact=interact,
        model_capabilities=model_capabilities,
        owns_crib=owns_crib,
    )
