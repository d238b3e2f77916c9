"""When tools are loaded on demand, and what a model is given then."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

import toolcrib

TOOLS = {"read_page": "Reads a page.", "write_page": "Writes a page."}
NAMES = ["mcp__wiki__read_page", "mcp__wiki__write_page"]


@pytest.mark.parametrize(
    "closed",
    [
        {"environ": {}},
        {"model_capabilities": ()},
        {"model_capabilities": ("tool_use",)},
        {"model_capabilities": ("dynamically_loaded_tools",)},
    ],
)
async def test_otherwise_deferred_tools_are_like_others(
    host: Callable[..., Any], closed: dict[str, Any]
) -> None:
    """Without the feature, or a model that can: nothing is announced, nothing has to be loaded."""
    begun = host(**closed)
    async with begun.harness:
        begun.offer("wiki", TOOLS)
        assert set(NAMES) <= set(begun.listed())
        assert "select_tools" not in begun.listed()
        assert begun.session.context_messages() == []
        assert (await begun.call(NAMES[0], text="x")).outcome == "executed"
        decision = begun.session.explain("select_tools")
        assert not decision.active
        assert decision.filter == ("feature" if "environ" in closed else "when")
        if decision.filter == "when":
            assert "dynamically_loaded_tools" in str(decision.reason)


@pytest.mark.parametrize(
    "opened",
    [
        {},
        {"environ": {}, "config": {"features": {"tool-select": True}}},
        {
            "environ": {},
            "profile": "p",
            "config": {"profiles": {"p": {"features": {"tool-select": True}}}},
        },
    ],
)
async def test_deferred_tools_are_not_in_the_list_of_a_request(
    host: Callable[..., Any], opened: dict[str, Any]
) -> None:
    begun = host(**opened)
    async with begun.harness:
        begun.offer("wiki", TOOLS)
        assert not set(NAMES) & set(begun.listed())
        assert {"select_tools", "Read"} <= set(begun.listed())
        deferred = [t.name for t in begun.session.tools() if t.disclosure == "deferred"]
        assert deferred == NAMES


async def test_the_list_of_a_request_stays_while_tools_are_loaded(
    host: Callable[..., Any],
) -> None:
    begun = host()
    async with begun.harness:
        begun.offer("wiki", TOOLS)
        before = begun.session.model_tools()
        await begun.select(*NAMES)
        begun.session.context_messages()
        await begun.call(NAMES[0], text="x")
        assert begun.session.model_tools() == before


async def test_the_model_can_change(host: Callable[..., Any]) -> None:
    begun = host(model_capabilities=())
    async with begun.harness:
        begun.offer("wiki", TOOLS)
        assert set(NAMES) <= set(begun.listed())
        begun.session.use_model(["tool_use", "dynamically_loaded_tools", "vision"])
        assert not set(NAMES) & set(begun.listed())
        assert begun.told() == (NAMES, [])
        begun.session.use_model([])
        assert set(NAMES) <= set(begun.listed())
        assert begun.session.context_messages() == []


@pytest.mark.parametrize(
    "config",
    [
        {"profiles": {"p": {"tools": ["Read", "mcp__wiki__*"]}}},
        {"tools": {"enabled": ["Read", "mcp__wiki__*"]}, "profiles": {"p": {}}},
    ],
)
async def test_a_list_of_allowed_tools_need_not_name_it(
    host: Callable[..., Any], config: dict[str, Any]
) -> None:
    begun = host(profile="p", config=config)
    async with begun.harness:
        begun.offer("wiki", TOOLS)
        assert begun.listed() == ["Read", "select_tools"]
        assert not begun.session.allows_tool("select_tools", "plugin")
        assert not begun.session.allows_tool("select_tools", "builtin")
        assert not (await begun.select(NAMES[0])).is_error


@pytest.mark.parametrize(
    "config",
    [
        {"profiles": {"p": {"disallowed_tools": ["select_tools"]}}},
        {"tools": {"disabled": ["select_tools"]}, "profiles": {"p": {}}},
    ],
)
async def test_one_who_disallows_it_gets_all_tools_at_once(
    host: Callable[..., Any], config: dict[str, Any]
) -> None:
    begun = host(profile="p", config=config)
    async with begun.harness:
        begun.offer("wiki", TOOLS)
        assert set(NAMES) <= set(begun.listed())
        assert "select_tools" not in begun.listed()


async def test_it_can_be_disabled_for_the_session(host: Callable[..., Any]) -> None:
    begun = host()
    async with begun.harness:
        begun.offer("wiki", TOOLS)
        begun.session.disable_tools("select_tools")
        assert set(NAMES) <= set(begun.listed())
        begun.session.enable_tools("select_tools")
        assert not set(NAMES) & set(begun.listed())


async def test_no_other_plugin_can_pass_a_list_like_that(host: Callable[..., Any]) -> None:
    plugin = ModuleType("pushy")

    class Pushy(toolcrib.Tool[Any]):
        name = "Pushy"
        description = "Wants to be there."
        Input = {"type": "object"}  # noqa: RUF012

    @toolcrib.hookimpl
    def contribute_tool() -> toolcrib.ToolContribution:
        return toolcrib.ToolContribution(
            name="Pushy", factory=Pushy, source="builtin", always_listed=True
        )

    plugin.contribute_tool = contribute_tool  # type: ignore[attr-defined]
    begun = host(plugins=[plugin], profile="p", config={"profiles": {"p": {"tools": ["Read"]}}})
    async with begun.harness:
        assert begun.listed() == ["Read", "select_tools"]
        assert begun.session.explain("Pushy").filter == "profile"


async def test_a_predicate_of_any_plugin_sees_what_the_model_can(
    host: Callable[..., Any],
) -> None:
    plugin = ModuleType("seer")

    class Look(toolcrib.Tool[Any]):
        name = "Look"
        description = "Looks."
        Input = {"type": "object"}  # noqa: RUF012

    @toolcrib.hookimpl
    def contribute_tool() -> toolcrib.ToolContribution:
        return toolcrib.ToolContribution(
            name="Look", factory=Look, when=lambda c: "vision" in c.model_capabilities
        )

    plugin.contribute_tool = contribute_tool  # type: ignore[attr-defined]
    begun = host(plugins=[plugin], model_capabilities=["vision"])
    async with begun.harness:
        assert "Look" in begun.listed()
        begun.session.use_model(["tool_use"])
        assert "Look" not in begun.listed()


async def test_it_runs_unasked(host: Callable[..., Any]) -> None:
    begun = host(mode="manual")
    async with begun.harness:
        begun.offer("wiki", TOOLS)
        assert not (await begun.select(NAMES[0])).is_error
