"""Tools of the host: registered at run time, carried out by it, here or in another process."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import toolcrib
from toolcrib import (
    Accesses,
    Completion,
    MediaPart,
    Session,
    TextPart,
    ToolContext,
    ToolContribution,
    ToolListUpdated,
    ToolProgress,
    ToolResult,
    UserToolAnswer,
    UserToolRequest,
)

TEXT = {
    "type": "object",
    "properties": {"text": {"type": "string"}},
    "required": ["text"],
    "additionalProperties": False,
}
Args = Mapping[str, Any]


def echo(arguments: Args) -> str:
    return f"echo {arguments['text']}"


async def left_to_others(request: Any) -> Any:
    """A host whose answers come by `respond`."""
    await asyncio.Event().wait()


def opened(tmp_path: Path, **more: Any) -> Session:
    given = {"mode": "yolo", "autoload": False, "environ": {"HOME": str(tmp_path)}, **more}
    return toolcrib.open_session(tmp_path, **given)


@pytest.fixture
async def session(tmp_path: Path) -> AsyncIterator[Session]:
    async with opened(tmp_path, interact=left_to_others) as session:
        yield session


async def run(session: Session, name: str, **arguments: Any) -> Completion:
    calls = [{"id": "1", "name": name, "arguments": arguments}]
    (done,) = [done async for done in session.execute(calls, "t1")]
    return done


async def asked(session: Session, other_than: UserToolRequest | None = None) -> UserToolRequest:
    """The request that waits for the host, as soon as there is one."""
    while True:
        for request in session.interactions.pending("user_tool"):
            assert isinstance(request, UserToolRequest)
            if other_than is None or request.id != other_than.id:
                return request
        await asyncio.sleep(0)


def listed(session: Session) -> list[str]:
    return [tool.name for tool in session.tools() if tool.source == "user"]


async def test_a_tool_is_listed_carried_out_and_withdrawn(session: Session) -> None:
    end = session.register_tool("Echo", "Says it again.", TEXT, echo)
    (info,) = [tool for tool in session.tools() if tool.source == "user"]
    assert (info.name, info.description, info.parameters) == ("Echo", "Says it again.", TEXT)
    assert session.explain("Echo").active
    done = await run(session, "Echo", text="hi")
    assert (done.outcome, done.result.output) == ("executed", "echo hi")
    end()
    end()
    assert listed(session) == []
    assert (await run(session, "Echo", text="hi")).outcome == "preflight-rejected"
    session.register_tool("Echo", "Says it again.", TEXT, echo)
    assert session.unregister_tool("Echo") and not session.unregister_tool("Echo")
    assert listed(session) == []


async def test_arguments_are_checked_before_the_handler_sees_them(session: Session) -> None:
    session.register_tool("Echo", "Says it again.", TEXT, echo)
    done = await run(session, "Echo", text=["no"])
    assert done.outcome == "preflight-rejected" and "text" in str(done.result.output)


PICTURE = MediaPart("image", "image/png", b"png")


@pytest.mark.parametrize(
    ("answer", "output"),
    [
        ("text", "text"),
        (ToolResult("a result", is_error=True), "a result"),
        ({"a": [1, None]}, '{"a": [1, null]}'),
        ([TextPart("see"), PICTURE], (TextPart("see"), PICTURE)),
        ((TextPart("see"), PICTURE), (TextPart("see"), PICTURE)),
    ],
)
@pytest.mark.parametrize("is_async", [True, False])
async def test_what_a_handler_returns_is_the_result(
    session: Session, answer: Any, output: Any, is_async: bool
) -> None:
    async def slow(arguments: Args) -> Any:
        return answer

    session.register_tool("It", "Gives it.", TEXT, slow if is_async else lambda arguments: answer)
    done = await run(session, "It", text="x")
    assert done.outcome == "executed" and done.result.output == output


@pytest.mark.parametrize("error", [ValueError("no lamp"), StopIteration("no lamp"), SystemExit(1)])
async def test_what_a_handler_raises_is_an_error_of_the_call(
    session: Session, error: BaseException
) -> None:
    def fail(arguments: Args) -> str:
        raise error

    session.register_tool("Lamp", "Switches it.", TEXT, fail)
    done = await run(session, "Lamp", text="x")
    assert (done.outcome, done.result.is_error) == ("executed", True)
    assert "Lamp failed" in str(done.result.output)


async def test_a_timeout_of_the_handlers_own_is_not_taken_for_that_of_the_call(
    session: Session,
) -> None:
    async def fail(arguments: Args) -> str:
        raise TimeoutError("the lamp is slow")

    session.register_tool("Lamp", "Switches it.", TEXT, fail, timeout_s=60)
    assert "the lamp is slow" in str((await run(session, "Lamp", text="x")).result.output)


async def test_a_plain_function_runs_in_a_thread_and_can_tell_how_it_goes(
    session: Session,
) -> None:
    """The loop goes on meanwhile: it is what lets the function end."""
    released = threading.Event()
    told: list[tuple[str | None, int]] = []
    kept: list[ToolContext] = []

    def listen(event: Any) -> None:
        if isinstance(event, ToolProgress):
            told.append((event.update.text, threading.get_ident()))
            released.set()

    def wait(arguments: Args, context: ToolContext) -> str:
        kept.append(context)
        context.update("begun")
        return f"{context.agent} {context.turn_id} {released.wait(20)}"

    session.subscribe(listen)
    session.register_tool("Wait", "Waits.", TEXT, wait)
    assert (await run(session, "Wait", text="x")).result.output == "main t1 True"
    kept[0].update("too late")
    await asyncio.sleep(0)
    assert told == [("begun", threading.get_ident())]


async def test_a_plain_function_may_return_what_has_to_be_awaited(session: Session) -> None:
    told: list[str | None] = []

    async def switch(context: ToolContext) -> str:
        context.update("switching")
        return "on"

    session.subscribe(
        lambda event: told.append(event.update.text) if isinstance(event, ToolProgress) else None
    )
    session.register_tool("Lamp", "Switches it.", TEXT, lambda arguments, context: switch(context))
    assert (await run(session, "Lamp", text="x")).result.output == "on"
    assert told == ["switching"]


async def test_objects_that_can_be_called_are_handlers(session: Session) -> None:
    class Lamp:
        async def __call__(self, arguments: Args) -> str:
            return "on"

    session.register_tool("Lamp", "Switches it.", TEXT, Lamp())
    assert (await run(session, "Lamp", text="x")).result.output == "on"


@pytest.mark.parametrize(
    "name",
    ["mcp__s__t", "Read", "", "1st", "a b", "ä", "a" * 65, "a\n", 7, None],
)
async def test_names_that_cannot_be_are_refused(session: Session, name: Any) -> None:
    with pytest.raises(ValueError, match="named"):
        session.register_tool(name, "A tool.", TEXT, echo)
    assert listed(session) == []


async def test_no_tool_of_a_plugin_is_replaced_not_even_an_inactive_one(tmp_path: Path) -> None:
    plugin = ModuleType("bringer")

    @toolcrib.hookimpl
    def contribute_tool() -> list[ToolContribution]:
        return [ToolContribution(name="Asleep", factory="nowhere:It", when=lambda context: False)]

    plugin.contribute_tool = contribute_tool  # type: ignore[attr-defined]
    async with opened(tmp_path, plugins=[plugin]) as session:
        with pytest.raises(ValueError, match="bringer"):
            session.register_tool("Asleep", "A tool.", TEXT, echo)
        session.disable_tools("Read")
        with pytest.raises(ValueError, match="Read"):
            session.register_tool("Read", "A tool.", TEXT, echo)


@pytest.mark.parametrize(
    "schema",
    [
        None,
        [],
        {},
        {"type": "string"},
        {"type": "object", "properties": {"a": {"type": "strin"}}},
        {"type": "object", "properties": 7},
        {"type": "object", "properties": {"a": {"$ref": "https://example.invalid/a.json"}}},
        {"type": "object", "properties": {"a": {"$ref": "#/nowhere"}}},
        {"type": "object", "default": {1, 2}},
        {"type": "object", "default": float("nan")},
    ],
)
async def test_a_schema_that_checks_no_arguments_is_refused(session: Session, schema: Any) -> None:
    with pytest.raises(ValueError, match="Lamp"):
        session.register_tool("Lamp", "Switches it.", schema, echo)
    assert listed(session) == []


@pytest.mark.parametrize(
    "more",
    [
        {"description": "  "},
        {"handler": 7},
        {"handler": lambda: ""},
        {"handler": lambda a, b, c: ""},
        {"disclosure": "never"},
        {"timeout_s": 0},
        {"timeout_s": float("inf")},
    ],
)
async def test_what_makes_no_sense_is_refused(session: Session, more: dict[str, Any]) -> None:
    given = {"description": "A tool.", "schema": TEXT, "handler": echo, **more}
    with pytest.raises(ValueError):  # whose words differ
        session.register_tool("It", **given)
    assert listed(session) == []


async def test_a_schema_that_is_changed_later_changes_nothing(session: Session) -> None:
    schema: dict[str, Any] = {"type": "object", "properties": {"text": {"type": "string"}}}
    session.register_tool("Echo", "Says it again.", schema, echo)
    schema["properties"]["text"]["type"] = "number"
    assert (await run(session, "Echo", text="hi")).result.output == "echo hi"


async def test_an_equal_registration_changes_nothing_and_another_replaces(
    session: Session,
) -> None:
    seen: list[ToolListUpdated] = []
    session.subscribe(lambda e: seen.append(e) if isinstance(e, ToolListUpdated) else None)
    end = session.register_tool("Echo", "Says it again.", TEXT, echo)
    session.register_tool("Echo", "Says it again.", dict(TEXT), echo)
    assert [(e.added, e.replaced) for e in seen] == [(("Echo",), ())]
    others: list[dict[str, Any]] = [
        {"disclosure": "deferred"},
        {"owner": "c1"},
        {"schema": {"type": "object", "default": 1}},
        {"schema": {"type": "object", "default": True}},
    ]
    for more in others:
        session.register_tool("Echo", **{"description": "?", "schema": TEXT, **more})
        assert seen.pop().replaced == ("Echo",)
    end()  # that registration is over already
    assert listed(session) == ["Echo"]


async def test_calls_that_run_are_finished_by_the_tool_they_began_with(session: Session) -> None:
    begun, go = asyncio.Event(), asyncio.Event()

    async def old(arguments: Args) -> str:
        begun.set()
        await go.wait()
        return "old"

    session.register_tool("It", "Gives it.", TEXT, old)
    running = asyncio.create_task(run(session, "It", text="x"))
    await begun.wait()
    session.register_tool("It", "Gives it.", TEXT, lambda arguments: "new")
    go.set()
    assert (await running).result.output == "old"
    assert (await run(session, "It", text="x")).result.output == "new"


async def test_nothing_is_approved_beforehand(tmp_path: Path) -> None:
    """Not even what says that it only reads: the host's word is no permission."""
    async with opened(tmp_path, mode="manual") as session:
        session.register_tool("Echo", "Says it again.", TEXT, echo, read_only=True)
        assert (await run(session, "Echo", text="hi")).outcome == "vetoed"
    overrides = {"permission": {"allow": ["Echo"]}}
    async with opened(tmp_path, mode="manual", overrides=overrides) as session:
        session.register_tool("Echo", "Says it again.", TEXT, echo)
        assert (await run(session, "Echo", text="hi")).result.output == "echo hi"


