"""Clients that others wrote: FastMCP's, that of the TypeScript SDK, and the MCP Inspector."""

from __future__ import annotations

import asyncio
import contextlib
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import mcp_types as mcp
import pytest
from fastmcp import Client
from fastmcp.client.elicitation import ElicitResult
from fastmcp.client.transports import StdioTransport, StreamableHttpTransport


async def wait_for(file: Path, content: str) -> None:
    async with asyncio.timeout(20):
        while not file.exists() or file.read_text() != content:
            await asyncio.sleep(0.02)


@pytest.mark.parametrize("transport", ["stdio", "http"])
async def test_fastmcp(site: Any, transport: str) -> None:
    """Lists, calls, shows progress and answers an approval."""
    server = site.http(mode="manual") if transport == "http" else None
    way: Any
    if server is not None:
        headers = {"Authorization": f"Bearer {site.environ['TOKEN']}"}
        way = StreamableHttpTransport(server.url, headers=headers)
    else:
        arguments = site.arguments(mode="manual")
        way = StdioTransport(sys.executable, arguments, env=site.environ, keep_alive=False)
    forms: list[str] = []
    progress: list[float] = []

    async def answer(message: str, response_type: Any, params: Any, context: Any) -> Any:
        forms.append(message)
        return ElicitResult(action="accept", content={"decision": "allow once"})

    async def note(done: float, total: float | None, message: str | None) -> None:
        progress.append(done)

    client: Any = Client(way, elicitation_handler=answer, progress_handler=note)
    async with client:
        assert "Media" in [tool.name for tool in await client.list_tools()]
        media = await client.call_tool("Media", {})
        assert isinstance(media.content[1], mcp.ImageContent)
        shell = await client.call_tool("Bash", {"command": "echo from python"})
        assert shell.content[0].text == "from python\n"
        await client.call_tool("Steps", {})
        wrong = await client.call_tool("Fail", {}, raise_on_error=False)
        assert wrong.is_error
    assert any("echo from python" in form for form in forms)
    assert progress == sorted(progress) and progress[-1] == 75
    if server is not None:
        server.stop()


@pytest.mark.parametrize("transport", ["stdio", "http"])
async def test_the_typescript_sdk(site: Any, node_modules: Path, transport: str) -> None:
    """Lists, calls, shows progress, approves, gives a call up, and hears of other tools."""
    shutil.copy(Path(__file__).with_name("peer.mjs"), site.folder)
    link_to(node_modules, site)
    site.configure("")
    where: dict[str, Any] = {"config": str(site.folder / ".config" / "toolcrib" / "toolcrib.toml")}
    server = site.http(mode="manual") if transport == "http" else None
    if server is not None:
        where |= {"url": server.url, "token": site.environ["TOKEN"]}
    else:
        where |= {"command": sys.executable, "args": site.arguments(mode="manual")}
        where |= {"env": site.environ}
    said = await _node(site, ["peer.mjs", json.dumps(where)])
    assert {"Read", "Steps"} <= set(said["tools"])
    assert set(said["tools"]) - set(said["toolsAfter"]) == {"Steps"}
    assert said["media"] == ["text", "image", "audio", "resource", "text"]
    assert said["bash"]["content"][0]["text"] == "from node\n"
    assert any("echo from node" in form for form in said["forms"])
    assert said["progress"] == [25, 50, 75]
    assert "givenUp" in said
    await wait_for(site.workspace / "slow.log", "cancelled")
    if server is not None:
        server.stop()


@pytest.mark.parametrize("transport", ["stdio", "http"])
async def test_the_inspector(site: Any, node_modules: Path, transport: str) -> None:
    """Its command line finds no fault with the schemas, lists the tools and calls one."""
    link_to(node_modules, site)
    server = site.http() if transport == "http" else None
    if server is not None:
        headers = {"Authorization": f"Bearer {site.environ['TOKEN']}"}
        entry = {"type": "streamable-http", "url": server.url, "headers": headers}
    else:
        entry = {"command": sys.executable, "args": site.arguments(), "env": site.environ}
    configuration = {"mcpServers": {"toolcrib": entry}}
    (site.folder / "mcp.json").write_text(json.dumps(configuration))
    inspector = ["node_modules/.bin/mcp-inspector", "--cli", "--config", "mcp.json"]
    inspector += ["--server", "toolcrib", "--method"]
    listed = await _node(site, [*inspector, "tools/list", "--strict"])
    assert "Read" in [tool["name"] for tool in listed["tools"]]
    arguments = ["--tool-name", "Read", "--tool-arg", "path=a.txt"]
    called = await _node(site, [*inspector, "tools/call", *arguments])
    assert "hello" in called["content"][0]["text"]
    if server is not None:
        server.stop()


def link_to(node_modules: Path, site: Any) -> None:
    with contextlib.suppress(FileExistsError):
        (site.folder / "node_modules").symlink_to(node_modules / "node_modules")


async def _node(site: Any, arguments: list[str]) -> Any:
    """Run a script in the folder of the site, and give what it prints."""
    done = await asyncio.to_thread(
        subprocess.run,
        ["node", *arguments],
        cwd=site.folder,
        env=site.environ,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)
