"""Whatever tools and hooks do, each call gets exactly one result, and its siblings run."""

from __future__ import annotations

import asyncio
import sys
from typing import Any

import pytest

import toolcrib
from toolcrib.contract.context import ToolContext

OK = toolcrib.ToolResult("fine")


class Unspeakable(Exception):
    """Cannot even be shown."""

    def __str__(self) -> str:
        raise RuntimeError("no")

    def __repr__(self) -> str:
        return "Unspeakable()"


class NotAnException(BaseException):
    """What `except Exception` lets through."""


async def fine(context: ToolContext) -> toolcrib.ToolResult:
    return OK


async def a_coroutine() -> str:
    return "late"


def fail(error: BaseException) -> Any:
    raise error


def cancelled_work() -> Any:
    future = asyncio.get_running_loop().create_future()
    future.cancel()
    return future


ERRORS = [
    ValueError("first line\nsecond line"),
    ValueError(),
    SystemExit(3),
    Unspeakable(),
    NotAnException("deep"),
    asyncio.CancelledError(),
    TimeoutError("slow"),
    RecursionError(),
    StopIteration(5),
    StopAsyncIteration(),
    BaseExceptionGroup("several", [SystemExit(1)]),
]
RUBBISH = [None, "text", ["a"], 5, {"output": "x"}, object, toolcrib.Allow()]


@pytest.fixture(params=ERRORS, ids=lambda error: type(error).__name__)
def error(request: pytest.FixtureRequest) -> BaseException:
    return request.param  # type: ignore[no-any-return]


@pytest.mark.parametrize("delay", [None, 0])
async def test_a_body_that_raises(bench: Any, run: Any, error: BaseException, delay: Any) -> None:
    async def body(context: ToolContext) -> Any:
        if delay is not None:
            await asyncio.sleep(delay)
        raise error

    bench.tool("Bad", body)
    bench.tool("Good", fine)
    done = await run(bench.open(), "Bad", "Good")
    assert done["1"].outcome == "executed"
    assert done["1"].result.is_error
    assert done["1"].result.output.startswith("Bad failed")
    assert done["2"].result == OK
    assert bench.kinds("1") == bench.kinds("2") == ["tool.call.started", "tool.result"]


@pytest.mark.parametrize("asynchronous", [False, True])
async def test_a_resolve_that_raises(
    bench: Any, run: Any, error: BaseException, asynchronous: bool
) -> None:
    async def later() -> Any:
        await asyncio.sleep(0)
        raise error

    bench.resolves("Bad", lambda args: later() if asynchronous else fail(error))
    bench.tool("Good", fine)
    done = await run(bench.open(), "Bad", "Good")
    assert done["1"].outcome == "resolution-failed"
    assert "Bad" in done["1"].result.output
    assert done["2"].result == OK
    assert bench.kinds("1") == ["tool.call.started", "tool.result"]


@pytest.mark.parametrize("answer", RUBBISH, ids=repr)
async def test_a_body_that_returns_rubbish(bench: Any, run: Any, answer: Any) -> None:
    async def body(context: ToolContext) -> Any:
        return answer

    bench.tool("Bad", body)
    bench.tool("Good", fine)
    done = await run(bench.open(), "Bad", "Good")
    assert done["1"].outcome == "executed"
    assert done["1"].result.is_error
    assert "Bad" in done["1"].result.output
    assert done["2"].result == OK


@pytest.mark.parametrize(
    "output", [None, 5, b"bytes", ["text"], [None], {"a": 1}, (b"",)], ids=repr
)
async def test_a_result_with_rubbish_in_it(bench: Any, run: Any, output: Any) -> None:
    async def body(context: ToolContext) -> Any:
        return toolcrib.ToolResult(output)

    bench.tool("Bad", body)
    done = await run(bench.open(), "Bad")
    assert done["1"].result.is_error
    assert "Bad" in done["1"].result.output