async def test_the_filters_decide_on_them(tmp_path: Path) -> None:
    async with opened(tmp_path, overrides={"tools": {"disabled": ["Lamp"]}}) as session:
        session.register_tool("Lamp", "Switches it.", TEXT, echo)
        session.register_tool("Echo", "Says it again.", TEXT, echo)
        assert listed(session) == ["Echo"]
        assert session.explain("Lamp").filter == "tools.disabled"
        session.disable_tools("Echo")
        assert listed(session) == [] and session.explain("Echo").filter == "session"
        session.enable_tools("Echo")
        session.reload()
        assert (await run(session, "Echo", text="hi")).result.output == "echo hi"


@pytest.mark.parametrize(
    ("more", "together"),
    [({}, False), ({"read_only": True}, True), ({"accesses": Accesses.read("/a")}, True)],
)
async def test_calls_run_beside_each_other_when_the_host_says_what_they_touch(
    session: Session, more: dict[str, Any], together: bool
) -> None:
    running: list[int] = []

    async def count(arguments: Args) -> str:
        running.append(1)
        await asyncio.sleep(0.05)
        most = len(running)
        await asyncio.sleep(0.05)
        running.pop()
        return str(most)

    session.register_tool("Count", "Counts.", TEXT, count, **more)
    calls = [{"id": i, "name": "Count", "arguments": {"text": "x"}} for i in "ab"]
    most = {done.result.output async for done in session.execute(calls)}
    assert most == ({"2"} if together else {"1"})


