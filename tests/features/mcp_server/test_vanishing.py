"""Clients that vanish, leave, or get in one another's way."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

SLEEP = {"command": "echo $$ > {0}.new; mv {0}.new {0}; exec sleep 60"}
YES = {"action": "accept", "content": {"decision": "allow once"}}


def sleeping(name: str) -> dict[str, str]:
    """A command that writes its process id into a file."""
    return {"command": SLEEP["command"].format(name)}


async def pid_in(file: Path) -> int:
    async with asyncio.timeout(20):
        while not file.exists():
            await asyncio.sleep(0.02)
    return int(file.read_text())


async def gone(pid: int) -> None:
    async with asyncio.timeout(20):
        while runs(pid):
            await asyncio.sleep(0.02)


def runs(pid: int) -> bool:
    """Whether a process is there, and is not only waited for by its parent."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


async def test_a_stateless_call_ends_with_its_connection(site: Any) -> None:
    """Closing it is how such a client cancels."""
    server = site.shared_http(mode="yolo")
    async with server.by_hand() as conversation:

        async def call() -> None:
            async with conversation().call(1, "Bash", sleeping("pid")):
                pass

        calling = asyncio.create_task(call())
        pid = await pid_in(site.workspace / "pid")
        calling.cancel()
        await gone(pid)


async def test_a_call_ends_some_time_after_its_response_was_cut_off(site: Any) -> None:
    """Although its session goes on, with a call beside it."""
    server = site.shared_http("--idle-timeout", "1", mode="yolo")
    async with server.by_hand() as conversation:
        client = await conversation().open()
        async with client.listening(), client.call(2, "Slow", {"log": "other"}):
            async with client.call(1, "Bash", sleeping("pid")):
                pid = await pid_in(site.workspace / "pid")
            await gone(pid)
            assert (site.workspace / "other").read_text() == "started"
            async with client.call(3, "Read", {"path": "a.txt"}) as answers:
                assert not (await anext(answers))["result"]["isError"]
            await client.web.delete(client.url, headers=client.headers())
        async with asyncio.timeout(20):
            while (site.workspace / "other").read_text() != "cancelled":
                await asyncio.sleep(0.02)


async def test_a_goodbye_ends_the_calls_and_the_background_tasks(site: Any) -> None:
    """And nothing more is done in the session."""
    server = site.shared_http(mode="yolo")
    task = {**sleeping("task"), "run_in_background": True, "description": "a task"}
    async with server.by_hand() as conversation:
        client = await conversation().open()
        async with client.call(1, "Bash", task) as answers:
            assert not (await anext(answers))["result"]["isError"]
        async with client.call(2, "Bash", sleeping("pid")):
            pids = [await pid_in(site.workspace / name) for name in ("pid", "task")]
            left = await client.web.delete(client.url, headers=client.headers())
            assert left.status_code == 200
            for pid in pids:
                await gone(pid)
        assert (await client.say(id=3, method="tools/list")).status_code == 404


async def test_no_client_cancels_the_call_of_another(site: Any) -> None:
    """Though both have given their requests the same id."""
    server = site.shared_http(mode="yolo")
    async with server.by_hand() as conversation:
        mine, other = await conversation().open(), await conversation().open()
        cancel = {"method": "notifications/cancelled", "params": {"requestId": 1}}
        async with mine.call(1, "Bash", sleeping("pid")) as answers:
            pid = await pid_in(site.workspace / "pid")
            for client in (other, conversation()):
                await client.say(**cancel)
            async with other.call(1, "Read", {"path": "a.txt"}) as others:
                assert not (await anext(others))["result"]["isError"]
            assert runs(pid)
            await mine.say(**cancel)
            assert "error" in await anext(answers)
            await gone(pid)


async def test_each_client_hears_of_its_own_call(site: Any) -> None:
    """Though both have given their requests the same id and the same token for the progress."""
    server = site.shared_http(mode="yolo")
    async with server.by_hand() as conversation:
        clients = [await conversation().open(), await conversation().open(), conversation()]
        async with AsyncExitStack() as stack:
            calls = [client.call(1, "Steps", {}, progressToken=1) for client in clients]
            streams = [await stack.enter_async_context(call) for call in calls]
            for stream in streams:
                heard = [message async for message in stream]
                told = [message["params"]["progress"] for message in heard if "params" in message]
                assert told == [25, 50, 75] and "result" in heard[-1]


async def test_a_session_that_does_not_exist_is_nobodys(site: Any) -> None:
    """Neither can it be guessed."""
    server = site.shared_http(mode="yolo")
    async with server.by_hand() as conversation:
        client = await conversation().open()
        other = await conversation().open()
        assert client.session is not None and other.session is not None
        assert len(client.session) >= 32 and client.session != other.session
        for guess in ("1", client.session[:-1], client.session.upper(), f"{client.session}x"):
            client.session = guess
            assert (await client.say(id=1, method="tools/list")).status_code == 404


