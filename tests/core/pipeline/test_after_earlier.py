"""Calls that start after every earlier one of their batch has its result, and hold up none."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import aclosing
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import toolcrib
from toolcrib.accesses import conflict
from toolcrib.contract.context import ToolContext
from toolcrib.pipeline import executor
from toolcrib.testing import ToolHarness

OK = toolcrib.ToolResult("fine")
HANG_S = 20
MANY = 1_000


class Stage:
    """Bodies that note their start, and end when the test says so."""

    def __init__(self) -> None:
        self.started: list[str] = []
        self.running: set[str] = set()
        self.gates: dict[str, asyncio.Event] = {}

    async def body(self, context: ToolContext) -> toolcrib.ToolResult:
        self.started.append(context.call_id)
        self.running.add(context.call_id)
        try:
            await self.gates.setdefault(context.call_id, asyncio.Event()).wait()
        finally:
            self.running.discard(context.call_id)
        return OK

    def let_end(self, call_id: str) -> None:
        self.gates.setdefault(call_id, asyncio.Event()).set()


async def settled() -> None:
    """Whatever can happen without anybody's doing has happened."""
    for _ in range(20):
        await asyncio.sleep(0)


def assert_all_over(session: Any) -> None:
    assert session.scheduler.idle
    assert session.main.executor._batches == []
    assert session.main.executor._places.taken == 0


@pytest.fixture
def stage(bench: Any) -> Stage:
    """`Free` touches nothing, `Uses` one thing; `After` and `AfterUses` go after earlier calls."""
    made = Stage()
    one = toolcrib.Accesses.resource("x")
    bench.tool("Free", made.body)
    bench.tool("Uses", made.body, accesses=one)
    bench.tool("After", made.body, after_earlier=True)
    bench.tool("AfterUses", made.body, after_earlier=True, accesses=one)
    return made


Run = Callable[..., Awaitable[Mapping[str, Any]]]


async def test_it_waits_for_what_it_does_not_touch(bench: Any, run: Run, stage: Stage) -> None:
    task = asyncio.ensure_future(run(bench.open(), "Free", "Uses", "After", "Free"))
    await settled()
    assert sorted(stage.started) == ["1", "2", "4"]
    stage.let_end("1")
    await settled()
    assert "3" not in stage.started
    stage.let_end("2")
    await settled()
    assert "3" in stage.started
    for number in "34":
        stage.let_end(number)
    assert {each.outcome for each in (await task).values()} == {"executed"}


async def test_the_first_call_waits_for_nothing(bench: Any, run: Run, stage: Stage) -> None:
    stage.let_end("1")
    assert (await run(bench.open(), "After"))["1"].result == OK


async def test_it_waits_for_its_own_kind(bench: Any, run: Run, stage: Stage) -> None:
    task = asyncio.ensure_future(run(bench.open(), "After", "After", "After"))
    for number in "123":
        await settled()
        assert stage.started[-1] == number
        stage.let_end(number)
    await task
    assert stage.started == ["1", "2", "3"]


async def test_a_later_call_waits_only_for_what_it_conflicts_with(
    bench: Any, run: Run, stage: Stage
) -> None:
    task = asyncio.ensure_future(run(bench.open(), "Free", "AfterUses", "Uses", "Free"))
    await settled()
    assert sorted(stage.started) == ["1", "4"]
    for number in "1234":
        stage.let_end(number)
    await task
    assert stage.started.index("2") < stage.started.index("3")


async def test_other_batches_are_none_of_its_business(bench: Any, run: Run, stage: Stage) -> None:
    session = bench.open()
    first = asyncio.ensure_future(run(session, "Free"))
    await settled()
    second = asyncio.ensure_future(run(session, "After"))
    await settled()
    assert stage.started == ["1", "1"]
    stage.let_end("1")
    await asyncio.gather(first, second)


async def test_it_takes_no_place_while_it_waits(bench: Any, run: Run, stage: Stage) -> None:
    names = ["Free", *["After"] * executor.MAX_CONCURRENT, *["Free"] * executor.MAX_CONCURRENT]
    task = asyncio.ensure_future(run(bench.open(), *names))
    await settled()
    assert len(stage.running) == executor.MAX_CONCURRENT
    for number in range(1, len(names) + 1):
        stage.let_end(str(number))
    assert len(await task) == len(names)