async def test_without_a_handler_the_host_is_asked(session: Session) -> None:
    session.register_tool("Lamp", "Switches it.", TEXT, owner="c1")
    running = asyncio.create_task(run(session, "Lamp", text="on"))
    request = await asked(session)
    assert (request.tool, request.arguments) == ("Lamp", {"text": "on"})
    assert (request.agent, request.turn_id, request.call_id) == ("main", "t1", "1")
    assert request.owner == "c1" and request.id.startswith("user_tool_")
    answer = UserToolAnswer(output=(TextPart("it is on"), PICTURE), note="dim", stop_turn=True)
    assert session.interactions.respond(request.id, answer)
    result = (await running).result
    assert (result.output, result.note, result.stop_turn) == (answer.output, "dim", True)
    assert not session.interactions.respond(request.id, answer)
    assert not session.interactions.progress(request.id, "late")


async def test_who_answers_can_tell_how_it_goes(session: Session) -> None:
    told: list[tuple[str | None, float | None]] = []

    def listen(event: Any) -> None:
        if isinstance(event, ToolProgress):
            told.append((event.update.text, event.update.percent))

    session.subscribe(listen)
    session.register_tool("Lamp", "Switches it.", TEXT)
    running = asyncio.create_task(run(session, "Lamp", text="on"))
    request = await asked(session)
    assert session.interactions.progress(request.id, "warming up", percent=50)
    session.interactions.respond(request.id, UserToolAnswer(output="on", is_error=True))
    assert (await running).result.is_error
    assert told == [("warming up", 50)]


