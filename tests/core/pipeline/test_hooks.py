"""Who is asked, in which order, and whose answer counts."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

import toolcrib
from toolcrib.contract.context import ToolContext
from toolcrib.runtime import LocalRuntime

OK = toolcrib.ToolResult("fine")
PERMISSIONS = {"permission": {"deny": ["Denied"]}}


async def fine(context: ToolContext) -> toolcrib.ToolResult:
    return OK


def guard(answer: Any, seen: list[str], name: str, **marks: Any) -> Any:
    def before_execute(call: Any) -> Any:
        seen.append(name)
        return answer

    return toolcrib.hookimpl(**marks)(before_execute)


def slow_guard(answer: Any, seen: list[str], name: str, **marks: Any) -> Any:
    async def before_execute(call: Any) -> Any:
        seen.append(f"{name} begins")
        await asyncio.sleep(0)
        seen.append(f"{name} ends")
        return answer

    return toolcrib.hookimpl(**marks)(before_execute)


async def test_implementations_are_asked_one_by_one(bench: Any, run: Any) -> None:
    """The last registered first, `tryfirst` before and `trylast` after all others."""
    seen: list[str] = []
    bench.plugin("a", before_execute=slow_guard(None, seen, "a"))
    bench.plugin("last", before_execute=guard(None, seen, "last", trylast=True))
    bench.plugin("first", before_execute=slow_guard(None, seen, "first", tryfirst=True))
    bench.plugin("b", before_execute=guard(toolcrib.Proceed(), seen, "b"))
    bench.tool("Fine", fine)
    await run(bench.open(), "Fine")
    assert seen == ["first begins", "first ends", "b", "a begins", "a ends", "last"]


@pytest.mark.parametrize("make", [guard, slow_guard])
@pytest.mark.parametrize("answer", [toolcrib.Veto("no"), toolcrib.Allow()], ids=["veto", "allow"])
async def test_those_behind_the_deciding_answer_are_never_called(
    bench: Any, run: Any, make: Any, answer: Any
) -> None:
    seen: list[str] = []
    bench.plugin("late", before_execute=slow_guard(toolcrib.Veto("late"), seen, "late"))
    bench.plugin("early", before_execute=make(answer, seen, "early"))
    bench.tool("Fine", fine)
    done = await run(bench.open(mode="manual"), "Fine")
    assert not any(step.startswith("late") for step in seen)
    allowed = isinstance(answer, toolcrib.Allow)
    assert done["1"].outcome == ("executed" if allowed else "vetoed")
    if not allowed:
        assert done["1"].result == toolcrib.ToolResult("no", is_error=True)


async def test_a_veto_before_an_allow_holds(bench: Any, run: Any) -> None:
    bench.plugin("allows", before_execute=guard(toolcrib.Allow(), [], ""))
    bench.plugin("vetoes", before_execute=guard(toolcrib.Veto("no"), [], "", tryfirst=True))
    bench.tool("Fine", fine)
    assert (await run(bench.open(), "Fine"))["1"].outcome == "vetoed"


@pytest.mark.parametrize("mode", ["manual", "auto", "yolo"])
async def test_a_deny_rule_beats_whatever_plugins_say(bench: Any, run: Any, mode: str) -> None:
    def check_permission(call: Any) -> Any:
        return toolcrib.Approve()

    bench.plugin("allows", before_execute=guard(toolcrib.Allow(), [], "", tryfirst=True))
    bench.plugin("approves", check_permission=check_permission)
    bench.tool("Denied", fine)
    bench.tool("Other", fine)
    done = await run(bench.open(mode=mode, config=PERMISSIONS), "Denied", "Other")
    assert done["1"].outcome == "vetoed"
    assert "Denied" in done["1"].result.output
    assert done["2"].result == OK


async def test_always_means_even_after_an_allow(bench: Any, run: Any) -> None:
    seen: list[Any] = []

    @toolcrib.hookimpl(always=True)
    def before_execute(call: Any) -> Any:
        seen.append(call.allowed_by)
        return toolcrib.Veto("still no") if call.id == "2" else None

    bench.plugin("late", before_execute=before_execute)
    bench.plugin("early", before_execute=guard(toolcrib.Allow(), [], "", tryfirst=True))
    bench.tool("Fine", fine)
    done = await run(bench.open(), "Fine", "Fine")
    assert seen == ["early", "early"]
    assert [done[n].outcome for n in "12"] == ["executed", "vetoed"]


async def test_hooks_of_chosen_tools_hear_of_no_others(bench: Any, run: Any) -> None:
    heard: list[str] = []

    def listening(hook: str) -> Any:
        def implementation(call: Any) -> None:
            heard.append(f"{hook} {call.name}")

        return toolcrib.hookimpl(tools=["Mine"])(implementation)

    hooks = ("before_execute", "will_execute", "did_execute", "check_permission")
    bench.plugin("picky", **{hook: listening(hook) for hook in hooks})
    bench.tool("Mine", fine)
    bench.tool("Other", fine)
    await run(bench.open(), "Other", "Mine", "Unknown")
    assert sorted(heard) == sorted(f"{hook} Mine" for hook in hooks)


async def test_a_hook_may_choose_its_tools_by_the_session(bench: Any, run: Any) -> None:
    """Asked once for each tool; a choice that fails leaves the hook in place."""
    heard: list[str] = []
    asked: list[tuple[str, str]] = []

    def chosen(session: Any, tool: str) -> bool:
        asked.append((session.mode, tool))
        if tool == "Odd":
            raise ValueError("cannot tell")
        return tool == "Mine"

    @toolcrib.hookimpl(tools=chosen)
    def before_execute(call: Any) -> None:
        heard.append(call.name)

    bench.plugin("picky", before_execute=before_execute)
    for name in ("Mine", "Odd", "Other"):
        bench.tool(name, fine)
    session = bench.open()
    for _ in range(2):
        await run(session, "Other", "Mine", "Odd")
    assert heard == ["Mine", "Odd"] * 2
    assert sorted(asked) == [("yolo", name) for name in ("Mine", "Odd", "Other")]
    assert any("cannot tell" in f.reason for f in session.crib.plugins.failures)


async def test_the_first_metadata_reaches_the_body(bench: Any, run: Any) -> None:
    seen: list[Any] = []

    async def body(context: ToolContext) -> toolcrib.ToolResult:
        seen.append(context.metadata)
        return OK

    bench.plugin("late", before_execute=guard(toolcrib.Proceed({"by": "late"}), [], ""))
    bench.plugin("early", before_execute=slow_guard(toolcrib.Proceed({"by": "early"}), [], ""))
    bench.plugin("none", before_execute=guard(toolcrib.Proceed(), [], "", tryfirst=True))
    bench.tool("Fine", body)
    await run(bench.open(), "Fine")
    assert seen == [{"by": "early"}]


async def test_a_veto_may_be_no_error(bench: Any, run: Any) -> None:
    bench.plugin("cache", before_execute=guard(toolcrib.Veto(OK), [], ""))
    bench.tool("Fine", fine)
    done = await run(bench.open(), "Fine")
    assert done["1"].outcome == "vetoed"
    assert done["1"].result == OK


async def test_will_execute_is_for_allowed_calls_and_waited_for(bench: Any, run: Any) -> None:
    order: list[str] = []

    async def will_execute(call: Any) -> None:
        await asyncio.sleep(0.01)
        order.append(f"will {call.name}")

    async def body(context: ToolContext) -> toolcrib.ToolResult:
        order.append("body")
        return OK

    bench.plugin("loader", will_execute=will_execute)
    bench.plugin("guard", before_execute=guard(toolcrib.Veto("no"), [], "", tools=["Vetoed"]))
    bench.tool("Vetoed", body)
    bench.tool("Fine", body)
    await run(bench.open(), "Vetoed", "Unknown", "Fine")
    assert order == ["will Fine", "body"]


async def test_did_execute_sees_every_outcome_and_may_replace_the_result(
    bench: Any, run: Any
) -> None:
    seen: dict[str, str] = {}

    async def did_execute(call: Any, outcome: Any) -> None:
        seen[call.id] = outcome.kind
        outcome.result = toolcrib.ToolResult(f"{outcome.result.output}!")

    def before_execute(call: Any) -> Any:
        return toolcrib.Veto("no") if call.name == "Vetoed" else None

    bench.plugin("editor", did_execute=did_execute, before_execute=before_execute)
    bench.tool("Fine", fine)
    bench.tool("Vetoed", fine)
    bench.resolves("Fails", lambda args: 1 / 0)
    bench.resolves("Synthetic", lambda args: toolcrib.ToolResult("no", stop_turn=True))
    done = await run(bench.open(), "Fine", "Unknown", "Vetoed", "Fails", "Synthetic", "Fine")
    assert seen == {
        "1": "executed",
        "2": "preflight-rejected",
        "3": "vetoed",
        "4": "resolution-failed",
        "5": "synthetic",
        "6": "skipped",
    }
    assert all(each.result.output.endswith("!") for each in done.values())
    assert done["5"].result.stop_turn


async def test_what_did_execute_puts_in_is_shaped_and_budgeted(bench: Any, run: Any) -> None:
    def did_execute(call: Any, outcome: Any) -> None:
        outcome.result = toolcrib.ToolResult("x" * 50_001 if call.id == "1" else "")

    bench.plugin("editor", did_execute=did_execute)
    bench.tool("Fine", fine)
    done = await run(bench.open(), "Fine", "Fine")
    assert done["1"].result.truncated
    assert done["2"].result.output


async def test_a_failing_did_execute_keeps_what_others_did(bench: Any, run: Any) -> None:
    def append(text: str) -> Any:
        def did_execute(call: Any, outcome: Any) -> None:
            outcome.result = toolcrib.ToolResult(outcome.result.output + text)
            if text == "b":
                raise ValueError("broken")

        return did_execute

    for name in "abc":
        bench.plugin(f"adds-{name}", did_execute=append(name))
    bench.tool("Fine", fine)
    done = await run(bench.open(), "Fine")
    assert done["1"].result.output == "fineca"


@pytest.mark.parametrize("where", ["execution", "veto", "synthetic"])
async def test_a_stopped_batch_skips_the_rest_unseen(bench: Any, run: Any, where: str) -> None:
    resolved: list[str] = []
    stopping = toolcrib.ToolResult("enough", stop_turn=True)

    def watched(args: Any) -> Any:
        resolved.append("Fine")
        return toolcrib.RunnableExecution(fine, "Fine", accesses=toolcrib.Accesses.none())

    bench.resolves("Fine", watched)
    if where == "synthetic":
        bench.resolves("Stops", lambda args: stopping)
    else:
        bench.tool("Stops", fine, stop_batch_after_this=where == "execution")
    if where == "veto":
        veto = guard(toolcrib.Veto(stopping), [], "", tools=["Stops"])
        bench.plugin("guard", before_execute=veto)
    done = await run(bench.open(), "Fine", "Stops", "Fine", "Unknown")
    assert resolved == ["Fine"]
    assert done["1"].result == OK
    assert done["3"].outcome == "skipped"
    assert done["3"].result.is_error
    for number in "1234":
        assert bench.kinds(number) == ["tool.call.started", "tool.result"]


async def test_a_call_that_stops_the_turn_while_running_skips_nothing(bench: Any, run: Any) -> None:
    async def body(context: ToolContext) -> toolcrib.ToolResult:
        return toolcrib.ToolResult("enough", stop_turn=True)

    bench.tool("Stops", body)
    bench.tool("Fine", fine)
    done = await run(bench.open(), "Stops", "Fine")
    assert done["1"].result.stop_turn
    assert done["2"].outcome == "executed"


async def test_an_async_resolve_is_waited_for(bench: Any, run: Any) -> None:
    async def later(args: Any) -> Any:
        await asyncio.sleep(0.01)
        return toolcrib.RunnableExecution(fine, "Slow")

    bench.resolves("Slow", later)
    done = await run(bench.open(), "Slow", "Slow")
    assert [each.result for each in done.values()] == [OK, OK]


async def test_the_runtime_may_not_change_between_resolving_and_running(
    bench: Any, run: Any
) -> None:
    session: Any = None
    ran: list[str] = []

    async def switches(context: ToolContext) -> toolcrib.ToolResult:
        await asyncio.sleep(0)
        session.use_runtime(LocalRuntime())
        return OK

    async def body(context: ToolContext) -> toolcrib.ToolResult:
        ran.append(context.call_id)
        return OK

    bench.tool("Switches", switches, accesses=toolcrib.Accesses.all())
    bench.tool("Waits", body, accesses=toolcrib.Accesses.all())
    session = bench.open()
    done = await run(session, "Switches", "Waits")
    assert done["1"].result == OK
    assert done["2"].outcome == "aborted"
    assert ran == []
    assert (await run(session, "Waits"))["1"].result == OK


async def test_a_running_call_survives_the_withdrawal_of_its_tool(bench: Any, run: Any) -> None:
    gate = asyncio.Event()

    async def body(context: ToolContext) -> toolcrib.ToolResult:
        await gate.wait()
        return OK

    bench.tool("Slow", body)
    bench.tool("Gone", body)
    session = bench.open()
    task = asyncio.create_task(run(session, "Slow", "Gone"))
    await asyncio.sleep(0.01)
    session.disable_tools("Slow")
    session.crib.plugins.unregister("offers-Gone")
    assert {tool.name for tool in session.tools()}.isdisjoint({"Slow", "Gone"})
    later = await run(session, "Slow", "Gone")
    assert {each.outcome for each in later.values()} == {"preflight-rejected"}
    gate.set()
    assert [each.result for each in (await task).values()] == [OK, OK]


async def test_a_plugin_may_leave_while_its_hooks_run(bench: Any, run: Any) -> None:
    session: Any = None

    async def before_execute(call: Any) -> Any:
        if session.crib.plugins.manager.has_plugin("passing"):
            session.crib.plugins.unregister("passing")
        await asyncio.sleep(0)

    bench.plugin("passing", before_execute=before_execute)
    bench.tool("Fine", fine)
    session = bench.open()
    done = await run(session, "Fine", "Fine")
    assert [each.result for each in done.values()] == [OK, OK]


async def test_events_leave_notes_out_and_come_in_order(bench: Any, run: Any) -> None:
    async def body(context: ToolContext) -> toolcrib.ToolResult:
        context.update("half", percent=50)
        return toolcrib.ToolResult("fine", note="for the model alone")

    bench.tool("Noted", body)
    done = await run(bench.open(), "Noted")
    assert done["1"].result.note == "for the model alone"
    assert bench.kinds("1") == ["tool.call.started", "tool.progress", "tool.result"]
    assert not any("for the model alone" in repr(event) for event in bench.events)


async def test_results_are_brought_into_shape(bench: Any, run: Any) -> None:
    image = toolcrib.MediaPart("image", "image/png", b"x")
    results = {
        "Empty": toolcrib.ToolResult("", is_error=True),
        "Nothing": toolcrib.ToolResult(()),
        "Texts": toolcrib.ToolResult((toolcrib.TextPart("a"), toolcrib.TextPart("b"))),
        "Image": toolcrib.ToolResult((image,)),
        "Both": toolcrib.ToolResult((image, toolcrib.TextPart("see"))),
        "Noted": toolcrib.ToolResult("a", note=""),
    }

    def returning(result: Any) -> Any:
        async def body(context: ToolContext) -> toolcrib.ToolResult:
            return result  # type: ignore[no-any-return]

        return body

    for name, result in results.items():
        bench.tool(name, returning(result))
    done = await run(bench.open(), *results)
    empty, nothing, texts, picture, both, noted = (each.result for each in done.values())
    assert empty.output and empty.is_error
    assert nothing.output == empty.output and not nothing.is_error
    assert texts.output == "ab"
    assert isinstance(picture.output[0], toolcrib.TextPart) and picture.output[1:] == (image,)
    assert both.output == results["Both"].output
    assert noted.note is None
