"""Whole sessions in which somebody, or nobody, has to agree to calls of servers and of the host."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from attrs import define, field

import toolcrib
from toolcrib import ApprovalAnswer, ApprovalRequest

READ = {"name": "read", "description": "Reads.", "annotations": {"readOnlyHint": True}}
DROP = {"name": "drop", "description": "Drops.", "annotations": {"destructiveHint": True}}
SEND = {
    "name": "send",
    "description": "Sends.",
    "inputSchema": {"type": "object", "properties": {"to": {"type": "string"}}},
}


@define
class Person:
    """Approves for as long as is offered, and keeps what it was asked."""

    asked: list[ApprovalRequest] = field(factory=list)
    meanwhile: Callable[[], Any] | None = None

    async def __call__(self, request: Any) -> ApprovalAnswer:
        assert isinstance(request, ApprovalRequest)
        self.asked.append(request)
        if self.meanwhile is not None:
            await self.meanwhile()
        lasting = "session" in request.scopes
        return ApprovalAnswer(decision="approved", scope="session" if lasting else "once")

    @property
    def tools(self) -> list[str]:
        return [request.tool for request in self.asked]


def manual(person: Person | None = None) -> dict[str, Any]:
    return {"mode": "manual", "interact": person}


async def defined(session: Any, name: str, description: str) -> None:
    async with asyncio.timeout(20):
        while not any(t.name == name and t.description == description for t in session.tools()):
            await asyncio.sleep(0.02)


async def test_an_approval_ends_with_the_definition_it_was_given_for(place: Any, call: Any) -> None:
    person, post = Person(), place.server("post", SEND)
    name = "mcp__post__send"
    async with place.session((post, {"pinned": False}), options=manual(person)) as session:
        await session.settle_tools()
        for _ in range(2):
            assert (await call(session, name)).outcome == "executed"
        assert person.tools == [name]
        post.has({**SEND, "description": "Sends it to everybody."})
        await defined(session, name, "Sends it to everybody.")
        assert (await call(session, name)).outcome == "executed"
        assert person.tools == [name] * 2
        post.has(SEND, "another")
        await defined(session, name, "Sends.")
        assert (await call(session, name)).outcome == "executed"
        assert person.tools == [name] * 3


@pytest.mark.parametrize("pinned", [True, False])
async def test_a_call_is_not_run_when_its_tool_was_changed_while_somebody_was_asked(
    place: Any, call: Any, pinned: bool
) -> None:
    name = "mcp__post__send"
    post = place.server("post", SEND, "other")

    async def change() -> None:
        person.meanwhile = None
        post.has({**SEND, "description": "Sends it to everybody."}, "other", "new")
        await defined(session, "mcp__post__new", "Does new.")

    person = Person(meanwhile=change)
    async with place.session((post, {"pinned": pinned}), options=manual(person)) as session:
        await session.settle_tools()
        done = await call(session, name)
        assert done.result.is_error and "was not run" in done.result.output
        assert post.noted("calls") == []
        assert (await call(session, "mcp__post__other")).result.is_error is False


async def test_of_two_servers_with_one_name_each_is_approved_for_itself(
    place: Any, call: Any
) -> None:
    person = Person()
    first, second = place.server("a b", "x"), place.server("a_b", "x")
    place.configure(first, second)
    async with place.session(options=manual(person)) as session:
        await session.settle_tools()
        for _ in range(2):
            assert (await call(session, "mcp__a_b__x")).result.output == "server0:x"
        place.configure(second)

        async def taken_over() -> str:
            return str((await call(session, "mcp__a_b__x")).result.output)

        async with asyncio.timeout(20):
            while await taken_over() != "server1:x":
                await asyncio.sleep(0.1)
        assert person.tools == ["mcp__a_b__x"] * 2
        assert (await call(session, "mcp__a_b__x")).result.output == "server1:x"
        assert len(person.asked) == 2


async def test_a_server_that_starts_another_program_is_approved_anew(place: Any, call: Any) -> None:
    person, post = Person(), place.server("post", SEND)
    other = place.server("post", SEND)
    place.configure(post)
    async with place.session(options=manual(person)) as session:
        await session.settle_tools()
        assert (await call(session, "mcp__post__send")).result.output == "server0:send"
        place.configure(other)
        async with asyncio.timeout(20):
            while (await call(session, "mcp__post__send")).result.output != "server1:send":
                await asyncio.sleep(0.1)
        assert person.tools == ["mcp__post__send"] * 2


async def test_what_may_destroy_is_asked_about_each_time(place: Any, call: Any) -> None:
    person, post = Person(), place.server("post", DROP)
    rules = {"allow": ["mcp__*"]}
    options = manual(person)
    async with place.session(
        (post, {"trusted": True}), options=options, permission=rules
    ) as session:
        await session.settle_tools()
        for _ in range(3):
            assert (await call(session, "mcp__post__drop")).outcome == "executed"
    assert [request.scopes for request in person.asked] == [("once",)] * 3


async def test_a_server_that_is_not_trusted_gains_nothing_by_what_it_says(
    place: Any, call: Any
) -> None:
    post = place.server("post", READ)
    async with place.session(post, options=manual()) as session:
        await session.settle_tools()
        assert (await call(session, "mcp__post__read")).outcome == "vetoed"
    assert post.noted("calls") == []


@pytest.mark.parametrize(
    ("rules", "outcome"),
    [
        ({}, "executed"),
        ({"deny": ["mcp__post__*"]}, "vetoed"),
        ({"deny": ["mcp__*(*)"]}, "vetoed"),
        ({"deny": ["mcp__post__read(secret)"]}, "vetoed"),
        ({"deny": ["mcp__p?st__{read,write}"]}, "vetoed"),
        ({"ask": ["mcp__post__read"]}, "vetoed"),
        ({"ask": ["mcp__post__read(secret)"]}, "vetoed"),
        ({"ask": ["*(secret)"], "allow": ["mcp__post__read"]}, "vetoed"),
        ({"deny": ["mcp__pots__*"]}, "executed"),
        ({"deny": ["mcp__post__re"]}, "executed"),
    ],
    ids=str,
)
async def test_rules_weigh_more_than_what_a_trusted_server_says(
    place: Any, call: Any, rules: dict[str, Any], outcome: str
) -> None:
    post = place.server("post", READ)
    async with place.session(
        (post, {"trusted": True}), options=manual(), permission=rules
    ) as session:
        await session.settle_tools()
        assert (await call(session, "mcp__post__read")).outcome == outcome


@pytest.mark.parametrize("mode", ["manual", "yolo", "auto"])
async def test_a_rule_about_an_argument_holds_in_every_mode(
    place: Any, call: Any, mode: str
) -> None:
    post = place.server("post", SEND)
    rules = {"deny": ["mcp__post__*(to=*@evil.example)"], "allow": ["mcp__post__send(to=*)"]}
    async with place.session(post, options={"mode": mode}, permission=rules) as session:
        await session.settle_tools()
        for to, outcome in (("ann@evil.example", "vetoed"), ("ann@good.example", "executed")):
            done = await call(session, "mcp__post__send", to=to)
            assert done.outcome == outcome


async def test_a_tool_with_a_cut_name_is_ruled_by_that_name_and_by_globs(
    place: Any, call: Any
) -> None:
    long = "x" * 80
    name = toolcrib.qualify_tool_name("post", long)
    for rule in (name, "mcp__post__*", f"{name[:20]}*", "mcp__*"):
        post = place.server("post", long)
        async with place.session(post, permission={"deny": [rule]}) as session:
            await session.settle_tools()
            assert (await call(session, name)).outcome == "vetoed"


@pytest.mark.parametrize(
    ("profile", "active"),
    [
        ({"tools": ["mcp__post__*"]}, {"mcp__post__read", "mcp__post__send"}),
        ({"tools": ["mcp__*__read", "Post"]}, {"mcp__post__read", "mcp__other__read", "Post"}),
        ({"tools": ["Post*"]}, set()),
        ({"disallowed_tools": ["mcp__*"]}, {"Post"}),
        ({"disallowed_tools": ["mcp__post__send", "*"]}, {"mcp__post__read", "mcp__other__read"}),
    ],
)
async def test_a_profile_names_the_tools_of_servers_by_globs_and_others_in_full(
    place: Any, call: Any, profile: dict[str, Any], active: set[str]
) -> None:
    post, other = place.server("post", "read", "send"), place.server("other", "read")
    options = {"mode": "yolo", "profile": "p"}
    async with place.session(post, other, options=options, profiles={"p": profile}) as session:
        session.register_tool("Post", "Posts.", {"type": "object"}, lambda arguments: "posted")
        await session.settle_tools()
        known = {"mcp__post__read", "mcp__post__send", "mcp__other__read", "Post"}
        active = active | ({"Post"} if "*" in profile.get("disallowed_tools", ()) else set())
        for name in known:
            done = await call(session, name)
            assert (done.outcome == "executed") is (name in active), name


async def test_an_approval_of_a_host_tool_ends_with_its_definition(place: Any, call: Any) -> None:
    person, schema = Person(), {"type": "object"}
    async with place.session(options=manual(person)) as session:
        for text, asked in (("Posts.", 1), ("Posts.", 1), ("Posts it all.", 2), ("Posts.", 3)):
            session.register_tool("Post", text, schema, lambda arguments: "posted")
            for _ in range(2):
                assert (await call(session, "Post")).outcome == "executed"
            assert len(person.asked) == asked


async def test_whoever_is_not_there_is_not_asked(place: Any, call: Any) -> None:
    post = place.server("post", SEND, DROP)
    async with place.session((post, {"trusted": True}), options=manual()) as session:
        session.register_tool("Post", "Posts.", {"type": "object"}, lambda arguments: "posted")
        await session.settle_tools()
        for name in ("mcp__post__send", "mcp__post__drop", "Post"):
            done = await call(session, name)
            assert done.outcome == "vetoed" and name in done.result.output
    assert post.noted("calls") == []


@pytest.mark.parametrize("how", ["removed", "disabled", "moved", "left out"])
async def test_a_call_that_is_approved_too_late_starts_nothing(
    place: Any, call: Any, how: str
) -> None:
    post, other = place.server("post", SEND), place.server("post", SEND)
    after: dict[str, dict[str, Any]] = {
        "removed": {},
        "disabled": {"post": {**post.entry, "disabled": True}},
        "moved": {"post": other.entry},
        "left out": {"post": {**post.entry, "disabledTools": ["send"]}},
    }

    async def change() -> None:
        person.meanwhile = None
        place.configure(keep=kept.entry, **after[how])
        async with asyncio.timeout(20):
            while not followed():
                await call(session, "mcp__keep__x")
                await asyncio.sleep(0.1)

    def followed() -> bool:
        if how == "moved":
            return bool(other.noted("starts"))
        return "mcp__post__send" not in {tool.name for tool in session.tools()}

    kept = place.server("keep", "x")
    person = Person(meanwhile=change)
    place.configure(post, kept)
    rules = {"allow": ["mcp__keep__*"]}
    async with place.session(options=manual(person), permission=rules) as session:
        await session.settle_tools()
        done = await call(session, "mcp__post__send")
        assert done.result.is_error, done.result.output
        assert post.noted("calls") == other.noted("calls") == []
        assert len(post.noted("starts")) == 1 or how == "left out"  # which starts it anew