@pytest.mark.parametrize(
    "wrong",
    [
        {"output": 7},
        {"output": ("a", "b")},
        {"output": "x", "note": 7},
        {"output": "x", "is_error": "no"},
        {"output": "x", "stop_turn": 1},
    ],
)
async def test_an_answer_that_is_none_is_refused_and_the_call_waits(
    session: Session, wrong: dict[str, Any]
) -> None:
    session.register_tool("Lamp", "Switches it.", TEXT)
    running = asyncio.create_task(run(session, "Lamp", text="on"))
    request = await asked(session)
    with pytest.raises(ValueError, match=request.id):
        session.interactions.respond(request.id, UserToolAnswer(**wrong))
    session.interactions.respond(request.id, UserToolAnswer(output="on"))
    assert (await running).result.output == "on"


async def test_where_nobody_can_be_asked_the_model_is_told(tmp_path: Path) -> None:
    async with opened(tmp_path) as session:
        session.register_tool("Lamp", "Switches it.", TEXT)
        result = (await run(session, "Lamp", text="on")).result
        assert result.is_error and "Lamp" in str(result.output)


async def test_a_call_that_takes_too_long_is_given_up(session: Session) -> None:
    session.register_tool("Lamp", "Switches it.", TEXT, timeout_s=0.05)
    running = asyncio.create_task(run(session, "Lamp", text="on"))
    request = await asked(session)
    done = await running
    assert done.result.is_error and "0.05 s" in str(done.result.output)
    assert session.interactions.pending() == ()
    assert not session.interactions.respond(request.id, UserToolAnswer(output="late"))


async def test_a_call_that_is_cancelled_is_asked_no_more(session: Session) -> None:
    session.register_tool("Lamp", "Switches it.", TEXT)
    running = asyncio.create_task(run(session, "Lamp", text="on"))
    request = await asked(session)
    session.cancel()
    assert (await running).outcome == "aborted"
    assert session.interactions.pending() == ()
    assert not session.interactions.respond(request.id, UserToolAnswer(output="late"))


async def test_the_end_of_its_turn_ends_the_call_with_an_error(session: Session) -> None:
    session.register_tool("Lamp", "Switches it.", TEXT)
    running = asyncio.create_task(run(session, "Lamp", text="on"))
    await asked(session)
    assert session.interactions.cancel_for_turn("main", "t2", "the turn ended") == 0
    assert session.interactions.cancel_for_turn("main", "t1", "the turn ended") == 1
    result = (await running).result
    assert result.is_error and "the turn ended" in str(result.output)


