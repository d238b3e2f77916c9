"""The command hooks of one session: which of them an event is for, and those that run."""

from __future__ import annotations

import asyncio
import re
import weakref
from collections.abc import Callable
from typing import Any

from attrs import frozen

from toolcrib import ToolCall, redacted
from toolcrib_features.command_hooks.answers import HookAnswer, fault_of
from toolcrib_features.command_hooks.payload import approval_payload, as_json
from toolcrib_features.command_hooks.process import Ran, run_command
from toolcrib_features.command_hooks.settings import CommandHook

PLUGIN = "feature-command-hooks"
CLOSE_S = 5.0
"""How long the end of a session waits for commands that were told of calls."""
MAX_RUNNING = 8
"""Commands that hear of calls at the same time; the others wait."""
MAX_WAITING = 1_000
_APPROVALS = {
    "permission.approval.requested": "PermissionRequest",
    "permission.approval.resolved": "PermissionResult",
}


@frozen
class Hook:
    """A hook with the place of the configuration that it stands in."""

    place: str
    settings: CommandHook

    def __str__(self) -> str:
        command = " ".join(str(redacted(self.settings.command)).split())
        shown = command if len(command) <= 80 else f"{command[:77]}..."
        return f"{shown!r} ({self.place})"


@frozen
class Verdict:
    """What the hooks of a call say together; `hook` is the one that decided."""

    hook: Hook
    answer: HookAnswer
    notes: tuple[str, ...] = ()


class SessionHooks:
    """Runs the hooks of a session, and keeps what they said of a call until it has ended."""

    def __init__(self, session: Any) -> None:
        self._session = weakref.ref(session)
        self._settings: object = None
        self._hooks: tuple[Hook, ...] = ()
        self._verdicts: dict[int, tuple[ToolCall, Verdict]] = {}
        self._telling: set[asyncio.Task[None]] = set()
        self._places = asyncio.Semaphore(MAX_RUNNING)
        self._unsubscribe: Callable[[], None] | None = None

    def matching(self, event: str, tool: str) -> tuple[Hook, ...]:
        """The hooks of an event for a tool, in the order of the configuration, none twice."""
        session = self._session()
        if session is None:
            return ()
        if session.settings is not self._settings:
            self._read(session)
        by_command: dict[str, Hook] = {}
        for hook in self._hooks:
            if hook.settings.event == event and re.search(hook.settings.matcher, tool):
                by_command.setdefault(hook.settings.command, hook)
        return tuple(by_command.values())

    async def run(self, hooks: tuple[Hook, ...], payload: dict[str, Any]) -> list[Ran]:
        """Run hooks at the same time; what they did, in their order."""
        given = as_json(payload)
        if len(hooks) == 1:
            return [await self._run(hooks[0], given)]
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(self._run(hook, given)) for hook in hooks]
        return [task.result() for task in tasks]

    def tell(self, hooks: tuple[Hook, ...], payload: dict[str, Any]) -> None:
        """Run hooks without anybody waiting for them, until the session ends."""
        if len(self._telling) >= MAX_WAITING:
            self.report(hooks[0], payload, f"was left out: {MAX_WAITING} events wait before it")
            return
        task = asyncio.get_running_loop().create_task(self._tell(hooks, payload))
        self._telling.add(task)
        task.add_done_callback(self._telling.discard)

    def report(self, hook: Hook, payload: dict[str, Any], problem: str) -> None:
        """Note a fault of a hook, and tell those who listen."""
        session = self._session()
        if session is not None:
            session.report(PLUGIN, payload["hook_event_name"], f"the hook {hook} {problem}")

    def remember(self, call: ToolCall, verdict: Verdict) -> None:
        """Keep what was said of a call until `forget`."""
        self._verdicts[id(call)] = (call, verdict)  # holding the call keeps its id its own

    def verdict(self, call: ToolCall) -> Verdict | None:
        """What was said of a call."""
        known = self._verdicts.get(id(call))
        return None if known is None else known[1]

    def forget(self, call: ToolCall) -> Verdict | None:
        """What was said of a call that has ended."""
        known = self._verdicts.pop(id(call), None)
        return None if known is None else known[1]

    async def aclose(self) -> None:
        """Wait a moment for what runs, and end the rest."""
        if self._unsubscribe is not None:
            self._unsubscribe()
            self._unsubscribe = None
        if self._telling:
            _, late = await asyncio.wait(self._telling, timeout=CLOSE_S)
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)

    def _read(self, session: Any) -> None:
        self._hooks = tuple(Hook(place, hook) for place, hook in session.entries(CommandHook))
        self._settings = session.settings
        watched = any(hook.settings.event in _APPROVALS.values() for hook in self._hooks)
        # Only who wants to hear of approvals makes the session announce what happens in it.
        if watched and self._unsubscribe is None:
            self._unsubscribe = session.subscribe(self._observe)
        elif not watched and self._unsubscribe is not None:
            self._unsubscribe()
            self._unsubscribe = None

    def _observe(self, event: Any) -> None:
        name = _APPROVALS.get(event.type)
        if name is not None and (hooks := self.matching(name, event.name)):
            self.tell(hooks, approval_payload(name, self._session(), event))

    async def _tell(self, hooks: tuple[Hook, ...], payload: dict[str, Any]) -> None:
        async with self._places:
            for hook, ran in zip(hooks, await self.run(hooks, payload), strict=True):
                if problem := fault_of(ran):
                    self.report(hook, payload, problem)

    async def _run(self, hook: Hook, given: bytes) -> Ran:
        session = self._session()
        if session is None:
            return Ran(failure="was not run: its session is gone")
        return await run_command(
            hook.settings.command,
            given,
            cwd=session.workspace.root,
            environment=session.environment,
            limit_s=hook.settings.timeout,
        )


_sessions: weakref.WeakKeyDictionary[object, SessionHooks] = weakref.WeakKeyDictionary()


def hooks_of(session: Any) -> SessionHooks:
    """The hooks of a session, closed with it."""
    hooks = _sessions.get(session)
    if hooks is None:
        hooks = _sessions[session] = SessionHooks(session)
        kept = hooks
        session.scope.add_factory(SessionHooks, lambda: kept, on_close=SessionHooks.aclose)
        session.scope.get(SessionHooks)  # only what was made is closed
    return hooks