@pytest.mark.parametrize("spilled", ["text", 5, {"path": "x"}, toolcrib.ToolResult], ids=repr)
async def test_a_result_with_rubbish_for_spilled_output(bench: Any, run: Any, spilled: Any) -> None:
    async def body(context: ToolContext) -> Any:
        return toolcrib.ToolResult("text", spilled=spilled)

    bench.tool("Bad", body)
    bench.tool("Good", fine)
    done = await run(bench.open(), "Bad", "Good")
    assert done["1"].result.is_error
    assert "Bad" in done["1"].result.output
    assert done["2"].result == OK


async def test_an_interrupt_while_calls_are_prepared_ends_the_batch(bench: Any, run: Any) -> None:
    """Python raises it wherever the main thread is, also in the middle of a plugin."""
    bench.tool("Good", fine)
    bench.resolves("Bad", lambda args: fail(KeyboardInterrupt()))
    session = bench.open()
    with pytest.raises(KeyboardInterrupt):
        await run(session, "Good", "Bad", "Good")
    await session.aclose()


async def test_a_body_that_returns_a_coroutine_leaves_no_warning(bench: Any, run: Any) -> None:
    async def body(context: ToolContext) -> Any:
        return a_coroutine()

    bench.tool("Bad", body)
    done = await run(bench.open(), "Bad")
    assert done["1"].result.is_error


@pytest.mark.parametrize("answer", [*RUBBISH, OK, "execute"], ids=repr)
async def test_a_body_that_is_no_coroutine_function(bench: Any, run: Any, answer: Any) -> None:
    bench.tool("Bad", "no function" if answer == "execute" else lambda context: answer)
    bench.tool("Good", fine)
    done = await run(bench.open(), "Bad", "Good")
    assert done["1"].result.is_error
    assert done["2"].result == OK


@pytest.mark.parametrize("answer", RUBBISH, ids=repr)
@pytest.mark.parametrize("asynchronous", [False, True])
async def test_a_resolve_that_returns_rubbish(
    bench: Any, run: Any, answer: Any, asynchronous: bool
) -> None:
    async def later() -> Any:
        return answer

    bench.resolves("Bad", lambda args: later() if asynchronous else answer)
    bench.tool("Good", fine)
    done = await run(bench.open(), "Bad", "Good")
    assert done["1"].outcome == "resolution-failed"
    assert done["2"].result == OK


async def test_a_resolve_that_answers_a_coroutine_too_late(bench: Any, run: Any) -> None:
    async def later() -> Any:
        return a_coroutine()

    bench.resolves("Bad", lambda args: later())
    done = await run(bench.open(), "Bad")
    assert done["1"].outcome == "resolution-failed"


@pytest.mark.parametrize("accesses", ["all", [], 5, [{"kind": "all"}], toolcrib.Accesses], ids=repr)
async def test_an_execution_with_rubbish_accesses(bench: Any, run: Any, accesses: Any) -> None:
    bench.tool("Bad", fine, accesses=accesses)
    bench.tool("Good", fine)
    done = await run(bench.open(), "Bad", "Good")
    assert done["1"].outcome == "resolution-failed"
    assert done["2"].result == OK


async def test_accesses_take_paths_of_any_kind(bench: Any, run: Any, tmp_path: Any) -> None:
    for number, path in enumerate((tmp_path, bytes(tmp_path), str(tmp_path))):
        bench.tool(f"T{number}", fine, accesses=toolcrib.Accesses.write(path))
    done = await run(bench.open(), "T0", "T1", "T2")
    assert [each.result for each in done.values()] == [OK] * 3


def hook_calls(action: Any) -> dict[str, Any]:
    """A plain and an async implementation that do the same."""

    async def slowly(*arguments: Any) -> Any:
        await asyncio.sleep(0)
        return action(*arguments)

    return {"sync": action, "async": slowly}


