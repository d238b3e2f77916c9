"""Calls of tools that are deferred: before they are loaded, and when they are gone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

A = "mcp__wiki__a"


async def test_one_that_nobody_was_told_of_has_to_be_loaded(host: Callable[..., Any]) -> None:
    begun = host()
    async with begun.harness:
        begun.offer("wiki", {"a": "A."})
        done = await begun.call(A, text="x")
        assert done.outcome == "preflight-rejected"
        assert f'select_tools with {{"names": ["{A}"]}}' in str(done.result.output)
        assert begun.tool(A).read == 0


async def test_one_that_was_announced_runs_when_its_arguments_are_right(
    host: Callable[..., Any],
) -> None:
    begun = host()
    async with begun.harness:
        begun.offer("wiki", {"a": "A."})
        begun.told()
        wrong = await begun.call(A, txt="x")
        assert wrong.outcome == "preflight-rejected" and "select_tools" in str(wrong.result.output)
        assert begun.given() == []
        done = await begun.call(A, text="x")
        assert (done.outcome, done.result.output) == ("executed", f"{A}: x")
        assert "loaded" in str(done.result.note)
        assert begun.given() == [A]
        assert (await begun.call(A, text="x")).result.note is None
        wrong = await begun.call(A, txt="x")
        assert "select_tools" not in str(wrong.result.output)


async def test_select_and_call_in_one_batch(host: Callable[..., Any]) -> None:
    begun = host()
    async with begun.harness:
        begun.offer("wiki", {"a": "A."})
        begun.told()
        selected, called = await begun.harness.batch(
            ("select_tools", {"names": [A]}), (A, {"text": "x"})
        )
        assert not selected.result.is_error and called.outcome == "executed"
        assert begun.given() == [A]


async def test_one_that_policy_forbids_now_is_for_the_user_to_enable(
    host: Callable[..., Any],
) -> None:
    begun = host()
    async with begun.harness:
        begun.offer("wiki", {"a": "A."})
        await begun.select(A)
        begun.session.disable_tools(A)
        output = str((await begun.call(A, text="x")).result.output)
        assert "user" in output and "disabled" in output


async def test_one_whose_server_is_away_may_come_back(host: Callable[..., Any]) -> None:
    begun = host()
    async with begun.harness:
        begun.offer("wiki", {"a": "A."})
        await begun.select(A)
        begun.offer("wiki", {})
        output = str((await begun.call(A, text="x")).result.output)
        assert "disconnected" in output and "come back" in output
        assert "disconnected" not in str((await begun.call("mcp__wiki__b")).result.output)


async def test_a_broken_description_costs_its_own_tool_alone(host: Callable[..., Any]) -> None:
    begun = host()
    async with begun.harness:
        begun.offer("wiki", {"a": "A.", "b": 7})
        assert begun.told() == ([A], [])
        assert not begun.session.explain("mcp__wiki__b").active


async def test_of_a_thousand_tools_only_those_that_are_called_are_read(
    host: Callable[..., Any],
) -> None:
    """Neither announcing nor finding tools compiles a schema or validates by it."""
    begun = host()
    async with begun.harness:
        for server in range(20):
            begun.offer(f"s{server}", {f"t{n}": f"Does {n} for {server}." for n in range(50)})
        begun.session.model_tools()
        assert len(begun.told()[0]) == 1000
        await begun.select("mcp__s3__t4", query="does 7 for 19")
        assert sum(begun.tool(name).read for name in begun.session.main.selection.loadable()) == 0
        begun.given()
        await begun.call("mcp__s3__t4", text="x")
        await begun.call("mcp__s3__t5", txt="x")
        compiled = [e.name for e in begun.session.main.registry if e.schema is not None]
        assert compiled == ["mcp__s3__t4", "mcp__s3__t5", "select_tools"]
