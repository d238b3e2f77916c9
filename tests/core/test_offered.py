"""Tools that come and go while a session lives pass the same filters as those of plugins."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar

import pytest

import toolcrib
from toolcrib import MissingTool, Session, ToolContribution, WithheldTool
from toolcrib.contract.events import Event, ToolListUpdated
from toolcrib.offered import HOST


class _Echo(toolcrib.Tool[dict[str, Any]]):
    Input: ClassVar[Any] = {"type": "object", "properties": {"text": {"type": "string"}}}
    description = "Gives the text back."

    def __init__(self, name: str) -> None:
        self.name = name

    def resolve_execution(self, args: dict[str, Any]) -> toolcrib.RunnableExecution:
        async def run(context: toolcrib.ToolContext) -> toolcrib.ToolResult:
            return toolcrib.ToolResult(f"{self.name}: {args.get('text')}")

        return toolcrib.RunnableExecution(run, self.name, accesses=toolcrib.Accesses.none())


def _offer(name: str) -> ToolContribution:
    return ToolContribution(name=name, factory=_Echo(name), source="mcp", domain="mcp")


def _session(tmp_path: Path, **more: Any) -> Session:
    return toolcrib.open_session(tmp_path, mode="yolo", autoload=False, **more)


def _names(session: Session) -> list[str]:
    return [tool.name for tool in session.tools() if tool.source == "mcp"]


async def _run(session: Session, name: str, text: str = "hi") -> toolcrib.ToolResult:
    calls = [{"id": "1", "name": name, "arguments": {"text": text}}]
    (done,) = [done async for done in session.execute(calls)]
    return done.result


async def test_tools_are_offered_replaced_and_withdrawn(tmp_path: Path) -> None:
    async with _session(tmp_path) as session:
        table = session.main.table
        table.replace("s", [_offer("mcp__s__a"), _offer("mcp__s__b")], plugin=HOST, reason="x")
        assert _names(session) == ["mcp__s__a", "mcp__s__b"]
        assert (await _run(session, "mcp__s__a")).output == "mcp__s__a: hi"
        table.replace("s", [_offer("mcp__s__b")], plugin=HOST, reason="x")
        assert _names(session) == ["mcp__s__b"]
        assert (await _run(session, "mcp__s__a")).is_error
        table.replace("s", (), plugin=HOST, reason="x")
        assert _names(session) == []


async def test_those_who_follow_are_told_what_changed_and_why(tmp_path: Path) -> None:
    async with _session(tmp_path) as session:
        seen: list[Event] = []
        session.subscribe(seen.append)
        table = session.main.table
        kept = _offer("mcp__s__kept")
        table.replace("s", [kept, _offer("mcp__s__a")], plugin=HOST, reason="first")
        table.replace("s", [kept, _offer("mcp__s__a")], plugin=HOST, reason="second")
        table.replace("s", [kept], plugin=HOST, reason="third")
        table.replace("s", [kept], plugin=HOST, reason="nothing new")
        updates = [event for event in seen if isinstance(event, ToolListUpdated)]
        assert [(u.reason, u.added, u.removed, u.replaced) for u in updates] == [
            ("first", ("mcp__s__a", "mcp__s__kept"), (), ()),
            ("second", (), (), ("mcp__s__a",)),
            ("third", (), ("mcp__s__a",), ()),
        ]


async def test_the_filters_decide_on_them(tmp_path: Path) -> None:
    overrides = {"tools": {"disabled": ["mcp__s__*"]}}
    async with _session(tmp_path, overrides=overrides) as session:
        tools = [_offer("mcp__s__a"), _offer("mcp__t__a")]
        session.main.table.replace("both", tools, plugin=HOST, reason="x")
        assert _names(session) == ["mcp__t__a"]
        assert session.explain("mcp__s__a").filter == "tools.disabled"
        session.disable_tools("mcp__t__a")
        assert _names(session) == []
        assert (await _run(session, "mcp__t__a")).is_error


async def test_no_tool_of_a_plugin_is_replaced_and_the_first_owner_counts(tmp_path: Path) -> None:
    async with _session(tmp_path) as session:
        table = session.main.table
        table.replace("one", [_offer("Read"), _offer("mcp__x__a")], plugin=HOST, reason="x")
        table.replace("two", [_offer("mcp__x__a")], plugin=HOST, reason="x")
        assert next(t for t in session.tools() if t.name == "Read").source == "builtin"
        decisions = [d for d in session.decisions() if d.name == "mcp__x__a"]
        assert sorted(d.active for d in decisions) == [False, True]


async def test_a_tool_that_is_withheld_is_explained(tmp_path: Path) -> None:
    async with _session(tmp_path) as session:
        withheld = WithheldTool(name="mcp__s__a", reason="it was changed", remedy="accept it")
        session.main.table.replace("s", (), plugin=HOST, reason="x", withheld=[withheld])
        decision = session.explain("mcp__s__a")
        assert (decision.active, decision.filter) == (False, "withheld")
        assert (decision.reason, decision.remedy) == ("it was changed", "accept it")
        result = await _run(session, "mcp__s__a")
        assert result.is_error and "it was changed" in str(result.output)


async def test_the_tools_of_a_plugin_that_is_blocked_or_gone_are_not_offered(
    tmp_path: Path,
) -> None:
    plugin = ModuleType("bringer")

    @toolcrib.hookimpl
    def contribute_profile() -> None:
        return None

    plugin.contribute_profile = contribute_profile  # type: ignore[attr-defined]
    async with _session(tmp_path, plugins=[plugin]) as session:
        session.main.table.replace("s", [_offer("mcp__s__a")], plugin="bringer", reason="x")
        assert _names(session) == ["mcp__s__a"]
        assert session.uses_plugin("bringer")
        session.crib.plugins.unregister("bringer")
        assert _names(session) == []
        assert not session.uses_plugin("bringer")


class _Source:
    """Brings its tool when it is told to."""

    def __init__(self, bring: Callable[[], None]) -> None:
        self._bring = bring
        self.ready = asyncio.Event()
        self.unsettled = True
        self.closed = False

    def expects(self, name: str) -> bool:
        return self.unsettled and name.startswith("late__")

    async def arrived(self, name: str) -> None:
        await self.ready.wait()
        self._bring()
        self.unsettled = False

    async def settled(self) -> None:
        await self.arrived("")

    async def aclose(self) -> None:
        self.closed = True


def _explain(name: str) -> MissingTool | None:
    if not name.startswith("late__"):
        return None
    return MissingTool(reason="the server has no such tool", remedy="look at its list")


async def test_a_call_waits_for_the_tool_that_is_on_its_way_and_others_do_not(
    tmp_path: Path,
) -> None:
    async with _session(tmp_path) as session:
        table = session.main.table
        late = [_offer("late__a")]
        source = _Source(lambda: table.replace("late", late, plugin=HOST, reason="x"))
        table.add_source(source)
        table.explain_with("os-read", _explain)
        waiting = asyncio.create_task(_run(session, "late__a"))
        gone = asyncio.create_task(_run(session, "late__gone"))
        (tmp_path / "a.txt").write_text("x")
        calls = [{"id": "1", "name": "Read", "arguments": {"path": "a.txt"}}]
        assert [d.result.is_error async for d in session.execute(calls)] == [False]
        assert not waiting.done()
        source.ready.set()
        assert (await waiting).output == "late__a: hi"
        assert "the server has no such tool (look at its list)" in str((await gone).output)
        decision = session.explain("late__gone")
        assert (decision.filter, decision.remedy) == ("withheld", "look at its list")
        assert session.explain("other__gone").filter == "unknown"
        assert not table.unsettled
    assert source.closed


async def test_a_call_that_waits_for_its_tool_can_be_cancelled(tmp_path: Path) -> None:
    async with _session(tmp_path) as session:
        source = _Source(lambda: None)
        session.main.table.add_source(source)
        waiting = asyncio.create_task(_run(session, "late__a"))
        await asyncio.sleep(0)
        session.cancel(by_user=True)
        assert (await waiting).is_error


@pytest.mark.parametrize("started", [False, True])
async def test_what_starts_with_the_session_starts_once(tmp_path: Path, started: bool) -> None:
    session = _session(tmp_path)
    begun: list[str] = []
    if not started:
        session.on_start(lambda: begun.append("before"))
        assert begun == []
    async with session:
        if started:
            session.on_start(lambda: begun.append("during"))
        assert len(begun) == 1


async def test_a_watched_file_and_a_profile_are_followed(tmp_path: Path) -> None:
    config: dict[str, Any] = {"profiles": {"other": {}}}
    async with _session(tmp_path, overrides=config) as session:
        followed: list[int] = []
        session.on_change(lambda: followed.append(1))
        session.use_profile("other")
        assert len(followed) == 1
        session.reload()
        assert len(followed) == 2
