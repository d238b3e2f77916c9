"""The plugin under test: a trivial tool, one that names files, and three hooks around each call."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager

from attrs import frozen

import toolcrib
from benchmarks.lab import Lab

GOOD = '{"text": "hello", "times": 2}'
BAD = '{"text": "hello", "times": "many"}'


async def echo(text: str, times: int = 1) -> str:
    """The work itself."""
    return text * times


@frozen(kw_only=True)
class EchoInput:
    text: str
    times: int = 1


class Echo(toolcrib.Tool[EchoInput]):
    name = "Echo"
    description = "Repeat a text."

    def resolve_execution(self, args: EchoInput) -> toolcrib.Execution:
        async def execute(context: toolcrib.ToolContext) -> toolcrib.ToolResult:
            return toolcrib.ToolResult(await echo(args.text, args.times))

        return toolcrib.RunnableExecution(
            execute=execute, approval_rule="Echo", accesses=toolcrib.Accesses.none()
        )


@frozen(kw_only=True)
class TouchInput:
    path: str


class Touch(toolcrib.Tool[TouchInput]):
    name = "Touch"
    description = "Say that a file is used, and do nothing with it."

    def __init__(self, workspace: toolcrib.Workspace) -> None:
        self._root = workspace.root

    def resolve_execution(self, args: TouchInput) -> toolcrib.Execution:
        async def execute(context: toolcrib.ToolContext) -> toolcrib.ToolResult:
            return toolcrib.ToolResult(args.path)

        return toolcrib.RunnableExecution(
            execute=execute,
            approval_rule="Touch",
            accesses=toolcrib.Accesses.readwrite(os.path.join(self._root, args.path)),
        )


class Tools:
    """Contributes the tools."""

    @toolcrib.hookimpl
    def contribute_tool(self) -> Iterable[toolcrib.ToolContribution]:
        for tool in (Echo, Touch):
            yield toolcrib.ToolContribution(name=tool.name, factory=tool, domain="bench")


class Before:
    """A hook that has nothing to say. With the permission plugin, two of them make three."""

    @toolcrib.hookimpl
    def before_execute(self, call: toolcrib.ToolCall) -> None: ...


class After:
    """A hook that leaves results alone."""

    @toolcrib.hookimpl
    def did_execute(self, call: toolcrib.ToolCall, outcome: toolcrib.Outcome) -> None: ...


@asynccontextmanager
async def echo_session(lab: Lab) -> AsyncIterator[toolcrib.Session]:
    """A session with the builtin tools, these tools, and three hooks before and after a call."""
    plugins = [Tools(), Before(), Before(), After(), After(), After()]
    async with toolcrib.open_session(
        lab.workspace, mode="yolo", plugins=plugins, autoload=False, environ=lab.environment
    ) as session:
        yield session
