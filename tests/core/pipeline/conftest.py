"""A session whose tools and hooks are written in the test itself."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest

import toolcrib
from toolcrib.contract.context import ToolContext
from toolcrib.contract.events import Event
from toolcrib.pipeline.flight import Completion
from toolcrib.session import Session
from toolcrib.testing import ToolHarness

Body = Callable[[ToolContext], Awaitable[Any]]


class ScriptedTool(toolcrib.Tool[Any]):
    """Takes any object as its arguments and resolves as the test says."""

    Input: ClassVar[Any] = {"type": "object"}
    description = "Does what the test says."

    def __init__(self, name: str, resolve: Callable[[Any], Any]) -> None:
        self.name = name
        self._resolve = resolve

    def resolve_execution(self, args: Any) -> Any:
        return self._resolve(args)


class Bench:
    """Collects tools and hooks, then opens a session with them."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._plugins: list[object] = []
        self._opened: list[ToolHarness] = []
        self.events: list[Event] = []

    def resolves(self, name: str, resolve: Callable[[Any], Any], **more: Any) -> None:
        """A tool whose `resolve_execution` is `resolve`."""
        contribution = toolcrib.ToolContribution(
            name=name, factory=lambda: ScriptedTool(name, resolve), **more
        )
        self.plugin(f"offers-{name}", contribute_tool=lambda: contribution)

    def tool(self, name: str, body: Body, **execution: Any) -> None:
        """A tool with a body that touches nothing, unless `accesses` says otherwise."""
        execution.setdefault("accesses", toolcrib.Accesses.none())
        self.resolves(
            name, lambda args: toolcrib.RunnableExecution(body, approval_rule=name, **execution)
        )

    def plugin(self, name: str, **hooks: Callable[..., Any]) -> None:
        """A plugin from functions that are named as the hooks."""
        marked = {
            hook: function if hasattr(function, "toolcrib_impl") else toolcrib.hookimpl(function)
            for hook, function in hooks.items()
        }
        self._plugins.append(SimpleNamespace(__name__=name, **marked))

    def open(self, *, watch: bool = True, **options: Any) -> Session:
        """Open a session with what was collected; it is closed after the test."""
        harness = ToolHarness(self._root, plugins=self._plugins, **options)
        self._opened.append(harness)
        if watch:
            harness.session.subscribe(self.events.append)
        return harness.session

    def kinds(self, call_id: str) -> list[str]:
        """The types of the events of one call, in order, but for those about permissions."""
        of_call = [e.type for e in self.events if getattr(e, "call_id", None) == call_id]
        return [kind for kind in of_call if not kind.startswith("permission.")]

    async def aclose(self) -> None:
        for harness in self._opened:
            await harness.aclose()


async def run(session: Session, *names: str, **arguments: Any) -> dict[str, Completion]:
    """Run a batch of tools by name; the completions by id, which are "1", "2", ..."""
    calls = [
        {"id": str(number), "name": name, "arguments": arguments}
        for number, name in enumerate(names, 1)
    ]
    done: dict[str, Completion] = {}
    async for completion in session.execute(calls):
        assert completion.id not in done
        done[completion.id] = completion
    return done


@pytest.fixture
async def bench(workspace: Path) -> AsyncIterator[Bench]:
    made = Bench(workspace)
    yield made
    await made.aclose()


@pytest.fixture(name="run")
def run_fixture() -> Callable[..., Awaitable[dict[str, Completion]]]:
    return run
