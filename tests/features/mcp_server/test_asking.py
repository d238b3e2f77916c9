"""Approvals and questions reach the user of a client that can show them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import mcp_types as mcp
import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError

from toolcrib_features.mcp_server import client as served
from toolcrib_features.mcp_server.clients import Clients, SessionOptions
from toolcrib_features.mcp_server.protocol import tool_server

Connect = Callable[..., AbstractAsyncContextManager[Client]]
everywhere = pytest.mark.parametrize(
    "connect", ["stdio-auto", "stdio-legacy", "http-auto", "http-legacy"], indirect=True
)
stateless = pytest.mark.parametrize("connect", ["stdio-auto", "http-auto"], indirect=True)


class User:
    """Answers forms in their order, and keeps what was shown."""

    def __init__(self, *answers: mcp.ElicitResult) -> None:
        self.answers = list(answers)
        self.shown: list[mcp.ElicitRequestFormParams] = []

    async def __call__(self, context: Any, params: Any) -> mcp.ElicitResult:
        self.shown.append(params)
        return self.answers.pop(0)


def accept(**content: str) -> mcp.ElicitResult:
    return mcp.ElicitResult(action="accept", content={**content})


def text(result: mcp.CallToolResult) -> str:
    return "\n".join(b.text for b in result.content if isinstance(b, mcp.TextContent))


@everywhere
async def test_a_call_runs_once_when_its_user_allows_it(connect: Connect, site: Any) -> None:
    """The form shows the tool and what the call would do; then the call runs, once."""
    user = User(accept(decision="allow once"))
    async with connect(mode="manual", elicitation_callback=user) as client:
        result = await client.call_tool("Bash", {"command": "echo ran >> log"})
    assert not result.is_error, text(result)
    assert (site.workspace / "log").read_text() == "ran\n"
    (shown,) = user.shown
    assert "Bash" in shown.message and "echo ran >> log" in shown.message
    assert shown.requested_schema["properties"]["decision"]["enum"][-1] == "deny"


async def test_an_approval_for_the_session_is_not_asked_again(connect: Connect) -> None:
    """The next call like it runs at once."""
    user = User(accept(decision="allow for this session"))
    async with connect(mode="manual", elicitation_callback=user) as client:
        for _ in range(2):
            assert not (await client.call_tool("Bash", {"command": "./none || echo ran"})).is_error
    assert len(user.shown) == 1


async def test_a_denial_reaches_the_model_with_its_words(connect: Connect, site: Any) -> None:
    """Whether the user denies in the form, declines it or closes it, nothing runs."""
    user = User(
        accept(decision="deny", feedback="use another file"),
        mcp.ElicitResult(action="decline"),
        mcp.ElicitResult(action="cancel"),
        accept(decision="allow everything"),
    )
    async with connect(mode="manual", elicitation_callback=user) as client:
        results = [await client.call_tool("Bash", {"command": "touch made"}) for _ in range(4)]
    assert all(result.is_error for result in results)
    assert "use another file" in text(results[0])
    assert not (site.workspace / "made").exists()


async def test_what_needs_an_approval_is_denied_where_nobody_can_be_asked(
    connect: Connect, site: Any
) -> None:
    """A client without elicitation gets the reason."""
    async with connect(mode="manual") as client:
        result = await client.call_tool("Bash", {"command": "touch made"})
        assert not (await client.call_tool("Read", {"path": "a.txt"})).is_error
    assert result.is_error and "elicitation" in text(result)
    assert not (site.workspace / "made").exists()


async def test_a_question_of_a_tool_is_a_form(connect: Connect) -> None:
    """With a choice where there are options; other text is welcome all the same."""
    user = User(
        accept(answer_1="red", answer_2="because"),
        accept(answer_1="red", other_1="green"),
        mcp.ElicitResult(action="decline"),
    )
    async with connect(elicitation_callback=user) as client:
        said = [text(await client.call_tool("Ask", {})) for _ in range(3)]
    assert said[0] == "{'Which colour?': 'red', 'Why?': 'because'}, None"
    assert said[1] == "{'Which colour?': 'green'}, None"
    assert said[2].startswith("{}")
    fields = user.shown[0].requested_schema["properties"]
    assert fields["answer_1"]["enum"] == ["red", "blue"]
    assert "like a rose" in user.shown[0].message


async def test_nothing_in_a_form_can_hide_what_a_call_would_do(connect: Connect) -> None:
    """What would move the cursor of a terminal is made visible."""
    user = User(accept(decision="deny"))
    async with connect(mode="manual", elicitation_callback=user) as client:
        await client.call_tool("Bash", {"command": "rm -r x\r\x1b[2Kls\u202e"})
    assert "rm -r x\ufffd\ufffd[2Kls\ufffd" in user.shown[0].message


async def rounds(client: Client, **more: Any) -> Any:
    """One request of the stateless protocol, with whatever the client sends along."""
    return await client.session.call_tool("Count", {}, allow_input_required=True, **more)


@stateless
async def test_answers_count_once(connect: Connect, site: Any) -> None:
    """A request that is repeated with its answers never runs the call again."""
    user = User()
    async with connect(mode="manual", elicitation_callback=user) as client:
        asked = await rounds(client)
        assert isinstance(asked, mcp.InputRequiredResult) and asked.input_requests
        answers: Any = {key: accept(decision="allow once") for key in asked.input_requests}
        again = {"input_responses": answers, "request_state": asked.request_state}
        done = await rounds(client, **again)
        assert not done.is_error
        for wrong in (again, {**again, "request_state": "made up"}, {"input_responses": answers}):
            with pytest.raises(MCPError):
                await rounds(client, **wrong)
    assert (site.workspace / "count").read_text() == "1"


@stateless
async def test_answers_belong_to_the_call_that_asked(connect: Connect, site: Any) -> None:
    """They cannot let another call run, and a client that brings none is asked again."""
    async with connect(mode="manual", elicitation_callback=User()) as client:
        asked = await rounds(client)
        answers: Any = {key: accept(decision="allow once") for key in asked.input_requests}
        with pytest.raises(MCPError):
            await client.session.call_tool(
                "Bash",
                {"command": "touch made"},
                allow_input_required=True,
                input_responses=answers,
                request_state=asked.request_state,
            )
        asked_again = await rounds(client, request_state=asked.request_state)
        assert set(asked_again.input_requests) == set(asked.input_requests)
        state = asked_again.request_state
        assert not (await rounds(client, input_responses=answers, request_state=state)).is_error
    assert not (site.workspace / "made").exists()


async def test_a_call_that_is_given_up_while_its_user_is_asked_never_runs(
    connect: Connect, site: Any
) -> None:
    """An answer that comes later is too late."""
    opened = asyncio.Event()

    async def ponder(context: Any, params: Any) -> mcp.ElicitResult:
        opened.set()
        await asyncio.sleep(0.3)
        return accept(decision="allow once")

    async with connect(mode="manual", elicitation_callback=ponder) as client:
        call = asyncio.create_task(client.call_tool("Count", {}))
        await opened.wait()
        call.cancel()
        await asyncio.gather(call, return_exceptions=True)
        await asyncio.sleep(0.4)
        assert not (await client.call_tool("Read", {"path": "a.txt"})).is_error
    assert not (site.workspace / "count").exists()


async def test_an_answer_that_comes_too_late_lets_nothing_run(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The call is cancelled when its time is over."""
    monkeypatch.setattr(served, "PARKED_S", 0.1)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("TOOLCRIB_STATE", str(tmp_path / "state"))
    options = SessionOptions(workspace=str(tmp_path), mode="manual", autoload=False)
    keeper = options.open()
    clients = Clients(keeper, options, only_one=True)
    try:
        async with Client(tool_server(clients, ""), elicitation_callback=User()) as client:
            call = client.session.call_tool
            command = {"command": "touch made"}
            asked = await call("Bash", command, allow_input_required=True)
            assert isinstance(asked, mcp.InputRequiredResult) and asked.input_requests
            await asyncio.sleep(0.3)
            answers: Any = dict.fromkeys(asked.input_requests, accept(decision="allow once"))
            with pytest.raises(MCPError, match="waited too long"):
                await call(
                    "Bash",
                    command,
                    allow_input_required=True,
                    input_responses=answers,
                    request_state=asked.request_state,
                )
    finally:
        await clients.aclose()
    assert not (tmp_path / "made").exists()
