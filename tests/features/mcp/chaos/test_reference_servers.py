"""Servers that people really use, over both transports, in both eras of the protocol."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from toolcrib_features.mcp.connection import Connection, connect
from toolcrib_features.mcp.model import RequestRefused, ServerConfig

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
