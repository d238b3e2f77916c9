"""Second step: the call resolved, the hooks asked, the start announced."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Generator
from typing import Any

from toolcrib.contract.answers import Allow, Proceed, Veto
from toolcrib.contract.execution import RunnableExecution
from toolcrib.contract.result import ToolResult
from toolcrib.errors import PathSecurityError
from toolcrib.pipeline.flight import Flight, Steps
from toolcrib.pipeline.host import Host
from toolcrib.plugins.hook_calls import Implementation
from toolcrib.plugins.loader import describe


def prepare(flight: Flight, host: Host) -> Steps:
    """Resolve a call and let the hooks judge it; afterwards it is settled or ready to run."""
    yield from resolve(flight, host)
    if flight.outcome is None:
        yield from _adjudicate(flight, host)
    if flight.outcome is None:
        yield from _will_execute(flight, host)


def resolve(flight: Flight, host: Host) -> Steps:
    call, entry = flight.call, flight.entry
    assert entry is not None
    flight.generation = host.generation
    try:
        execution: Any = entry.tool.resolve_execution(call.args)
        if not isinstance(execution, RunnableExecution) and inspect.isawaitable(execution):
            execution = yield execution
    except PathSecurityError as error:
        flight.refuse("resolution-failed", str(error))
    except (Exception, SystemExit) as error:
        flight.refuse("resolution-failed", f"{call.name} could not be resolved: {describe(error)}")
    else:
        if isinstance(execution, RunnableExecution):
            call.execution = execution
            flight.stops_batch = execution.stop_batch_after_this
        elif isinstance(execution, ToolResult):
            flight.settle("synthetic", execution)
        else:
            flight.refuse(
                "resolution-failed",
                f"{call.name} could not be resolved: it returned {type(execution).__name__}, "
                "neither an execution nor a result",
            )


def _adjudicate(flight: Flight, host: Host) -> Steps:
    call = flight.call
    for implementation in host.hooks.for_tool("before_execute", call.name):
        if call.allowed_by is not None and not implementation.always:
            continue
        try:
            answer = yield from ask(implementation, call=call)
        except (Exception, SystemExit) as error:
            _hook_failed(flight, host, implementation, error)
            return
        match answer:
            case None:
                continue
            case Proceed(metadata):
                if flight.metadata is None:
                    flight.metadata = metadata
            case Veto(result):
                flight.settle("vetoed", result)
                flight.stops_batch = flight.stops_batch or result.stop_turn
                return
            case Allow():
                call.allowed_by = implementation.plugin
            case _:
                problem = TypeError(f"it answered {answer!r}, not Veto, Allow, Proceed or None")
                _hook_failed(flight, host, implementation, problem)
                return


def _hook_failed(
    flight: Flight, host: Host, implementation: Implementation, error: BaseException
) -> None:
    """A guard that does not work guards nothing: the call is denied."""
    host.report(implementation.plugin, "before_execute", describe(error))
    flight.refuse(
        "vetoed",
        f"The call was denied because the plugin {implementation.plugin!r} failed while judging "
        f"it ({describe(error)}). Nothing was run; ask the user to fix or block the plugin.",
    )


def _will_execute(flight: Flight, host: Host) -> Steps:
    for implementation in host.hooks.for_tool("will_execute", flight.call.name):
        try:
            yield from ask(implementation, call=flight.call)
        except (Exception, SystemExit) as error:
            host.report(implementation.plugin, "will_execute", describe(error))


def ask(implementation: Implementation, **values: Any) -> Generator[Awaitable[Any], Any, Any]:
    """The answer of one implementation, awaited when it is a coroutine."""
    answer = implementation.function(*[values[name] for name in implementation.arguments])
    if inspect.isawaitable(answer):
        answer = yield answer
    return answer