@pytest.mark.parametrize("form", ["sync", "async"])
@pytest.mark.parametrize("hook", ["before_execute", "check_permission"])
async def test_a_guard_that_raises_denies(
    bench: Any, run: Any, error: BaseException, hook: str, form: str
) -> None:
    action = hook_calls(lambda call: fail(error) if call.name == "Bad" else None)[form]

    def before_execute(call: Any) -> Any:
        return action(call)

    def check_permission(call: Any) -> Any:
        return action(call)

    bench.plugin("guard", **{hook: locals()[hook]})
    bench.tool("Bad", fine)
    bench.tool("Good", fine)
    done = await run(bench.open(), "Bad", "Good", "Bad", "Good")
    for number in "13":
        assert done[number].outcome == "vetoed"
        assert done[number].result.is_error
        assert bench.kinds(number) == ["tool.call.started", "tool.result"]
    assert done["2"].result == done["4"].result == OK
    if hook == "before_execute":
        assert "'guard'" in done["1"].result.output


@pytest.mark.parametrize("form", ["sync", "async"])
async def test_a_will_execute_that_raises_is_reported_and_ignored(
    bench: Any, run: Any, error: BaseException, form: str
) -> None:
    action = hook_calls(lambda call: fail(error))[form]

    def will_execute(call: Any) -> Any:
        return action(call)

    bench.plugin("eager", will_execute=will_execute)
    bench.tool("Good", fine)
    session = bench.open()
    done = await run(session, "Good", "Good")
    assert done["1"].result == done["2"].result == OK
    assert {failure.plugin for failure in session.crib.plugins.failures} == {"eager"}


@pytest.mark.parametrize("form", ["sync", "async"])
@pytest.mark.parametrize("name", ["Good", "Unknown"])
async def test_a_did_execute_that_raises_costs_a_note(
    bench: Any, run: Any, error: BaseException, form: str, name: str
) -> None:
    action = hook_calls(lambda call, outcome: fail(error))[form]

    def did_execute(call: Any, outcome: Any) -> Any:
        return action(call, outcome)

    bench.plugin("clumsy", did_execute=did_execute)
    bench.tool("Good", fine)
    done = await run(bench.open(), name, "Good")
    assert "'clumsy'" in done["1"].result.note
    assert done["2"].result.output == "fine"
    assert bench.kinds("1") == ["tool.call.started", "tool.result"]


@pytest.mark.parametrize("rubbish", [None, "text", 5, toolcrib.ToolResult(5)], ids=repr)  # type: ignore[arg-type]
async def test_a_did_execute_that_leaves_rubbish_costs_a_note(
    bench: Any, run: Any, rubbish: Any
) -> None:
    def did_execute(call: Any, outcome: Any) -> None:
        outcome.result = rubbish

    bench.plugin("clumsy", did_execute=did_execute)
    bench.tool("Good", fine)
    done = await run(bench.open(), "Good")
    assert done["1"].result.output == "fine"
    assert "'clumsy'" in done["1"].result.note


@pytest.mark.parametrize(
    "answer",
    [
        "no",
        5,
        True,
        False,
        OK,
        toolcrib.Veto,
        toolcrib.Veto(5),  # type: ignore[arg-type]
        toolcrib.Veto(None),  # type: ignore[arg-type]
        toolcrib.Proceed("x"),  # type: ignore[arg-type]
        toolcrib.Approve(),
    ],
    ids=repr,
)
@pytest.mark.parametrize("form", ["sync", "async"])
async def test_a_guard_that_answers_rubbish_denies(
    bench: Any, run: Any, answer: Any, form: str
) -> None:
    action = hook_calls(lambda call: answer)[form]

    def before_execute(call: Any) -> Any:
        return action(call)

    bench.plugin("guard", before_execute=before_execute)
    bench.tool("Good", fine)
    done = await run(bench.open(), "Good", "Good")
    for completion in done.values():
        assert completion.outcome == "vetoed"
        assert completion.result.is_error
        assert "'guard'" in completion.result.output


