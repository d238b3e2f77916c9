"""Resources and prompts of a server, reached by tools."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from toolcrib.config.permission import PermissionRule
from toolcrib.permissions.ruleset import RuleSet
from toolcrib_features.mcp.extras import extras
from toolcrib_features.mcp.model import ServerConfig

Begin = Callable[..., Awaitable[Any]]


def offered(*offers: str, taken: tuple[str, ...] = ()) -> list[str]:
    config = ServerConfig(name="s", command="x")

    def server() -> Any:
        raise AssertionError("nothing needs the server before a call")

    return [each.name for each in extras(config, offers, server, taken)]


class TestWhichThereAre:
    def test_they_follow_what_the_server_has(self) -> None:
        assert offered() == []
        assert offered("resources") == ["mcp__s__list_resources", "mcp__s__read_resource"]
        assert offered("prompts") == ["mcp__s__list_prompts", "mcp__s__get_prompt"]

    def test_a_tool_of_the_server_wins(self) -> None:
        taken = ("mcp__s__read_resource",)
        assert offered("resources", taken=taken) == ["mcp__s__list_resources"]


class TestCalls:
    async def test_resources_are_listed_in_lines(self, talk: Begin) -> None:
        session = await talk()
        text = await session.text("list_resources")
        assert text == "note://1 (Note, text/plain, 3 bytes)"

    async def test_a_resource_is_read(self, talk: Begin) -> None:
        session = await talk()
        assert await session.text("read_resource", uri="note://1") == "one"

    async def test_prompts_are_listed_with_their_arguments(self, talk: Begin) -> None:
        session = await talk()
        assert await session.text("list_prompts") == "greet\n  who (required)"

    async def test_a_prompt_is_filled_in(self, talk: Begin) -> None:
        session = await talk()
        text = await session.text("get_prompt", name="greet", arguments={"who": "Ada"})
        assert "user" in text and "Hello Ada" in text

    async def test_arguments_are_checked(self, talk: Begin) -> None:
        session = await talk()
        done = await session.call("get_prompt", name="greet", arguments={"who": 5})
        assert done.outcome == "preflight-rejected"

    async def test_rules_may_be_about_what_is_read(self, talk: Begin) -> None:
        session = await talk()
        rule = PermissionRule(decision="deny", pattern="mcp__talk__*(uri=note://*)")
        session.harness.session.permission_rules = RuleSet((rule,))
        assert (await session.call("read_resource", uri="note://1")).outcome == "vetoed"
        assert (await session.call("read_resource", uri="http://1")).outcome == "executed"
        assert (await session.call("list_resources")).outcome == "vetoed"  # it has no `uri`

    async def test_a_removed_server_says_so(self, talk: Begin) -> None:
        session = await talk()
        await session.server.aclose()
        done = await session.call("read_resource", uri="note://1")
        assert done.result.is_error and "removed" in done.result.output
