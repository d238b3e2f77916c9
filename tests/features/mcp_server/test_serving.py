"""What any client gets, over both transports and in both eras of the protocol."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import mcp_types as mcp
import pytest
from mcp import Client

Connect = Callable[..., AbstractAsyncContextManager[Client]]
everywhere = pytest.mark.parametrize(
    "connect", ["stdio-auto", "stdio-legacy", "http-auto", "http-legacy"], indirect=True
)


async def wait_for(file: Path, text: str) -> None:
    """Wait until a file has this content."""
    async with asyncio.timeout(20):
        while not file.exists() or file.read_text() != text:
            await asyncio.sleep(0.02)


def texts(result: mcp.CallToolResult) -> list[str]:
    return [block.text for block in result.content if isinstance(block, mcp.TextContent)]


@everywhere
async def test_lists_the_active_tools_in_name_order(connect: Connect) -> None:
    """Each has its description, an object schema and a title; hints only where they are known."""
    async with connect() as client:
        listed = await client.list_tools()
    tools = {tool.name: tool for tool in listed.tools}
    assert list(tools) == sorted(tools)
    assert {"Read", "Bash", "Media"} <= set(tools)
    assert all(tool.description and tool.input_schema["type"] == "object" for tool in listed.tools)
    assert tools["TaskOutput"].title == "Task output"
    assert tools["Read"].annotations is not None and tools["Read"].annotations.read_only_hint
    assert tools["Bash"].annotations is not None and tools["Bash"].annotations.destructive_hint
    assert tools["Media"].annotations is None
    assert listed.next_cursor is None


async def test_a_profile_decides_what_is_offered(connect: Connect, site: Any) -> None:
    """A tool that the profile leaves out is neither listed nor run."""
    site.configure('[profiles.reader]\ntools = ["Read"]\n')
    async with connect("--profile", "reader") as client:
        assert [tool.name for tool in (await client.list_tools()).tools] == ["Read"]
        assert (await client.call_tool("Bash", {"command": "touch made"})).is_error
    assert not (site.workspace / "made").exists()


async def test_a_call_gives_all_that_its_result_says(connect: Connect) -> None:
    """Text, pictures, sound and video; notes; whether something was left out."""
    async with connect() as client:
        result = await client.call_tool("Media", {})
    kinds = [type(block) for block in result.content]
    assert kinds == [
        mcp.TextContent,
        mcp.ImageContent,
        mcp.AudioContent,
        mcp.EmbeddedResource,
        mcp.TextContent,
    ]
    assert texts(result) == ["the parts", "a note"]
    image = result.content[1]
    assert isinstance(image, mcp.ImageContent)
    assert (image.mime_type, base64.b64decode(image.data)) == ("image/png", b"png")
    assert result.meta is not None and result.meta["toolcrib/truncated"] is True
    assert not result.is_error


async def test_what_goes_wrong_is_a_result_for_the_model(connect: Connect) -> None:
    """An unknown tool, wrong arguments and a tool that breaks do not break the conversation."""
    async with connect() as client:
        for name, arguments in (("Nope", {}), ("Read", {"file": 1}), ("Fail", {})):
            result = await client.call_tool(name, arguments)
            assert result.is_error and texts(result)
        assert "hello" in texts(await client.call_tool("Read", {"path": "a.txt"}))[0]


async def test_nothing_but_the_protocol_is_written_to_the_client(connect: Connect) -> None:
    """What plugins, tools and programs print goes elsewhere, and there is nothing to read."""
    async with connect() as client:
        assert texts(await client.call_tool("Noise", {})) == ["quiet"]
        assert texts(await client.call_tool("Noise", {})) == ["quiet"]


async def test_progress_reaches_a_client_that_asks_for_it(connect: Connect) -> None:
    """It grows with each notification and has a total where the tool measures."""
    seen: list[tuple[float, float | None, str | None]] = []

    async def note(progress: float, total: float | None, message: str | None) -> None:
        seen.append((progress, total, message))

    async with connect() as client:
        result = await client.call_tool("Steps", {}, progress_callback=note)
    assert texts(result) == ["done"]
    assert [progress for progress, _, _ in seen] == sorted({p for p, _, _ in seen})
    assert [total for _, total, _ in seen] == [100.0] * len(seen)
    assert (seen[0][0], seen[0][2]) == (25, "at 25") and seen[-1][0] == 75


@everywhere
async def test_cancelling_one_call_leaves_the_others_alone(connect: Connect, site: Any) -> None:
    """A call that the client gives up is cancelled; one beside it goes on."""
    async with connect() as client:
        given_up = asyncio.create_task(client.call_tool("Slow", {"log": "a"}))
        other = asyncio.create_task(client.call_tool("Slow", {"log": "b"}))
        await wait_for(site.workspace / "a", "started")
        await wait_for(site.workspace / "b", "started")
        given_up.cancel()
        await wait_for(site.workspace / "a", "cancelled")
        assert (site.workspace / "b").read_text() == "started"
        assert not other.done()
        other.cancel()
        await wait_for(site.workspace / "b", "cancelled")
        await asyncio.gather(given_up, other, return_exceptions=True)


async def test_calls_at_the_same_time_keep_out_of_each_others_way(connect: Connect) -> None:
    """Those that touch everything run one after the other, although each is a batch."""
    async with connect() as client:
        results = await asyncio.gather(*(client.call_tool("Alone", {}) for _ in range(4)))
    assert [texts(result) for result in results] == [["1 at once"]] * 4


async def test_the_end_of_a_background_task_is_told_with_the_next_result(
    connect: Connect, site: Any
) -> None:
    """A client has no other way to hear of it."""
    async with connect() as client:
        started = await client.call_tool(
            "Bash",
            {
                "command": "until [ -e go ]; do sleep 0.05; done; echo over",
                "run_in_background": True,
                "description": "a task",
            },
        )
        assert not started.is_error
        (site.workspace / "go").touch()
        async with asyncio.timeout(20):
            while True:
                said = texts(await client.call_tool("Read", {"path": "a.txt"}))
                if any("a task" in text for text in said):
                    break
                await asyncio.sleep(0.05)
        again = texts(await client.call_tool("Read", {"path": "a.txt"}))
        assert not any("a task" in text for text in again)


@pytest.mark.parametrize("connect", ["http-auto"], indirect=True)
async def test_a_cursor_that_is_none_of_ours_is_refused(connect: Connect) -> None:
    """The client learns that it made a mistake."""
    async with connect() as client:
        with pytest.raises(Exception, match="cursor"):
            await client.list_tools(cursor="nonsense!")


@pytest.mark.parametrize("connect", ["stdio-auto", "http-auto"], indirect=True)
async def test_a_change_of_the_tools_is_told_to_who_listens(connect: Connect, site: Any) -> None:
    """In the stateless protocol a client asks for it; nobody has to call anything in between."""
    async with connect() as client:
        names = [tool.name for tool in (await client.list_tools()).tools]
        async with client.listen(tools_list_changed=True) as changes:
            site.configure('[tools]\ndisabled = ["Bash"]\n')
            async with asyncio.timeout(20):
                async for _ in changes:
                    break
        listed = await client.list_tools(cache_mode="bypass")
    assert set(names) - {tool.name for tool in listed.tools} == {"Bash"}