@pytest.mark.parametrize("hook", ["before_execute", "check_permission", "will_execute"])
async def test_a_coroutine_that_answers_a_coroutine_leaves_no_warning(
    bench: Any, run: Any, hook: str
) -> None:
    async def action(call: Any) -> Any:
        return a_coroutine()

    bench.plugin("odd", **{hook: action})
    bench.tool("Good", fine)
    done = await run(bench.open(), "Good")
    assert done["1"].outcome == ("executed" if hook == "will_execute" else "vetoed")


async def nothing(event: Any) -> None:
    """An observer must not be a coroutine function."""


@pytest.mark.parametrize(
    "observe", [lambda event: fail(ValueError()), lambda event: sys.exit(), nothing]
)
async def test_an_observer_that_fails_changes_nothing(bench: Any, run: Any, observe: Any) -> None:
    def failing(event: Any) -> Any:
        return observe(event)

    bench.plugin("watcher", observe=failing)
    bench.tool("Good", fine)
    session = bench.open()
    done = await run(session, "Good", "Good")
    assert done["1"].result == done["2"].result == OK
    assert {failure.plugin for failure in session.crib.plugins.failures} == {"watcher"}


async def test_a_listener_that_raises_changes_nothing(bench: Any, run: Any) -> None:
    bench.tool("Good", fine)
    session = bench.open()
    session.subscribe(lambda event: fail(ValueError("mine")))
    done = await run(session, "Good", "Good")
    assert done["1"].result == done["2"].result == OK


async def test_calls_that_are_none(bench: Any) -> None:
    """Each gets a completion of its own, whatever shape it has."""
    bench.tool("Good", fine)
    calls: list[Any] = [
        None,
        "Good",
        5,
        [],
        {},
        {"name": None},
        {"name": 5, "id": 7},
        {"id": {}, "name": "Good"},
        {"id": "same", "name": "Good"},
        {"id": "same", "name": "Good", "arguments": ""},
        {"id": None, "name": "Good", "arguments": None},
        {"id": "", "name": ""},
    ]
    done = [each async for each in bench.open().execute(calls)]
    assert len(done) == len(calls)
    assert all(isinstance(each.id, str) and isinstance(each.name, str) for each in done)
    assert sum(each.outcome == "executed" for each in done) == 4
    assert sum(each.outcome == "preflight-rejected" for each in done) == 8


async def test_an_empty_batch_yields_nothing(bench: Any) -> None:
    session = bench.open()
    assert [each async for each in session.execute([])] == []
    assert bench.events == []


@pytest.mark.parametrize("text", ["\ud800 lone", "nul \0 byte", "\x1b[31m", "\u2028"], ids=ascii)
async def test_text_of_any_kind_passes(bench: Any, run: Any, text: str) -> None:
    async def body(context: ToolContext) -> Any:
        return toolcrib.ToolResult(text)

    async def much(context: ToolContext) -> Any:
        return toolcrib.ToolResult(text * 50_001)

    bench.tool("Odd", body)
    bench.tool("Much", much)
    done = await run(bench.open(), "Odd", "Much")
    assert done["1"].result.output == text
    assert done["2"].result.truncated


def deep_list() -> list[Any]:
    deep: list[Any] = []
    for _ in range(5_000):
        deep = [deep]
    return deep


def endless_list() -> list[Any]:
    endless: list[Any] = []
    endless += [endless, endless]
    return endless


@pytest.mark.parametrize("make", [deep_list, endless_list])
async def test_arguments_without_end_are_refused_also_where_somebody_looks_on(
    bench: Any, run: Any, make: Any
) -> None:
    """What is told of the call is none of them."""
    bench.tool("Fine", fine)
    session = bench.open()
    told: list[Any] = []
    session.subscribe(told.append)
    calls = [{"id": "1", "name": "Fine", "arguments": {"x": make()}}]
    async with asyncio.timeout(20):
        (done,) = [done async for done in session.execute(calls)]
    assert done.outcome == "preflight-rejected" and done.result.is_error
    assert told[0].arguments is None
