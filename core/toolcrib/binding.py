"""Which runtime the tools of a session act in, and how one that a plugin offers is made."""

from __future__ import annotations

import contextlib
import inspect
import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from attrs import frozen

from toolcrib.config.settings import Settings
from toolcrib.contract.contribution import RuntimeContribution
from toolcrib.errors import ConfigError, RuntimeUnavailable
from toolcrib.paths import Workspace
from toolcrib.plugins.hook_calls import discard
from toolcrib.plugins.loader import describe, load_factory
from toolcrib.policy import suggest
from toolcrib.runtime import LOCAL, LocalRuntime, Runtime
from toolcrib.runtimes import Generation, RuntimeRegistry, require_implemented, require_open
from toolcrib.services import Scope

if TYPE_CHECKING:
    from toolcrib.contract.events import RuntimeChanged

Offers = Mapping[str, tuple[str, RuntimeContribution]]
"""By the runtime's name: the plugin that offers it, and what it says of it."""


@frozen(eq=False)
class Stay:
    """The time that a session spends in one generation of a runtime.

    `workspace` is the session's as tools see it there.
    """

    generation: Generation
    workspace: Workspace

    @property
    def runtime(self) -> Runtime:
        return self.generation.runtime

    def event(self, agent: str) -> RuntimeChanged:
        """What there is to know about the place, for an agent whose tools act there now."""
        import platform

        from toolcrib.contract.events import RuntimeChanged

        generation, runtime, cwd = self.generation, self.runtime, self.workspace.root
        system: str = getattr(runtime, "os", None) or platform.system()
        capabilities = tuple(sorted(generation.capabilities))
        text = (
            f"Tools act in the runtime {runtime.id!r} now ({system}, shell {runtime.shell}, "
            f"working directory {cwd}); it offers {', '.join(capabilities) or 'nothing'}."
            if generation.open
            else f"The runtime {runtime.id!r} is {generation.status}: tools that need it are "
            "withdrawn until it is back."
        )
        return RuntimeChanged(
            agent=agent,
            id=runtime.id,
            generation=generation.id,
            status=generation.status,
            capabilities=capabilities,
            os=system,
            shell=runtime.shell,
            cwd=cwd,
            text=text,
        )