async def test_a_call_is_given_up_when_its_owner_does_not_come_back(session: Session) -> None:
    session.register_tool("Lamp", "Switches it.", TEXT, owner="c1")
    session.register_tool("Echo", "Says it again.", TEXT, echo)
    running = asyncio.create_task(run(session, "Lamp", text="on"))
    request = await asked(session)
    session.drop_tool_owner("c1", grace_s=0.05)
    assert listed(session) == ["Echo", "Lamp"]
    result = (await running).result
    assert result.is_error and "c1" in str(result.output)
    assert listed(session) == ["Echo"]
    assert not session.interactions.respond(request.id, UserToolAnswer(output="late"))


async def test_another_owner_is_asked_instead_once(session: Session) -> None:
    session.register_tool("Lamp", "Switches it.", TEXT, owner="c1")
    running = asyncio.create_task(run(session, "Lamp", text="on"))
    first = await asked(session)
    session.drop_tool_owner("c1", grace_s=60)
    session.register_tool("Lamp", "Switches it.", TEXT, owner="c2")
    second = await asked(session, other_than=first)
    assert (second.owner, second.arguments) == ("c2", {"text": "on"})
    assert not session.interactions.respond(first.id, UserToolAnswer(output="late"))
    assert session.interactions.pending() == (second,)
    assert session.interactions.respond(second.id, UserToolAnswer(output="from c2"))
    assert (await running).result.output == "from c2"
    assert session.interactions.pending() == ()


async def test_a_handler_takes_over_too(session: Session) -> None:
    session.register_tool("Echo", "Says it again.", TEXT, owner="c1")
    running = asyncio.create_task(run(session, "Echo", text="on"))
    await asked(session)
    session.drop_tool_owner("c1", grace_s=60)
    session.register_tool("Echo", "Says it again.", TEXT, echo)
    assert (await running).result.output == "echo on"


async def test_arguments_for_another_schema_are_not_passed_on(session: Session) -> None:
    session.register_tool("Lamp", "Switches it.", TEXT, owner="c1")
    running = asyncio.create_task(run(session, "Lamp", text="on"))
    first = await asked(session)
    session.drop_tool_owner("c1", grace_s=0.05)
    session.register_tool("Lamp", "Switches it.", {"type": "object"}, owner="c2")
    assert session.interactions.pending() == (first,)
    assert (await running).result.is_error
    assert listed(session) == ["Lamp"]


@pytest.mark.parametrize("description", ["Switches it.", "Switches it on and off."])
async def test_an_owner_that_comes_back_answers_what_it_was_asked(
    session: Session, description: str
) -> None:
    session.register_tool("Lamp", "Switches it.", TEXT, owner="c1")
    running = asyncio.create_task(run(session, "Lamp", text="on"))
    request = await asked(session)
    session.drop_tool_owner("c1", grace_s=0.05)
    session.register_tool("Lamp", description, TEXT, owner="c1")
    await asyncio.sleep(0.1)
    assert session.interactions.pending() == (request,)
    session.interactions.respond(request.id, UserToolAnswer(output="on"))
    assert (await running).result.output == "on"
    session.drop_tool_owner("c1", grace_s=0)
    assert listed(session) == []


async def test_a_call_made_while_its_owner_is_away_waits_for_it(session: Session) -> None:
    session.register_tool("Lamp", "Switches it.", TEXT, owner="c1")
    session.drop_tool_owner("c1", grace_s=60)
    running = asyncio.create_task(run(session, "Lamp", text="on"))
    await asked(session)
    session.register_tool("Lamp", "Switches it.", TEXT, lambda arguments: "here", owner="c2")
    assert (await running).result.output == "here"


async def test_a_session_ends_with_calls_that_wait(tmp_path: Path) -> None:
    async with opened(tmp_path, interact=left_to_others) as session:
        session.register_tool("Lamp", "Switches it.", TEXT, owner="c1")
        running = asyncio.create_task(run(session, "Lamp", text="on"))
        await asked(session)
        session.drop_tool_owner("c1", grace_s=60)
    assert (await running).outcome == "aborted"
