"""A session with the tools of a server that answers and asks what a test wants."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest
from attrs import define, field

from toolcrib import (
    Approve,
    Ask,
    QuestionAnswer,
    QuestionRequest,
    ToolCall,
    ToolContribution,
    hookimpl,
    qualify_tool_name,
)
from toolcrib.pipeline.flight import Completion
from toolcrib.testing import ToolHarness
from toolcrib_features.mcp.client_side import ClientSide
from toolcrib_features.mcp.connection import Connection, connect
from toolcrib_features.mcp.extras import extras
from toolcrib_features.mcp.model import ServerConfig, ToolDefinition
from toolcrib_features.mcp.permission import approve_reading, ask_before_destroying
from toolcrib_features.mcp.server import Server
from toolcrib_features.mcp.server_tool import McpTool

SCRIPT = Path(__file__).with_name("talkative.py")


class _Reading:
    @hookimpl(before="default-tool-approve")
    def check_permission(self, call: ToolCall) -> Approve | None:
        return approve_reading(call)


class _Destroying:
    @hookimpl(before="session-approval-history")
    def check_permission(self, call: ToolCall) -> Ask | None:
        return ask_before_destroying(call)


@define
class Talk:
    """A session, and the life of its one server."""

    harness: ToolHarness
    server: Server
    requests: list[Any] = field(factory=list)

    async def call(self, tool: str, **arguments: Any) -> Completion:
        return await self.harness.call(f"mcp__talk__{tool}", arguments)

    async def text(self, tool: str, **arguments: Any) -> str:
        return str((await self.call(tool, **arguments)).result.output)


@define
class _Plugin:
    """Offers the tools of the server, which is connected when the first of them is called."""

    config: ServerConfig
    tools: Mapping[str, dict[str, Any]]
    server: Server | None = None

    @hookimpl
    def contribute_tool(self) -> list[ToolContribution]:
        def server() -> Server:
            assert self.server is not None
            return self.server

        made = []
        for name, about in self.tools.items():
            definition = ToolDefinition(name=name, data={"name": name, **about})
            known = qualify_tool_name("talk", name)
            tool = McpTool(known, definition, self.config, server)
            made.append(ToolContribution(name=known, factory=tool, domain="mcp", source="mcp"))
        names = {each.name for each in made}
        found = extras(self.config, ("resources", "prompts"), server, names)
        return made + [
            ToolContribution(name=e.name, factory=e.factory, domain="mcp", source="mcp")
            for e in found
        ]


@pytest.fixture
def talkative_tools() -> Mapping[str, dict[str, Any]]:
    """What the server lists."""
    scope: dict[str, Any] = {"__name__": "talkative"}
    source = SCRIPT.read_text().partition("while True:\n    request")[0]
    exec(compile(source, str(SCRIPT), "exec"), scope)
    tools: Mapping[str, dict[str, Any]] = scope["TOOLS"]
    return tools


@pytest.fixture
async def talk(
    tmp_path: Path, talkative_tools: Mapping[str, dict[str, Any]]
) -> AsyncIterator[Callable[..., Awaitable[Talk]]]:
    """Opens a session; `answer` is given the questions of requests, or the request itself."""
    async with AsyncExitStack() as stack:

        async def begin(
            answer: Callable[[Any], Any] | None = None, mode: Any = "yolo", **settings: Any
        ) -> Talk:
            settings = {"tool_timeout_s": 20, **settings}
            config = ServerConfig(
                name="talk", command=sys.executable, args=("-I", str(SCRIPT)), **settings
            )
            plugin = _Plugin(config, talkative_tools)
            root = tmp_path / "ws"
            root.mkdir(exist_ok=True)
            requests: list[Any] = []

            async def interact(request: Any) -> Any:
                requests.append(request)
                assert answer is not None
                if not isinstance(request, QuestionRequest):
                    return answer(request)
                answers = [answer(each.question) for each in request.questions]
                if None in answers:
                    return QuestionAnswer(answers=None)
                asked = [each.question for each in request.questions]
                return QuestionAnswer(answers=dict(zip(asked, answers, strict=True)))

            harness = ToolHarness(
                root,
                plugins=[plugin, _Reading(), _Destroying()],
                mode=mode,
                interact=interact if answer else None,
            )
            await stack.enter_async_context(harness)

            async def connected() -> Connection:
                side = ClientSide(harness.session, "talk")
                environ = harness.session.environment
                return await connect(config, side, environ=environ, cwd=str(root))

            server = Server(
                config, connect=connected, listed=lambda listing: None, changed=lambda: None
            )
            stack.push_async_callback(server.aclose)
            plugin.server = server
            return Talk(harness, server, requests)

        yield begin