class Binding:
    """Ties a session to one of the runtimes at a time.

    `moved` is called after a change: with True when the session is somewhere else now, with False
    when the runtime it is in can do more or less than before. `lost` is given a generation that
    is out of reach, with whatever runs there.

    Raises RuntimeUnavailable when the first runtime cannot be used.
    """

    def __init__(
        self,
        first: str | Runtime,
        *,
        workspace: Workspace,
        scope: Scope,
        local: LocalRuntime,
        offers: Callable[[], Offers],
    ) -> None:
        self._workspace = workspace
        self._scope = scope
        self._local = local
        self._offers = offers
        self._made: dict[str, _Made] = {}
        self.moved: Callable[[bool], None] = _nobody_told
        self.lost: Callable[[Generation], None] = _nobody_told
        self.registry = RuntimeRegistry()
        scope.add_value(LocalRuntime, local)
        scope.add_value(RuntimeRegistry, self.registry)
        self._settle(self._stay_in(self._found(first)))
        self.registry.changed = self._changed

    def use(self, wanted: str | Runtime) -> None:
        """Go to a runtime; staying where the session is changes nothing.

        Raises RuntimeUnavailable, and leaves everything as it was, when it cannot be used.
        """
        generation = self._found(wanted)
        if generation is not self.stay.generation:
            self._enter(generation)

    def renew(self) -> None:
        """Make runtimes anew that were made with other settings than those in force now.

        Raises RuntimeUnavailable when the one that the session is in cannot be; it stays then.
        """
        for name, made in list(self._made.items()):
            generation = self.registry.current(name) if name in self.registry.ids() else None
            if generation is None or generation.runtime is not made.runtime:
                del self._made[name]
            elif made.values != self._values(made.contribution):
                if generation is not self.stay.generation:
                    self.registry.remove(generation)
                else:
                    runtime = self._make(made.plugin, made.contribution)
                    self.registry.publish(runtime, replaces=generation)

    async def aclose(self) -> None:
        """Close the runtimes that the session has used."""
        self.moved = _nobody_told
        await self.registry.aclose()

    def _found(self, wanted: str | Runtime) -> Generation:
        return self._named(wanted) if isinstance(wanted, str) else self._given(wanted)

    def _named(self, name: str) -> Generation:
        if name in self.registry.ids():
            return self.registry.current(name)
        if name == LOCAL:
            return self.registry.publish(self._local)
        offers = self._offers()
        if name not in offers:
            known = sorted({LOCAL, *self.registry.ids(), *offers})
            near = suggest(name, known)
            hint = f"did you mean {near[0]!r}?" if near else f"there are: {', '.join(known)}"
            raise RuntimeUnavailable(
                f"there is no runtime {name!r}; {hint}", code="runtime.not_found", runtime=name
            )
        return self.registry.publish(self._make(*offers[name]))

    def _given(self, runtime: Runtime) -> Generation:
        require_implemented(runtime)
        ids = self.registry.ids()
        current = self.registry.current(runtime.id) if runtime.id in ids else None
        if current is not None and current.runtime is runtime:
            return current
        require_open(runtime.id, runtime.status)
        _confined(runtime, self._workspace)
        return self.registry.publish(runtime, replaces=current)

    def _enter(self, generation: Generation) -> None:
        before = self.stay
        self._settle(self._stay_in(generation))
        try:
            self.moved(True)
        except ConfigError:  # a table that only a tool reads which has now become active
            self._settle(before)
            self.moved(True)
            raise

    def _stay_in(self, generation: Generation) -> Stay:
        generation.require()
        return Stay(generation, _confined(generation.runtime, self._workspace))

    def _settle(self, stay: Stay) -> None:
        self.stay = stay
        self._scope.add_value(Workspace, stay.workspace)
        self._scope.add_value(Runtime, stay.runtime)

    def _changed(self, generation: Generation) -> None:
        if generation.runtime.status == "disconnected":
            self.lost(generation)
        if generation is self.stay.generation:
            self.moved(False)
        elif generation.runtime.id == self.stay.runtime.id and generation.open:
            self._enter(generation)  # it has replaced the one that the session is in

    def _values(self, contribution: RuntimeContribution) -> tuple[Mapping[str, Any], ...]:
        """What the configuration says in the sections of a runtime."""
        settings = self._scope.get(Settings)
        return tuple(settings.section(name) for name in contribution.settings)

    def _make(self, plugin: str, contribution: RuntimeContribution) -> Runtime:
        """The runtime of a contribution, ready to be used."""
        name = contribution.id
        scope = Scope("session", self._scope)
        scope.add_value(Workspace, self._workspace)  # as it is, not as another runtime shows it
        try:
            with contextlib.redirect_stdout(sys.stderr):
                runtime: Runtime = scope.construct(load_factory(contribution.factory))
            if inspect.isawaitable(runtime):
                discard(runtime)
                raise TypeError("its factory must not be a coroutine function")
            require_implemented(runtime)
            if runtime.id != name:
                raise TypeError(f"it calls itself {runtime.id!r}")
            missing = contribution.capabilities - runtime.capabilities
            if missing:
                raise RuntimeUnavailable(
                    f"it lacks {', '.join(sorted(missing))}, which its contribution promises",
                    code="runtime.capability_unavailable",
                    runtime=name,
                )
            require_open(name, runtime.status)
            _confined(runtime, self._workspace)
        except (KeyboardInterrupt, ConfigError):
            raise
        except BaseException as error:  # extension modules panic with others than Exception
            if isinstance(error, RuntimeUnavailable):
                problem, code = str(error), error.code
            else:
                problem, code = describe(error), "runtime.unavailable"
            raise RuntimeUnavailable(
                f"the runtime {name!r} of the plugin {plugin!r} cannot be used: {problem}",
                code=code,
                runtime=name,
            ) from error
        self._made[name] = _Made(runtime, plugin, contribution, self._values(contribution))
        return runtime


@frozen
class _Made:
    """A runtime of a contribution, with what the configuration said when it was made."""

    runtime: Runtime
    plugin: str
    contribution: RuntimeContribution
    values: tuple[Mapping[str, Any], ...]


def _nobody_told(news: object) -> None:
    """Before the session has started, and after it has ended."""


def _confined(runtime: Runtime, workspace: Workspace) -> Workspace:
    """The workspace as tools see it in a runtime; raises RuntimeUnavailable when it cannot say."""
    try:
        confined = runtime.confine(workspace)
        if not isinstance(confined, Workspace):
            raise TypeError(f"confine gave {confined!r}, no Workspace")
    except RuntimeUnavailable:
        raise
    except Exception as error:
        raise RuntimeUnavailable(
            f"the runtime {runtime.id!r} cannot show the workspace: {describe(error)}",
            code="runtime.unavailable",
            runtime=runtime.id,
        ) from error
    return confined
