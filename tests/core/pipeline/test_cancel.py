"""Cancelling at any moment: one result for each call, in bounded time, nothing left behind."""

from __future__ import annotations

import asyncio
from contextlib import aclosing, asynccontextmanager
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import toolcrib
from toolcrib.contract.context import ToolContext
from toolcrib.pipeline import executor

OK = toolcrib.ToolResult("fine")


@pytest.fixture
def short_grace(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(executor, "GRACE_S", 0.02)


async def fine(context: ToolContext) -> toolcrib.ToolResult:
    return OK


async def forever(context: ToolContext) -> toolcrib.ToolResult:
    await asyncio.Event().wait()
    return OK


async def stubborn(context: ToolContext) -> toolcrib.ToolResult:
    """Swallows every cancellation for a while."""
    for _ in range(20):
        try:
            await asyncio.sleep(0.05)
        except asyncio.CancelledError:
            pass
    return toolcrib.ToolResult("too late")


async def polite(context: ToolContext) -> toolcrib.ToolResult:
    try:
        await asyncio.Event().wait()
    except asyncio.CancelledError:
        assert context.cancelled
    return toolcrib.ToolResult("half of it")


def batch(*names: str) -> list[dict[str, Any]]:
    return [{"id": str(n), "name": name, "arguments": {}} for n, name in enumerate(names, 1)]


async def collect(session: Any, *names: str) -> dict[str, Any]:
    done: dict[str, Any] = {}
    async for each in session.execute(batch(*names)):
        assert each.id not in done
        done[each.id] = each
    return done


async def cancel_soon(session: Any, *names: str, by_user: bool = False) -> dict[str, Any]:
    task = asyncio.create_task(collect(session, *names))
    await asyncio.sleep(0.01)
    session.cancel(by_user=by_user)
    return await task


def assert_all_over(session: Any) -> None:
    assert session.scheduler.idle
    assert session.main.executor._batches == []


@pytest.mark.parametrize("by_user", [False, True])
async def test_running_and_waiting_calls_are_aborted(bench: Any, by_user: bool) -> None:
    bench.tool("Forever", forever, accesses=toolcrib.Accesses.all())
    bench.tool("Polite", polite)
    bench.tool("Fine", fine)
    session = bench.open()
    done = await cancel_soon(session, "Forever", "Forever", "Fine", "Polite", by_user=by_user)
    assert [done[n].outcome for n in "1234"] == ["aborted", "aborted", "executed", "executed"]
    assert done["4"].result.output == "half of it"
    assert ("user" in done["1"].result.output) is by_user
    assert ("user" in done["2"].result.output) is by_user
    assert (done["4"].result.note is not None) is by_user
    for number in "1234":
        assert bench.kinds(number) == ["tool.call.started", "tool.result"]
    assert_all_over(session)


async def test_a_call_that_never_began_says_so(bench: Any) -> None:
    bench.tool("Forever", forever, accesses=toolcrib.Accesses.all())
    done = await cancel_soon(bench.open(), "Forever", "Forever")
    assert done["1"].result.output != done["2"].result.output


async def test_a_body_that_ignores_it_is_given_up(bench: Any, short_grace: None) -> None:
    """Its late result is dropped, and its place is free for others at once."""
    bench.tool("Stubborn", stubborn)
    bench.tool("Fine", fine)
    session = bench.open()
    done = await cancel_soon(session, *["Stubborn"] * 20)
    assert {each.outcome for each in done.values()} == {"aborted"}
    assert (await collect(session, "Fine"))["1"].result == OK
    events = len(bench.events)
    await asyncio.sleep(1.2)
    assert len(bench.events) == events
    assert_all_over(session)
    assert session.main.executor._places.taken == 0


@pytest.mark.parametrize("hook", ["before_execute", "will_execute", "did_execute", "resolve"])
@pytest.mark.parametrize("kind", ["hangs", "stubborn"])
async def test_a_hook_that_does_not_end_ends_with_the_cancellation(
    bench: Any, short_grace: None, hook: str, kind: str
) -> None:
    async def wait(*arguments: Any) -> Any:
        body = forever if kind == "hangs" else stubborn
        await body(None)  # type: ignore[arg-type]
        return toolcrib.RunnableExecution(fine, "x") if hook == "resolve" else None

    def before_execute(call: Any) -> Any:
        return wait()

    def did_execute(call: Any, outcome: Any) -> Any:
        return wait()

    will_execute = before_execute
    if hook == "resolve":
        bench.resolves("Slow", lambda args: wait())
    else:
        bench.plugin("slow", **{hook: locals()[hook]})
        bench.tool("Slow", fine)
    session = bench.open()
    done = await cancel_soon(session, "Slow", "Unknown", "Slow")
    assert len(done) == 3
    assert done["1"].outcome == ("executed" if hook == "did_execute" else "aborted")
    assert done["2"].outcome in ("preflight-rejected", "aborted")
    for number in "123":
        assert bench.kinds(number) == ["tool.call.started", "tool.result"]
    await asyncio.sleep(1.2 if kind == "stubborn" else 0)
    for number in "123":
        assert bench.kinds(number) == ["tool.call.started", "tool.result"]
    assert_all_over(session)


async def test_a_cancelled_consumer_cancels_its_calls(bench: Any) -> None:
    seen = []

    async def body(context: ToolContext) -> Any:
        try:
            return await forever(context)
        finally:
            seen.append(context.call_id)

    bench.tool("Forever", body)
    session = bench.open()
    task = asyncio.create_task(collect(session, "Forever", "Forever"))
    await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert seen == ["1", "2"]
    assert_all_over(session)


async def test_a_consumer_that_stops_early_lets_running_calls_finish(bench: Any) -> None:
    finished = []

    async def slow(context: ToolContext) -> Any:
        await asyncio.sleep(0.03)
        finished.append(context.call_id)
        return OK

    bench.tool("Fine", fine)
    bench.tool("Slow", slow)
    session = bench.open()
    async with aclosing(session.execute(batch("Fine", "Slow", "Slow"))) as results:
        async for each in results:
            assert each.id == "1"
            break
    assert sorted(finished) == ["2", "3"]
    for number in "123":
        assert bench.kinds(number) == ["tool.call.started", "tool.result"]
    assert_all_over(session)


async def test_a_consumer_that_stops_early_leaves_the_unprepared_unrun(bench: Any) -> None:
    async def before_execute(call: Any) -> None:
        await asyncio.sleep(0.02 if call.id == "2" else 0)

    ran = []

    async def body(context: ToolContext) -> Any:
        ran.append(context.call_id)
        return OK

    bench.plugin("slow", before_execute=before_execute)
    bench.tool("Fine", body)
    session = bench.open()
    async with aclosing(session.execute(batch("Fine", "Fine", "Fine"))) as results:
        async for _ in results:
            break
    assert ran == ["1"]
    for number in "123":
        assert bench.kinds(number) == ["tool.call.started", "tool.result"]
    assert_all_over(session)


async def test_closing_the_session_ends_what_runs(bench: Any, short_grace: None) -> None:
    bench.tool("Forever", forever)
    bench.tool("Stubborn", stubborn)
    session = bench.open()
    task = asyncio.create_task(collect(session, "Forever", "Stubborn"))
    await asyncio.sleep(0.01)
    await session.aclose()
    assert {each.outcome for each in (await task).values()} == {"aborted"}
    assert_all_over(session)


async def test_closing_twice_does_no_harm(bench: Any) -> None:
    session = bench.open()
    await session.aclose()
    await session.aclose()


async def test_a_body_may_cancel_its_own_session(bench: Any) -> None:
    """A tool that stops everything, itself included, at once or after a while."""
    session: Any = None

    async def at_once(context: ToolContext) -> Any:
        session.cancel()
        await asyncio.sleep(0)
        return OK

    async def later(context: ToolContext) -> Any:
        await asyncio.sleep(0)
        session.cancel()
        return OK

    bench.tool("AtOnce", at_once)
    bench.tool("Later", later)
    bench.tool("Forever", forever)
    session = bench.open()
    for names in (("Forever", "AtOnce", "Forever"), ("Forever", "Later", "Forever")):
        bench.events.clear()
        done = await collect(session, *names)
        assert done["1"].outcome == done["3"].outcome == "aborted"
        for number in "123":
            assert bench.kinds(number) == ["tool.call.started", "tool.result"]
    assert_all_over(session)


async def test_a_hook_may_cancel_the_session(bench: Any) -> None:
    """As a person does who is asked for an approval."""
    session: Any = None

    def before_execute(call: Any) -> None:
        if call.id == "2":
            session.cancel(by_user=True)

    bench.plugin("person", before_execute=before_execute)
    bench.tool("Forever", forever)
    session = bench.open()
    done = await collect(session, "Forever", "Forever", "Forever")
    assert {each.outcome for each in done.values()} == {"aborted"}
    assert "user" in done["2"].result.output
    for number in "123":
        assert bench.kinds(number) == ["tool.call.started", "tool.result"]
    assert_all_over(session)


async def test_calls_after_a_cancellation_run(bench: Any) -> None:
    bench.tool("Forever", forever)
    bench.tool("Fine", fine)
    session = bench.open()
    await cancel_soon(session, "Forever")
    assert (await collect(session, "Fine"))["1"].result == OK


@pytest.mark.parametrize("body", [forever, stubborn])
async def test_a_call_beyond_its_time_limit_is_ended(
    bench: Any, short_grace: None, body: Any
) -> None:
    bench.tool("Slow", body)
    bench.tool("Fine", fine)
    session = bench.open(config={"tools": {"timeouts": {"Slow": 0.02, "Fine": 5}}})
    done = await collect(session, "Slow", "Fine")
    assert done["1"].outcome == "executed"
    assert done["1"].result.is_error
    assert "timed out after 0.02 s" in done["1"].result.output
    assert done["2"].result == OK
    assert_all_over(session)


async def test_a_body_may_answer_within_the_grace_of_its_time_limit(bench: Any) -> None:
    bench.tool("Slow", polite)
    done = await collect(bench.open(config={"tools": {"timeouts": {"Slow": 0.02}}}), "Slow")
    assert done["1"].result.output == "half of it"


async def test_a_time_out_of_the_bodys_own_is_a_failure_like_others(bench: Any) -> None:
    async def body(context: ToolContext) -> Any:
        async with asyncio.timeout(0.01):
            await forever(context)

    bench.tool("Slow", body)
    done = await collect(bench.open(config={"tools": {"timeouts": {"Slow": 5}}}), "Slow")
    assert done["1"].result.is_error
    assert "5 s" not in done["1"].result.output


async def test_updates_of_a_cancelled_call_are_dropped(bench: Any) -> None:
    async def body(context: ToolContext) -> Any:
        context.update("before")
        try:
            await asyncio.Event().wait()
        finally:
            context.update("after")

    bench.tool("Chatty", body)
    await cancel_soon(bench.open(), "Chatty")
    assert bench.kinds("1") == ["tool.call.started", "tool.progress", "tool.result"]


moments = st.lists(st.integers(0, 4), max_size=3)
call_scripts = st.fixed_dictionaries(
    {
        "resolve": st.one_of(st.none(), moments),
        "before": st.one_of(st.none(), moments),
        "body": moments,
        "did": st.one_of(st.none(), moments),
        "swallows": st.booleans(),
        "after_earlier": st.booleans(),
        "accesses": st.sampled_from(
            [
                None,
                toolcrib.Accesses.none(),
                toolcrib.Accesses.write("/x"),
                toolcrib.Accesses.read("/x"),
            ]
        ),
    }
)


async def pauses(ticks: list[int], swallows: bool = False) -> None:
    """Wait for some turns of the event loop, at several places."""
    for ticks_here in ticks:
        try:
            for _ in range(ticks_here):
                await asyncio.sleep(0)
        except asyncio.CancelledError:
            if not swallows:
                raise


class Script:
    """One plugin whose only tool and hooks wait as the script of each call says."""

    def __init__(self) -> None:
        self.scripts: dict[str, Any] = {}
        self.running: list[str] = []

    @toolcrib.hookimpl
    def contribute_tool(self) -> toolcrib.ToolContribution:
        script = self

        class Scripted(toolcrib.Tool[Any]):
            name = "Scripted"
            description = "Waits."
            Input = {"type": "object"}  # noqa: RUF012

            def resolve_execution(self, args: Any) -> Any:
                mine = script.scripts[args["id"]]
                execution = toolcrib.RunnableExecution(
                    lambda context: script.body(args["id"]),
                    "Scripted",
                    accesses=mine["accesses"],
                    after_earlier=mine["after_earlier"],
                )
                if mine["resolve"] is None:
                    return execution
                return script.answer(mine["resolve"], mine["swallows"], execution)

        return toolcrib.ToolContribution(name="Scripted", factory=Scripted)

    async def answer(self, ticks: list[int], swallows: bool, answer: Any = None) -> Any:
        await pauses(ticks, swallows)
        return answer

    async def body(self, call_id: str) -> toolcrib.ToolResult:
        assert call_id not in self.running
        self.running.append(call_id)
        mine = self.scripts[call_id]
        await pauses(mine["body"], mine["swallows"])
        return OK

    @toolcrib.hookimpl
    def before_execute(self, call: Any) -> Any:
        mine = self.scripts[call.id]
        return None if mine["before"] is None else self.answer(mine["before"], mine["swallows"])

    @toolcrib.hookimpl
    def did_execute(self, call: Any, outcome: Any) -> Any:
        mine = self.scripts[call.id]
        return None if mine["did"] is None else self.answer(mine["did"], mine["swallows"])


@asynccontextmanager
async def opened(root: Any, plugin: object) -> Any:
    from toolcrib.testing import ToolHarness

    async with ToolHarness(root, plugins=[plugin]) as harness:
        yield harness.session


@settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    scripts=st.lists(call_scripts, min_size=1, max_size=4),
    moment=st.integers(0, 25),
    how=st.sampled_from(["session", "user", "consumer", "twice", "close", "stop", "not"]),
)
def test_at_every_moment_each_call_gets_exactly_one_result(
    workspace: Any, scripts: list[Any], moment: int, how: str
) -> None:
    plugin = Script()
    plugin.scripts = {str(n): script for n, script in enumerate(scripts, 1)}
    calls = [{"id": n, "name": "Scripted", "arguments": {"id": n}} for n in plugin.scripts]

    async def main() -> None:
        events: list[Any] = []
        done: list[str] = []
        async with opened(workspace, plugin) as session:
            session.subscribe(events.append)

            async def consume() -> None:
                async with aclosing(session.execute(calls)) as results:
                    async for each in results:
                        done.append(each.id)
                        if how == "stop" and len(done) * 5 > moment:
                            return

            task = asyncio.create_task(consume())
            for _ in range(moment):
                await asyncio.sleep(0)
            match how:
                case "session" | "user":
                    session.cancel(by_user=how == "user")
                case "consumer":
                    task.cancel()
                case "twice":
                    task.cancel()
                    await asyncio.sleep(0)
                    task.cancel()
                case "close":
                    await session.aclose()
            await asyncio.gather(task, return_exceptions=True)
            if how in ("session", "user", "close", "not"):
                assert sorted(done) == sorted(plugin.scripts)
            if events or done:
                for kind in ("tool.call.started", "tool.result"):
                    assert sorted(e.call_id for e in events if e.type == kind) == sorted(
                        plugin.scripts
                    )
            for number in plugin.scripts:
                mine = [e.type for e in events if e.call_id == number]
                mine = [kind for kind in mine if not kind.startswith("permission.")]
                assert mine in ([], ["tool.call.started", "tool.result"])
            assert session.main.executor._places.taken == 0
            assert_all_over(session)

    asyncio.run(main())
