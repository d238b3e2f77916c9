"""Servers that people really use, over both transports, in both eras of the protocol."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import mcp_types as types
import pytest

from toolcrib import process_started
from toolcrib_features.mcp.connection import Connection, connect
from toolcrib_features.mcp.model import RequestRefused, ServerConfig
from toolcrib_features.mcp.session import Session

SERVER = """
import sys
from mcp.server import MCPServer
from mcp.server.mcpserver import Context

server = MCPServer("sdk", instructions="Use it well.")

@server.tool()
async def add(a: int, b: int) -> int:
    return a + b

@server.tool()
async def grow(context: Context) -> str:
    server.add_tool(add, name="added")
    await context.notify_tools_changed()
    return "grown"

@server.tool()
async def steps(context: Context) -> str:
    for step in range(3):
        await context.report_progress(step, 3, f"step {step}")
    return "done"

@server.resource("note://one")
def note() -> str:
    return "a note"

@server.prompt()
def greet(name: str) -> str:
    return f"Greet {name}"

server.run()
"""


async def open_(folder: Path, *args: str) -> Connection:
    config = ServerConfig(name="s", command=sys.executable, args=args, startup_timeout_s=30)
    return await connect(config, environ=os.environ, cwd=str(folder))


async def call(connection: Connection, name: str, **arguments: Any) -> str:
    answer = await connection.call(name, arguments, silence_s=20, ceiling_s=20)
    return str(answer["content"][0]["text"])


@pytest.fixture
async def sdk(tmp_path: Path) -> AsyncIterator[Connection]:
    connection = await open_(tmp_path, "-c", SERVER)
    yield connection
    await connection.aclose()


async def test_git(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", "-b", "trunk", str(tmp_path)], check=True)
    connection = await open_(tmp_path, "-m", "mcp_server_git")
    assert "git_status" in {tool.name for tool in (await connection.list_tools()).tools}
    assert "trunk" in await call(connection, "git_status", repo_path=str(tmp_path))
    await connection.aclose()


async def test_time(tmp_path: Path) -> None:
    connection = await open_(tmp_path, "-m", "mcp_server_time", "--local-timezone", "UTC")
    assert "UTC" in await call(connection, "get_current_time", timezone="UTC")
    await connection.aclose()


async def test_fetch(tmp_path: Path) -> None:
    connection = await open_(tmp_path, "-m", "mcp_server_fetch")
    assert [tool.name for tool in (await connection.list_tools()).tools] == ["fetch"]
    assert connection.has("prompts")
    assert [prompt["name"] for prompt in await connection.list_prompts()] == ["fetch"]
    await connection.aclose()


async def test_the_present_protocol(sdk: Connection) -> None:
    assert sdk.protocol_version == "2026-07-28"
    assert (sdk.server_name, sdk.instructions) == ("sdk", "Use it well.")
    assert await call(sdk, "add", a=1, b=2) == "3"
    await sdk.ping(5)
    assert [resource["uri"] for resource in await sdk.list_resources()] == ["note://one"]
    assert (await sdk.read_resource("note://one"))["contents"][0]["text"] == "a note"
    assert [prompt["name"] for prompt in await sdk.list_prompts()] == ["greet"]
    prompt = await sdk.get_prompt("greet", {"name": "Ada"})
    assert prompt["messages"][0]["content"]["text"] == "Greet Ada"
    with pytest.raises(RequestRefused):
        await sdk.read_resource("note://none")


async def test_progress(sdk: Connection) -> None:
    heard: list[Any] = []
    await sdk.call(
        "steps",
        {},
        silence_s=20,
        ceiling_s=20,
        on_progress=lambda *progress: heard.append(progress),
    )
    assert (1.0, 3.0, "step 1") in heard


async def test_a_server_tells_that_its_tools_have_changed(sdk: Connection) -> None:
    told = asyncio.Event()
    sdk.on_tools_changed = told.set
    await call(sdk, "grow")
    async with asyncio.timeout(10):
        await told.wait()
    assert "added" in {tool.name for tool in (await sdk.list_tools()).tools}


ROUNDS = """
import asyncio
import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

async def list_tools(context, params):
    return types.ListToolsResult(tools=[types.Tool(name="paint", input_schema={"type": "object"})])

async def call_tool(context, params):
    if params.input_responses is None:
        schema = {"type": "object", "properties": {"colour": {"type": "string"}}}
        form = types.ElicitRequestFormParams(message="Which colour?", requested_schema=schema)
        ask = {"colour": types.ElicitRequest(params=form)}
        return types.InputRequiredResult(input_requests=ask, request_state="painting")
    answer = params.input_responses["colour"]
    text = f"{answer.action} {answer.content['colour']}"
    assert params.request_state == "painting"
    return types.CallToolResult(content=[types.TextContent(type="text", text=text)])

server = Server("asking", on_list_tools=list_tools, on_call_tool=call_tool)

async def main():
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())

asyncio.run(main())
"""

REQUESTS = """
from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from pydantic import BaseModel

class Colour(BaseModel):
    colour: str

server = MCPServer("asking")

@server.tool()
async def paint(context: Context) -> str:
    answer = await context.elicit("Which colour?", Colour)
    return f"{answer.action} {answer.data.colour if answer.action == 'accept' else ''}"

server.run()
"""


class Person:
    """Takes longer to answer than a server may be silent."""

    def __init__(self) -> None:
        self.asking = 0

    async def elicitation_callback(
        self, context: Any, params: types.ElicitRequestParams
    ) -> types.ElicitResult:
        self.asking += 1
        await asyncio.sleep(1)
        self.asking -= 1
        return types.ElicitResult(action="accept", content={"colour": "red"})

    serving_a_call = nullcontext
    list_roots_callback = None
    logging_callback = None


@pytest.mark.parametrize("script", [ROUNDS, REQUESTS], ids=["rounds", "requests"])
async def test_a_server_asks_a_person(
    tmp_path: Path, script: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In rounds of the present protocol, and by requests of its own in the one before."""
    if script is REQUESTS:
        monkeypatch.setattr(Session, "negotiate", lambda self, probe: self.initialize())
    config = ServerConfig(name="s", command=sys.executable, args=("-c", script))
    side: Any = Person()
    connection = await connect(config, side, environ=os.environ, cwd=str(tmp_path))
    answer = await connection.call("paint", {}, silence_s=0.4, ceiling_s=20)
    assert answer["content"][0]["text"] == "accept red"
    await connection.aclose()


HOST = """
import asyncio, os, sys
from toolcrib import process_started
from toolcrib_features.mcp.connection import connect
from toolcrib_features.mcp.model import ServerConfig

async def main():
    config = ServerConfig(name="s", command=sys.executable, args=("-m", "mcp_server_time"))
    connection = await connect(config, environ=os.environ, cwd="/")
    print(connection.pid, flush=True)

asyncio.run(main())
"""


def test_a_host_that_forgets_to_close(tmp_path: Path) -> None:
    said = subprocess.run(
        [sys.executable, "-X", "dev", "-W", "error", "-c", HOST], capture_output=True, text=True
    )
    assert (said.returncode, said.stderr) == (0, "")
    assert process_started(int(said.stdout)) is None
