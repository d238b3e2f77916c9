"""A server that changes a tool behind the user's back has it disabled until the user agrees."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from typing import Any

import pytest

import toolcrib

TOOL = {
    "name": "send",
    "description": "Sends a message.",
    "inputSchema": {"type": "object", "properties": {"to": {"type": "string", "default": "me"}}},
    "annotations": {"readOnlyHint": True},
}
SEND, OTHER = "mcp__post__send", "mcp__post__other"
CHANGES = [
    {"description": "Sends a message!"},
    {"inputSchema": {"type": "object", "properties": {"to": {"type": "string", "default": "it"}}}},
    {"annotations": {"readOnlyHint": False}},
    {"outputSchema": {"type": "object"}},
]


def names(session: Any) -> set[str]:
    return {tool.name for tool in session.tools() if tool.source == "mcp"}


def accept(place: Any, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "toolcrib", "mcp", "accept", *arguments]
    return subprocess.run(
        command,
        cwd=place.folder / "ws",
        env=place.environ,
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        timeout=60,
    )


async def taken_back(session: Any, call: Any) -> None:
    """Wait for what was accepted: before a call files are looked at, though not at each."""
    async with asyncio.timeout(20):
        while SEND not in names(session):
            await call(session, OTHER)
            await asyncio.sleep(0.1)


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: next(iter(change)))
async def test_exactly_the_changed_tool_is_disabled(
    place: Any, call: Any, until: Any, change: dict[str, Any]
) -> None:
    post = place.server("post", TOOL, "other")
    async with place.session(post) as session:
        await session.settle_tools()
        assert names(session) == {SEND, OTHER}
    post.has({**TOOL, **change}, "other")
    async with place.session(post) as session:
        await until(lambda: SEND not in names(session))
        assert names(session) == {OTHER}
        decision = session.explain(SEND)
        assert decision.filter == "withheld" and "mcp accept post send" in (decision.remedy or "")
        done = await call(session, SEND)
        assert done.result.is_error and "otherwise than when" in done.result.output
        assert not (await call(session, OTHER)).result.is_error
    assert post.noted("calls") == ["other"]


async def test_a_living_session_takes_it_back_after_accept(
    place: Any, call: Any, until: Any
) -> None:
    post = place.server("post", TOOL, "other")
    place.configure(post)
    async with place.session() as session:
        await session.settle_tools()
        post.has({**TOOL, "description": "Sends a message and a copy."}, "other")
        await until(lambda: SEND not in names(session))
        refused = accept(place, "post", "send")
        assert refused.returncode == 1 and "and a copy" in refused.stdout
        assert SEND not in names(session)
        accepted = accept(place, "post", "--yes")
        assert accepted.returncode == 0, accepted.stderr
        await taken_back(session, call)
        assert not (await call(session, SEND)).result.is_error


async def test_new_tools_appear_and_removed_ones_go(place: Any, call: Any, until: Any) -> None:
    post = place.server("post", "a", "b")
    async with place.session(post) as session:
        await session.settle_tools()
        post.has("b", "c")
        await until(lambda: names(session) == {"mcp__post__b", "mcp__post__c"})
        gone = await call(session, "mcp__post__a")
        assert gone.result.is_error and "no such tool" in gone.result.output
    post.has({"name": "a", "description": "another a"}, "b", "c")
    async with place.session(post) as session:
        await until(lambda: session.explain("mcp__post__a").filter == "withheld")


@pytest.mark.parametrize("settled", [True, False])
async def test_what_a_call_brings_can_be_called_next(place: Any, call: Any, settled: bool) -> None:
    """Also when nobody waits until the server has listed all its pages again."""
    post = place.server("post", "a", "b", "c", after={"b": "a"}, page=1)
    async with place.session(post) as session:
        await session.settle_tools()
        assert names(session) == {"mcp__post__a", "mcp__post__c"}
        await call(session, "mcp__post__a")
        if settled:
            await session.settle_tools()
            assert names(session) == {"mcp__post__a", "mcp__post__b", "mcp__post__c"}
        assert not (await call(session, "mcp__post__b")).result.is_error


async def test_an_unpinned_server_may_change_its_tools(place: Any, call: Any, until: Any) -> None:
    post = place.server("post", TOOL)
    async with place.session((post, {"pinned": False})) as session:
        await session.settle_tools()
        post.has({**TOOL, "description": "new"})

        def described() -> bool:
            return any(t.name == SEND and t.description == "new" for t in session.tools())

        await until(described)
        assert not (await call(session, SEND)).result.is_error


async def test_a_damaged_memory_closes_the_server_until_it_is_removed(
    place: Any, call: Any, until: Any
) -> None:
    post = place.server("post", TOOL)
    async with place.session(post) as session:
        await session.settle_tools()
    (file,) = (place.folder / "state" / "mcp" / "servers").glob("post-*.json")
    file.write_text('{"listed": [')
    async with place.session(post) as session:
        await until(lambda: post.noted("starts")[1:])
        assert names(session) == set()
        assert any("damaged" in notice.text for notice in session.notices)
        done = await call(session, SEND)
        assert done.result.is_error and "damaged" in done.result.output
        file.unlink()
        session.reload()
        await until(lambda: names(session) == {SEND})
        assert not any("damaged" in notice.text for notice in session.notices)
        assert not (await call(session, SEND)).result.is_error


async def test_without_a_place_to_remember_tools_last_as_long_as_the_session(
    place: Any, call: Any, until: Any
) -> None:
    """Nothing was accepted that they could be compared with, and the user is told so."""
    post = place.server("post", TOOL, "other")
    (place.folder / "state").mkdir()
    (place.folder / "state" / "mcp").write_text("no folder")
    async with place.session(post) as session:
        await session.settle_tools()
        session.reload()
        assert names(session) == {SEND, OTHER}
        assert any("between sessions" in notice.text for notice in session.notices)
        assert not (await call(session, SEND)).result.is_error
        post.has({**TOOL, "description": "Sends two."}, "other")
        await until(lambda: names(session) == {OTHER})  # within the session it is noticed
        session.reload()
        assert names(session) == {OTHER}
    async with place.session(post) as session:
        await session.settle_tools()
        assert names(session) == {SEND, OTHER}
        (place.folder / "state" / "mcp").unlink()
        session.reload()
        assert names(session) == {SEND, OTHER}
        assert not any("between sessions" in notice.text for notice in session.notices)


async def test_a_memory_that_is_no_file_of_the_user_is_damaged(place: Any, until: Any) -> None:
    post = place.server("post", TOOL)
    async with place.session(post) as session:
        await session.settle_tools()
    (file,) = (place.folder / "state" / "mcp" / "servers").glob("post-*.json")
    file.rename(file.with_name("elsewhere"))
    file.symlink_to(file.with_name("elsewhere"))
    async with place.session(post) as session:
        await until(lambda: post.noted("starts")[1:])
        await session.settle_tools()
        assert names(session) == set()
        assert str(file) in (session.explain(SEND).reason or "")
        assert any(str(file) in notice.text for notice in session.notices)


async def test_a_tool_that_changed_between_sessions_is_not_run_once(place: Any, call: Any) -> None:
    """What was remembered is offered at once, and compared before the first call is sent."""
    post = place.server("post", TOOL)
    async with place.session(post) as session:
        await session.settle_tools()
    post.has({**TOOL, "description": "Sends it to everybody."})
    async with place.session(post) as session:
        refused = await call(session, SEND)
        assert refused.result.is_error and "was not run" in refused.result.output
        assert session.explain(SEND).filter == "withheld"
    assert post.noted("calls") == []


async def test_an_approval_does_not_outlive_the_definition_it_was_given_for(
    place: Any, call: Any, until: Any
) -> None:
    asked: list[str] = []

    async def approve(request: Any) -> toolcrib.ApprovalAnswer:
        asked.append(request.tool)
        return toolcrib.ApprovalAnswer(decision="approved", scope="session")

    post = place.server("post", TOOL, "other")
    place.configure(post)
    options = {"mode": "manual", "interact": approve}
    async with place.session(options=options) as session:
        await session.settle_tools()
        for _ in range(2):
            assert not (await call(session, SEND)).result.is_error
        assert asked == [SEND]
        post.has({**TOOL, "description": "Sends it to everybody."}, "other")
        await until(lambda: SEND not in names(session))
        refused = await call(session, SEND)
        assert refused.result.is_error
        assert "toolcrib mcp accept post send" in refused.result.output
        assert asked == [SEND] and post.noted("calls") == ["send"] * 2
        assert accept(place, "post", "send", "--yes").returncode == 0
        await taken_back(session, call)
        assert not (await call(session, SEND)).result.is_error
    assert post.noted("calls").count("send") == 3
