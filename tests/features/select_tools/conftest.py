"""A session whose model takes in tools, and tools that are deferred."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, ClassVar

import pytest

import toolcrib
from toolcrib import ContextMessage, ToolContribution
from toolcrib.offered import HOST
from toolcrib.testing import ToolHarness

CAPABILITIES = ("dynamically_loaded_tools", "tool_use")


class Echo(toolcrib.Tool[dict[str, Any]]):
    """Gives its text back; counts how often its schema was asked for."""

    Input: ClassVar[Any] = {"type": "object"}

    def __init__(self, name: str, description: str) -> None:
        self.name = name
        self._description = description
        self.read = 0
        self._schema = {
            "type": "object",
            "properties": {"text": {"type": "string"}},
            "required": ["text"],
        }

    @property
    def description(self) -> str:
        return self._description

    @property
    def parameters(self) -> dict[str, Any]:
        self.read += 1
        return self._schema

    def resolve_execution(self, args: dict[str, Any]) -> toolcrib.RunnableExecution:
        async def run(context: toolcrib.ToolContext) -> toolcrib.ToolResult:
            return toolcrib.ToolResult(f"{self.name}: {args['text']}")

        return toolcrib.RunnableExecution(run, self.name, accesses=toolcrib.Accesses.none())


class Host:
    """A session with a conversation of context messages."""

    def __init__(self, harness: ToolHarness) -> None:
        self.harness = harness
        self.session = harness.session
        self._offered: dict[str, ToolContribution] = {}

    def offer(self, server: str, tools: dict[str, str], disclosure: Any = "deferred") -> None:
        """Let a server have these tools, each with its description, and no others."""
        made = []
        for tool, description in tools.items():
            name = f"mcp__{server}__{tool}"
            old = self._offered.get(name)
            if (
                old is None
                or old.factory.description != description  # type: ignore[union-attr]
                or old.disclosure != disclosure
            ):
                self._offered[name] = ToolContribution(
                    name=name,
                    factory=Echo(name, description),
                    source="mcp",
                    domain="mcp",
                    disclosure=disclosure,
                )
            made.append(self._offered[name])
        self.session.main.table.replace(server, made, plugin=HOST, reason="test")

    def tool(self, name: str) -> Echo:
        tool = self._offered[name].factory
        assert isinstance(tool, Echo)
        return tool

    async def select(self, *names: str, **more: Any) -> toolcrib.ToolResult:
        arguments = {"names": list(names), **more} if names else more
        return (await self.harness.call("select_tools", arguments)).result

    async def call(self, name: str, **arguments: Any) -> toolcrib.Completion:
        return await self.harness.call(name, arguments)

    def told(self) -> tuple[list[str], list[str]]:
        """What is announced now: the names that came, and those that went."""
        messages = [m for m in self.session.context_messages() if not m.tools]
        added = [name for m in messages for name in m.origin["added"]]
        return added, [name for m in messages for name in m.origin["removed"]]

    def given(self) -> list[str]:
        """The names whose definitions come now."""
        return names_of(self.session.context_messages())

    def listed(self) -> list[str]:
        return [tool.name for tool in self.session.model_tools()]


def names_of(messages: Iterable[ContextMessage]) -> list[str]:
    return [tool["name"] for message in messages for tool in message.tools]


@pytest.fixture
def host(workspace: Path) -> Callable[..., Host]:
    """Opens a session with loading on demand, unless told otherwise."""

    def begin(**more: Any) -> Host:
        more = {
            "environ": {"TOOLCRIB_FEATURE_TOOL_SELECT": "1"},
            "model_capabilities": CAPABILITIES,
            **more,
        }
        return Host(ToolHarness(workspace, **more))

    return begin