async def test_calls_without_a_body_count_as_over(bench: Any, run: Run, stage: Stage) -> None:
    """Unknown, unresolvable, vetoed and failed calls have their results as well."""

    def before_execute(call: Any) -> Any:
        return toolcrib.Veto(toolcrib.ToolResult.error("no")) if call.name == "Vetoed" else None

    async def fail(context: ToolContext) -> toolcrib.ToolResult:
        raise ValueError("broken")

    bench.plugin("guard", before_execute=before_execute)
    bench.tool("Vetoed", stage.body)
    bench.tool("Failing", fail)
    bench.resolves("Unresolvable", lambda args: toolcrib.ToolResult.error("cannot"))
    stage.let_end("5")
    names = ("Unknown", "Vetoed", "Failing", "Unresolvable", "After")
    async with asyncio.timeout(HANG_S):
        done = await run(bench.open(), *names)
    assert [done[str(n)].outcome for n in range(1, 6)] == [
        "preflight-rejected",
        "vetoed",
        "executed",
        "synthetic",
        "executed",
    ]


async def test_a_result_that_hooks_still_change_is_none_yet(
    bench: Any, run: Run, stage: Stage
) -> None:
    gate = asyncio.Event()

    async def did_execute(call: Any, outcome: Any) -> None:
        if call.id == "1":
            await gate.wait()

    bench.plugin("slow", did_execute=did_execute)
    task = asyncio.ensure_future(run(bench.open(), "Free", "After"))
    stage.let_end("1")
    await settled()
    assert stage.started == ["1"]
    gate.set()
    stage.let_end("2")
    await task
    assert stage.started == ["1", "2"]


