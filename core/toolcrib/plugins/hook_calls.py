"""The pipeline's hooks in their order, each implementation with its plugin's name."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from attrs import frozen

from toolcrib.plugins.loader import PluginHost, describe


@frozen
class Implementation:
    """One plugin's implementation of a hook; `function` takes all arguments of the hook."""

    plugin: str
    function: Callable[..., Any]
    tools: frozenset[str] | Callable[[Any, str], bool] | None
    before: str | None
    after: str | None
    always: bool


class HookTable:
    """Looks implementations up by hook and tool, so that nobody pays for hooks of other tools.

    `without` names the plugins whose hooks do not count; `session` is what implementations are
    asked about that choose their tools themselves.
    """

    def __init__(
        self,
        host: PluginHost,
        without: Callable[[], frozenset[str]] = frozenset,
        session: object = None,
    ) -> None:
        self._host = host
        self._without = without
        self._session = session
        self._all: dict[str, tuple[Implementation, ...]] = {}
        self._for_tool: dict[tuple[str, str], tuple[Implementation, ...]] = {}

    def all(self, hook: str) -> tuple[Implementation, ...]:
        """The implementations of a hook, first to last."""
        found = self._all.get(hook)
        if found is None:
            without = self._without()
            caller = getattr(self._host.manager.hook, hook)
            found = self._all[hook] = tuple(
                _implementation(call, caller.spec.argnames)
                for call in reversed(caller.get_hookimpls())
                if call.plugin_name not in without
            )
        return found

    def for_tool(self, hook: str, tool: str) -> tuple[Implementation, ...]:
        """Those that want to hear of calls of one tool."""
        found = self._for_tool.get((hook, tool))
        if found is None:
            found = tuple(i for i in self.all(hook) if self._is_for(i, hook, tool))
            self._for_tool[hook, tool] = found
        return found

    def _is_for(self, implementation: Implementation, hook: str, tool: str) -> bool:
        tools = implementation.tools
        if tools is None:
            return True
        if not callable(tools):
            return tool in tools
        try:
            return bool(tools(self._session, tool))
        except (Exception, SystemExit) as error:
            # It may be there to guard: better to hear of a call too many.
            problem = f"it could not say whether {hook} is for {tool}: {describe(error)}"
            self._host.report(implementation.plugin, "hook", problem)
            return True

    def clear(self) -> None:
        """Look everything up again: the plugins have changed, or which of them count."""
        self._all.clear()
        self._for_tool.clear()


def discard(answer: object) -> None:
    """Close a coroutine that nobody will wait for, so that Python does not complain of it."""
    if inspect.iscoroutine(answer):
        answer.close()


def _implementation(call: Any, names: tuple[str, ...]) -> Implementation:
    function = call.function
    marks = getattr(function, "__func__", function)
    if tuple(call.argnames) != tuple(names):  # an implementation may leave arguments out
        function = _selecting(function, [names.index(name) for name in call.argnames])
    return Implementation(
        plugin=call.plugin_name,
        function=function,
        tools=getattr(marks, "toolcrib_tools", None),
        before=getattr(marks, "toolcrib_before", None),
        after=getattr(marks, "toolcrib_after", None),
        always=getattr(marks, "toolcrib_always", False),
    )


def _selecting(function: Callable[..., Any], places: list[int]) -> Callable[..., Any]:
    return lambda *values: function(*[values[place] for place in places])