async def test_a_second_call_with_the_same_id_is_refused(site: Any) -> None:
    """The answer of the first would be taken for its own. Later the id is free again."""
    server = site.shared_http(mode="yolo")
    async with server.by_hand() as conversation:
        client = await conversation().open()
        async with client.call(7, "Bash", sleeping("pid")):
            pid = await pid_in(site.workspace / "pid")
            for number in (7, "7"):
                async with client.call(number, "Bash", {"command": "touch made"}) as answers:
                    assert "error" in await anext(answers)
        for _ in range(2):
            async with client.call(8, "Media", {}) as answers:
                assert not (await anext(answers))["result"]["isError"]
        await client.web.delete(client.url, headers=client.headers())
        await gone(pid)
    assert not (site.workspace / "made").exists()


async def test_an_answer_counts_for_the_question_that_was_asked_and_no_other(site: Any) -> None:
    """Not in another session, not for another call, and not when the call was cancelled."""
    server = site.shared_http(mode="manual")
    async with server.by_hand() as conversation:
        mine, other = await conversation().open(), await conversation().open()

        async def asked(answers: Any) -> Any:
            question = await anext(answers)
            assert question["method"] == "elicitation/create"
            return question["id"]

        async with (
            mine.call(1, "Bash", {"command": "touch first"}) as first,
            other.call(1, "Bash", {"command": "touch other"}) as others,
        ):
            old = await asked(first)
            assert await asked(others) == old
            await mine.say(method="notifications/cancelled", params={"requestId": 1})
            await mine.say(id=old, result=YES)
            async with mine.call(2, "Bash", {"command": "touch second"}) as second:
                new = await asked(second)
                await mine.say(id=old, result=YES)
                await other.say(id=new, result=YES)
                await mine.say(id=new, result={"action": "decline"})
                await mine.say(id=new, result=YES)
                assert (await anext(second))["result"]["isError"]
            await other.say(id=old, error={"code": -32601, "message": "what is a form?"})
            refused = await anext(others)
            assert "what is a form?" in refused["result"]["content"][0]["text"]
    assert not {"first", "second", "other"} & {file.name for file in site.workspace.iterdir()}


async def test_answers_of_a_stateless_client_count_for_its_own_calls(site: Any) -> None:
    """Another program that has seen what names the call cannot let it run."""
    server = site.shared_http(mode="manual")
    name = {"io.modelcontextprotocol/clientInfo": {"name": "another", "version": "1"}}
    async with server.by_hand() as conversation:
        client = conversation()
        async with client.call(1, "Count", {}) as answers:
            parked = (await anext(answers))["result"]
        params: dict[str, Any] = {
            "name": "Count",
            "arguments": {},
            "requestState": parked["requestState"],
            "inputResponses": dict.fromkeys(parked["inputRequests"], YES),
            "_meta": {
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientCapabilities": {"elicitation": {"form": {}}},
            },
        }
        headers = {
            "MCP-Protocol-Version": "2026-07-28",
            "Mcp-Method": "tools/call",
            "Mcp-Name": "Count",
            "Accept": "application/json, text/event-stream",
        }

        async def answer(meta: dict[str, Any]) -> Any:
            sent = {**params, "_meta": {**params["_meta"], **meta}}
            message = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": sent}
            return (await client.web.post(client.url, json=message, headers=headers)).json()

        assert "error" in await answer(name)
        assert not (site.workspace / "count").exists()
        assert not (await answer({}))["result"]["isError"]
        assert "error" in await answer({})
    assert (site.workspace / "count").read_text() == "1"


@pytest.mark.parametrize("depth", [150, 900])
async def test_arguments_that_are_nested_deeply_are_answered(site: Any, depth: int) -> None:
    """With an error for the model."""
    deep: list[Any] = []
    for _ in range(depth):
        deep = [deep]
    server = site.shared_http(mode="yolo")
    async with (
        server.by_hand() as conversation,
        conversation().call(1, "Read", {"path": deep}) as answers,
    ):
        assert (await anext(answers))["result"]["isError"]


async def test_sessions_that_were_left_without_a_word_make_room(site: Any) -> None:
    """Not those that are in use: a stream is open, or a call runs."""
    server = site.http("--idle-timeout", "3", "--max-clients", "2")
    async with server.by_hand() as conversation:
        used, left = await conversation().open(), await conversation().open()
        async with used.listening():
            full = await conversation().say(id=1, method="initialize", params={})
            assert full.status_code == 503
            await asyncio.sleep(1.6)
            await conversation().open()
            assert (await left.say(id=1, method="tools/list")).status_code == 404
            assert (await used.say(id=1, method="tools/list")).status_code == 200
    server.stop()
