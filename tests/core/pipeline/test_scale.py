"""Many calls at once, and calls inside calls."""

from __future__ import annotations

import asyncio
import gc
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import pytest

import toolcrib
from toolcrib.contract.context import ToolContext

OK = toolcrib.ToolResult("fine")
MANY = 1_000


class Gauge:
    """Counts how many bodies run at the same time."""

    def __init__(self) -> None:
        self.running = 0
        self.most = 0

    async def body(self, context: ToolContext) -> toolcrib.ToolResult:
        self.running += 1
        self.most = max(self.most, self.running)
        await asyncio.sleep(0.001)
        self.running -= 1
        return OK


async def fine(context: ToolContext) -> toolcrib.ToolResult:
    return OK


async def test_sixteen_bodies_run_at_once_and_no_more(bench: Any, run: Any) -> None:
    gauge = Gauge()
    bench.tool("Counted", gauge.body)
    session = bench.open()
    both = await asyncio.gather(
        run(session, *["Counted"] * (MANY // 2)), run(session, *["Counted"] * (MANY // 2))
    )
    assert [len(done) for done in both] == [MANY // 2] * 2
    assert gauge.most == 16
    assert gauge.running == 0


@pytest.mark.parametrize(
    "accesses", [None, toolcrib.Accesses.none(), toolcrib.Accesses.write("/x")]
)
@pytest.mark.parametrize("hooked", [False, True])
async def test_a_thousand_bodies_that_end_at_once_behind_one_that_waits(
    bench: Any, run: Any, accesses: Any, hooked: bool
) -> None:
    """No call is started from inside another, so the stack stays flat."""
    gate = asyncio.Event()

    async def waiting(context: ToolContext) -> toolcrib.ToolResult:
        await gate.wait()
        return OK

    async def before_execute(call: Any) -> None:
        """Answers without ever waiting."""

    async def did_execute(call: Any, outcome: Any) -> None:
        """Answers without ever waiting."""

    if hooked:
        bench.plugin("quick", before_execute=before_execute, did_execute=did_execute)
    bench.tool("Waiting", waiting, accesses=accesses)
    bench.tool("Fine", fine, accesses=accesses)
    session = bench.open()
    task = asyncio.create_task(run(session, *["Waiting"] * 16, *["Fine"] * MANY))
    await asyncio.sleep(0.05)
    gate.set()
    done = await task
    assert len(done) == MANY + 16
    assert all(each.outcome == "executed" and each.result == OK for each in done.values())
    assert session.scheduler.idle


async def test_completions_come_as_they_finish(bench: Any) -> None:
    async def slow(context: ToolContext) -> toolcrib.ToolResult:
        await asyncio.sleep(0.05)
        return OK

    bench.tool("Slow", slow)
    bench.tool("Fine", fine)
    calls: list[dict[str, Any]] = [
        {"id": name, "name": name, "arguments": {}} for name in ("Slow", "Fine", "Unknown")
    ]
    order = [each.id async for each in bench.open().execute(calls)]
    assert set(order[:2]) == {"Fine", "Unknown"}
    assert order[2] == "Slow"


async def test_a_body_may_open_a_session_of_its_own(bench: Any, run: Any, workspace: Path) -> None:
    inner: list[Any] = []

    async def nests(context: ToolContext) -> toolcrib.ToolResult:
        async with toolcrib.open_session(workspace, mode="yolo", autoload=False) as session:
            calls = [{"id": "in", "name": "Write", "arguments": {"path": "a.txt", "content": "x"}}]
            inner.extend([each async for each in session.execute(calls)])
        return OK

    bench.tool("Nests", nests, accesses=toolcrib.Accesses.all())
    done = await run(bench.open(), "Nests", "Nests")
    assert [each.outcome for each in inner] == ["executed", "executed"]
    assert done["1"].result == done["2"].result == OK


async def test_bodies_that_call_tools_of_their_own_session_do_not_wait_for_each_other(
    bench: Any, run: Any
) -> None:
    """Sixteen that each need a place for their calls, when there are sixteen places."""
    session: Any = None

    async def nests(context: ToolContext) -> toolcrib.ToolResult:
        done = await run(session, "Fine", "Fine")
        assert len(done) == 2
        return OK

    bench.tool("Nests", nests)
    bench.tool("Fine", fine)
    session = bench.open()
    done = await asyncio.wait_for(run(session, *["Nests"] * 40), 20)
    assert all(each.result == OK for each in done.values())


async def test_a_long_session_leaves_nothing_behind(bench: Any, run: Any) -> None:
    """Calls of all outcomes, then a look at what is still held."""

    async def fails(context: ToolContext) -> toolcrib.ToolResult:
        raise ValueError(f"{context.call_id} failed")

    def did_execute(call: Any, outcome: Any) -> None:
        raise ValueError(f"about {id(outcome)}")

    bench.tool("Fine", fine)
    bench.tool("Fails", fails)
    bench.plugin("clumsy", did_execute=did_execute)
    session = bench.open(watch=False)

    async def objects() -> int:
        await run(session, *["Fine", "Fails", "Unknown"] * 100)
        gc.collect()
        return len(gc.get_objects())

    await objects()
    before = await objects()
    for _ in range(5):
        after = await objects()
    assert after - before < 300
    assert len(session.crib.plugins.failures) < 200


async def test_what_one_body_sets_in_its_context_no_other_sees(bench: Any, run: Any) -> None:
    variable: ContextVar[str] = ContextVar("variable", default="clean")
    seen = []

    async def body(context: ToolContext) -> toolcrib.ToolResult:
        seen.append(variable.get())
        variable.set("dirty")
        await asyncio.sleep(0)
        return OK

    bench.tool("Sets", body, accesses=toolcrib.Accesses.all())
    session = bench.open()
    variable.set("of the caller")
    await run(session, "Sets", "Sets", "Sets")
    assert seen == ["of the caller"] * 3
