"""Tools of MCP servers that are offered again, with all that their servers say."""

from __future__ import annotations

import asyncio
import base64
import sys
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import mcp_types as mcp
import pytest
from mcp import Client

Connect = Callable[..., AbstractAsyncContextManager[Client]]
SCRIPT = Path(__file__).with_name("inner_server.py")


async def wait_for(file: Path, text: str) -> None:
    async with asyncio.timeout(20):
        while not file.exists() or file.read_text() != text:
            await asyncio.sleep(0.02)


@pytest.fixture(autouse=True)
def servers(site: Any) -> None:
    """The same server twice: one is trusted, the other is not."""
    site.configure(
        "".join(
            f"[mcp.servers.{name}]\n"
            f'command = "{sys.executable}"\n'
            f'args = ["{SCRIPT}", "{site.workspace}"]\n'
            f"trusted = {trusted}\n"
            for name, trusted in (("known", "true"), ("strange", "false"))
        )
    )


async def test_only_what_a_trusted_server_says_of_its_tools_is_passed_on(connect: Connect) -> None:
    """Titles and hints decide how clients treat a tool."""
    async with connect() as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
    data, picture = tools["mcp__known__data"], tools["mcp__known__picture"]
    assert data.title == "Some data" and picture.title == "A picture"
    assert data.annotations == mcp.ToolAnnotations(read_only_hint=True, open_world_hint=False)
    fail = tools["mcp__known__fail"].annotations
    assert fail is not None and fail.destructive_hint and fail.read_only_hint is None
    assert tools["mcp__known__slow"].annotations is None
    for name in ("data", "picture", "fail", "slow"):
        strange = tools[f"mcp__strange__{name}"]
        assert strange.annotations is None and strange.title == f"{name.title()} (strange)"


async def test_data_pictures_and_errors_come_through(connect: Connect) -> None:
    """Data beside the text, and pictures bit by bit."""
    async with connect() as client:
        data = await client.call_tool("mcp__strange__data", {})
        picture = await client.call_tool("mcp__strange__picture", {})
        fail = await client.call_tool("mcp__strange__fail", {})
    assert data.structured_content == {"numbers": [1, 2]} and not data.is_error
    assert isinstance(data.content[0], mcp.TextContent) and "two numbers" in data.content[0].text
    (image,) = [block for block in picture.content if isinstance(block, mcp.ImageContent)]
    assert image.mime_type == "image/png" and base64.b64decode(image.data).startswith(b"\x89PNG")
    assert fail.is_error and fail.structured_content is None
    assert isinstance(fail.content[0], mcp.TextContent) and "it went wrong" in fail.content[0].text


async def test_a_call_that_is_given_up_is_cancelled_at_its_server(
    connect: Connect, site: Any
) -> None:
    """The server of the tool learns of it."""
    async with connect() as client:
        call = asyncio.create_task(client.call_tool("mcp__known__slow", {}))
        await wait_for(site.workspace / "slow", "started")
        call.cancel()
        await wait_for(site.workspace / "slow", "cancelled")
        await asyncio.gather(call, return_exceptions=True)


@pytest.mark.parametrize("connect", ["http-auto"], indirect=True)
async def test_a_server_that_has_other_tools_now_is_told_to_who_listens(connect: Connect) -> None:
    """The list of the client changes with that of the server behind it."""
    async with connect() as client:
        await client.list_tools()
        async with client.listen(tools_list_changed=True) as changes:
            await client.call_tool("mcp__known__grow", {})
            async with asyncio.timeout(20):
                async for _ in changes:
                    listed = await client.list_tools(cache_mode="bypass")
                    if "mcp__known__grown" in [tool.name for tool in listed.tools]:
                        break