async def test_a_body_that_never_stops_holds_it_up_until_it_is_given_up(
    bench: Any, run: Run, stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(executor, "GRACE_S", 0.02)
    over = asyncio.Event()

    async def stubborn(context: ToolContext) -> toolcrib.ToolResult:
        while not over.is_set():
            try:
                await over.wait()
            except asyncio.CancelledError:
                pass
        return OK

    bench.tool("Stubborn", stubborn)
    stage.let_end("2")
    session = bench.open(config={"tools": {"timeouts": {"Stubborn": 0.02}}})
    async with asyncio.timeout(HANG_S):
        done = await run(session, "Stubborn", "After")
    assert done["1"].result.is_error and done["2"].result == OK
    over.set()
    await settled()
    assert_all_over(session)


async def test_calls_that_end_the_turn_skip_it(bench: Any, run: Run, stage: Stage) -> None:
    bench.tool("Last", stage.body, stop_batch_after_this=True)
    stage.let_end("1")
    async with asyncio.timeout(HANG_S):
        done = await run(bench.open(), "Last", "After")
    assert done["2"].outcome == "skipped"


@pytest.mark.parametrize("by_user", [False, True])
async def test_cancelling_ends_it_unrun(bench: Any, run: Run, stage: Stage, by_user: bool) -> None:
    session = bench.open()
    task = asyncio.ensure_future(run(session, "Free", "After", "AfterUses", "Uses"))
    await settled()
    session.cancel(by_user=by_user)
    async with asyncio.timeout(HANG_S):
        done = await task
    assert {each.outcome for each in done.values()} == {"aborted"}
    assert stage.started == ["1"]
    assert_all_over(session)


async def test_cancelling_what_it_waits_for_does_not_start_it(
    bench: Any, run: Run, stage: Stage
) -> None:
    """The aborted call is all that stood in its way, and there is a free place."""
    session = bench.open()
    other = asyncio.ensure_future(run(session, "Uses"))
    await settled()
    task = asyncio.ensure_future(run(session, "Uses", "After", "Uses"))
    await settled()
    session.main.executor._batches[1].cancel(by_user=False)
    async with asyncio.timeout(HANG_S):
        done = await task
    assert {each.outcome for each in done.values()} == {"aborted"}
    assert stage.started == ["1"]
    stage.let_end("1")
    await other
    assert_all_over(session)


async def test_a_consumer_that_stops_early_lets_it_run(bench: Any, stage: Stage) -> None:
    session = bench.open()
    calls = [{"id": str(n), "name": "Free", "arguments": {}} for n in (1, 2)]
    calls.append({"id": "3", "name": "After", "arguments": {}})
    for number in "123":
        stage.let_end(number)
    async with asyncio.timeout(HANG_S), aclosing(session.execute(calls)) as results:
        async for _ in results:
            break
    assert stage.started == ["1", "2", "3"]
    assert_all_over(session)


@pytest.mark.parametrize("accesses", [toolcrib.Accesses.none(), None])
async def test_a_thousand_of_them_run_one_after_the_other(
    bench: Any, run: Run, accesses: Any
) -> None:
    """In a flat stack, and without looking at every call again for each result."""
    started: list[str] = []

    async def body(context: ToolContext) -> toolcrib.ToolResult:
        started.append(context.call_id)
        return OK

    bench.tool("After", body, after_earlier=True, accesses=accesses)
    async with asyncio.timeout(HANG_S):
        done = await run(bench.open(), *["After"] * MANY)
    assert len(done) == MANY
    assert started == [str(number) for number in range(1, MANY + 1)]


FILES = (
    toolcrib.Accesses.none(),
    None,
    toolcrib.Accesses.resource("x", shared=True),
    toolcrib.Accesses.resource("x"),
    toolcrib.Accesses.resource("y"),
)
call_plans = st.fixed_dictionaries(
    {
        "accesses": st.sampled_from(FILES),
        "after_earlier": st.booleans(),
        "end": st.sampled_from(["well", "badly", "vetoed", "unresolved"]),
    }
)


class Planned:
    """One plugin whose only tool does what the plan of each call says."""

    def __init__(self, plans: Mapping[str, Any], stage: Stage) -> None:
        self.plans, self.stage = plans, stage

    @toolcrib.hookimpl
    def contribute_tool(self) -> toolcrib.ToolContribution:
        planned = self

        class Planned(toolcrib.Tool[Any]):
            name = "Planned"
            description = "Does as planned."
            Input = {"type": "object"}  # noqa: RUF012

            def resolve_execution(self, args: Any) -> Any:
                return planned.execution(args["id"])

        return toolcrib.ToolContribution(name="Planned", factory=Planned)

    def execution(self, call_id: str) -> Any:
        plan = self.plans[call_id]
        if plan["end"] == "unresolved":
            return toolcrib.ToolResult.error("cannot")

        async def body(context: ToolContext) -> toolcrib.ToolResult:
            await self.stage.body(context)
            if plan["end"] == "badly":
                raise ValueError("broken")
            return OK

        return toolcrib.RunnableExecution(
            body, "Planned", accesses=plan["accesses"], after_earlier=plan["after_earlier"]
        )

    @toolcrib.hookimpl
    def before_execute(self, call: Any) -> Any:
        vetoed = self.plans[call.id]["end"] == "vetoed"
        return toolcrib.Veto(toolcrib.ToolResult.error("no")) if vetoed else None


def may_have_started(plans: Mapping[str, Any], over: set[str]) -> set[str]:
    """The model: every call that no earlier one without a result stands in the way of."""
    started = set()
    numbers = list(plans)
    for place, number in enumerate(numbers):
        mine = plans[number]
        if mine["end"] in ("vetoed", "unresolved"):
            continue
        open_ones = [n for n in numbers[:place] if n not in over]
        if mine["after_earlier"] and open_ones:
            continue
        if not any(conflict(plans[n]["accesses"], mine["accesses"]) for n in open_ones):
            started.add(number)
    return started


@settings(
    max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(plans=st.lists(call_plans, min_size=1, max_size=8), data=st.data())
def test_exactly_the_right_calls_run_at_every_moment(
    workspace: Any, plans: list[Any], data: st.DataObject
) -> None:
    by_id = {str(n): plan for n, plan in enumerate(plans, 1)}
    calls = [{"id": n, "name": "Planned", "arguments": {"id": n}} for n in by_id]

    async def main() -> None:
        stage = Stage()
        over = {n for n, plan in by_id.items() if plan["end"] in ("vetoed", "unresolved")}
        async with ToolHarness(workspace, plugins=[Planned(by_id, stage)]) as harness:
            session = harness.session
            done: list[str] = []

            async def consume() -> None:
                async for each in session.execute(calls):
                    done.append(each.id)

            task = asyncio.create_task(consume())
            await settled()
            while stage.running:
                assert set(stage.started) == may_have_started(by_id, over)
                ended = data.draw(st.sampled_from(sorted(stage.running)))
                stage.let_end(ended)
                over.add(ended)
                await settled()
            async with asyncio.timeout(HANG_S):
                await task
            assert sorted(done) == sorted(by_id)
            assert len(stage.started) == len(set(stage.started))
            assert_all_over(session)

    asyncio.run(main())
