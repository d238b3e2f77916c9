"""A session with the tools of a server that answers and asks what a test wants."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import AsyncExitStack
from inspect import isawaitable
from pathlib import Path
from typing import Any

import pytest
from attrs import define, field

from toolcrib import (
    Approve,
    Ask,
    QuestionAnswer,
    QuestionRequest,
    Session,
    ToolCall,
    ToolContribution,
    hookimpl,
    open_session,
    process_started,
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
                answers = [await each if isawaitable(each) else each for each in answers]
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


TABLED = Path(__file__).with_name("tabled.py")


@define
class Tabled:
    """A server with the tools that a file says, and the folder with what it notes."""

    name: str
    folder: Path

    @property
    def entry(self) -> dict[str, Any]:
        return {"command": sys.executable, "args": ["-I", str(TABLED), str(self.folder)]}

    def has(self, *tools: str | dict[str, Any], **more: Any) -> Tabled:
        """Let these be its tools, and let it behave so (`start_s`, `list_s`, `fails`).

        It lists `page` of them at a time; `after` names tools that come by a call of another.
        `alone` has it refuse to run beside another one, and `stubborn` go on when it is to end.
        """
        full = [
            {"name": tool, "description": f"Does {tool}.", "inputSchema": {"type": "object"}}
            if isinstance(tool, str)
            else {"inputSchema": {"type": "object"}, **tool}
            for tool in tools
        ]
        new = self.folder / "new"
        new.write_text(json.dumps({"tools": full, **more}), "utf-8")
        new.replace(self.folder / "table.json")
        return self

    def noted(self, name: str) -> list[str]:
        file = self.folder / name
        return file.read_text().splitlines() if file.exists() else []

    def assert_gone(self) -> None:
        for pid in self.noted("starts"):
            deadline = time.monotonic() + 10
            while process_started(int(pid)) is not None:
                assert time.monotonic() < deadline, f"{self.name}: {pid} is still there"
                time.sleep(0.01)


@define
class Place:
    """A home and a workspace of a test's own, with servers and sessions."""

    folder: Path
    servers: list[Tabled] = field(factory=list)

    @property
    def environ(self) -> dict[str, str]:
        return {
            "HOME": str(self.folder / "home"),
            "PATH": os.environ["PATH"],
            "XDG_CONFIG_HOME": str(self.folder / "home" / "config"),
            "TOOLCRIB_STATE": str(self.folder / "state"),
        }

    @property
    def file(self) -> Path:
        return self.folder / "home" / "config" / "toolcrib" / "mcp.json"

    def server(self, name: str, *tools: str | dict[str, Any], **more: Any) -> Tabled:
        folder = self.folder / f"server{len(self.servers)}"
        folder.mkdir()
        self.servers.append(Tabled(name, folder).has(*tools, **more))
        return self.servers[-1]

    def configure(self, *servers: Tabled, **others: dict[str, Any]) -> None:
        """Let the user's file name these; `others` are entries by name."""
        self.file.parent.mkdir(parents=True, exist_ok=True)
        new = self.file.with_suffix(".new")
        entries = {**{one.name: one.entry for one in servers}, **others}
        new.write_text(json.dumps({"mcpServers": entries}))
        new.replace(self.file)

    def session(
        self,
        *servers: Tabled | tuple[Tabled, dict[str, Any]],
        options: Mapping[str, Any] | None = None,
        **overrides: Any,
    ) -> Session:
        """A session with these servers beside the configured ones, in the mode `yolo`.

        `options` are those of `open_session`.
        """
        entries: dict[str, Any] = {}
        for one in servers:
            server, more = one if isinstance(one, tuple) else (one, {})
            entries[server.name] = {**server.entry, **more}
        if entries:
            overrides["mcp"] = {"servers": entries}
        settled: dict[str, Any] = {"mode": "yolo", "autoload": False, "environ": self.environ}
        return open_session(
            self.folder / "ws", overrides=overrides, **{**settled, **(options or {})}
        )


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    for name in ("ws", "home"):
        (tmp_path / name).mkdir()
    made = Place(tmp_path)
    yield made
    for server in made.servers:
        server.assert_gone()


Call = Callable[..., Awaitable[Completion]]


@pytest.fixture
def call() -> Call:
    """Calls one tool in a session."""

    async def call(session: Session, name: str, /, **arguments: Any) -> Completion:
        calls = [{"id": "1", "name": name, "arguments": arguments}]
        (done,) = [done async for done in session.execute(calls)]
        return done

    return call


Until = Callable[[Callable[[], Any]], Awaitable[None]]


@pytest.fixture
def until() -> Until:
    """Waits until something holds."""

    async def until(holds: Callable[[], Any]) -> None:
        async with asyncio.timeout(20):
            while not holds():
                await asyncio.sleep(0.02)

    return until
