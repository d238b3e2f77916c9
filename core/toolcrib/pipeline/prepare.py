"""Second step: the call resolved, the hooks asked, the start announced."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

from toolcrib.accesses import Accesses
from toolcrib.contract.answers import Allow, Proceed, Veto
from toolcrib.contract.execution import RunnableExecution
from toolcrib.contract.result import ToolResult
from toolcrib.errors import PathSecurityError
from toolcrib.pipeline import texts
from toolcrib.pipeline.flight import Flight, Steps
from toolcrib.pipeline.host import Host
from toolcrib.pipeline.preflight import preflight
from toolcrib.plugins.hook_calls import Implementation, discard
from toolcrib.plugins.loader import describe


def prepare(flight: Flight, host: Host) -> Steps:
    """Resolve a call and let the hooks judge it; afterwards it is settled or ready to run."""
    yield from resolve(flight, host)
    call = flight.call
    for implementation in host.hooks.for_tool("before_execute", call.name):
        if flight.outcome is not None:
            return
        if call.allowed_by is not None and not implementation.always:
            continue
        try:
            answer = implementation.function(call)
            if answer is not None and inspect.isawaitable(answer):
                answer = yield answer
        except (KeyboardInterrupt, GeneratorExit):
            raise
        except BaseException as error:
            if flight.outcome is None:  # otherwise the call was aborted meanwhile
                _hook_failed(flight, host, implementation, error)
            return
        if answer is not None:
            _take_answer(flight, host, implementation, answer)
    if flight.outcome is not None:
        return
    judged = call.execution
    for implementation in host.hooks.for_tool("will_execute", call.name):
        try:
            answer = implementation.function(call)
            if answer is not None and inspect.isawaitable(answer):
                discard((yield answer))
        except (KeyboardInterrupt, GeneratorExit):
            raise
        except BaseException as error:
            if flight.outcome is not None:
                return
            host.report(implementation.plugin, "will_execute", describe(error))
    if call.execution is not judged:
        flight.refuse("vetoed", texts.EXECUTION_REPLACED)


def resolve(flight: Flight, host: Host) -> Steps:
    """Resolve a call; afterwards it has an execution or is settled."""
    if flight.awaits_tool and flight.outcome is None:
        yield host.table.arrived(flight.call.name)
        preflight(flight, host)
    call, entry = flight.call, flight.entry
    if entry is None or flight.outcome is not None:
        return
    flight.generation = host.generation
    try:
        execution: Any = entry.tool.resolve_execution(call.args)
        if not isinstance(execution, RunnableExecution) and inspect.isawaitable(execution):
            execution = yield execution
        _take_execution(flight, execution)
    except (KeyboardInterrupt, GeneratorExit):
        raise
    except BaseException as error:
        _resolution_failed(flight, error)


def _take_execution(flight: Flight, execution: Any) -> None:
    if isinstance(execution, RunnableExecution):
        accesses = execution.accesses
        if accesses is not None and not isinstance(accesses, Accesses):
            raise TypeError(f"its accesses are {accesses!r}, not toolcrib.Accesses")
        flight.call.execution = execution
        flight.stops_batch = execution.stop_batch_after_this
    elif isinstance(execution, ToolResult):
        flight.settle("synthetic", execution)
    else:
        discard(execution)
        kind = type(execution).__name__
        raise TypeError(f"it returned {kind}, neither an execution nor a result")


def _resolution_failed(flight: Flight, error: BaseException) -> None:
    if isinstance(error, PathSecurityError):
        flight.refuse("resolution-failed", str(error))
    else:
        name = flight.call.name
        flight.refuse("resolution-failed", f"{name} could not be resolved: {describe(error)}")


def _take_answer(flight: Flight, host: Host, implementation: Implementation, answer: Any) -> None:
    match answer:
        case Proceed(None):
            pass
        case Proceed(metadata) if isinstance(metadata, Mapping):
            if flight.metadata is None:
                flight.metadata = metadata
        case Veto(result) if isinstance(result, ToolResult):
            flight.settle("vetoed", result)
            flight.stops_batch = flight.stops_batch or result.stop_turn
        case Allow():
            flight.call.allowed_by = implementation.plugin
        case _:
            discard(answer)
            problem = TypeError(f"it answered {answer!r}, not Veto, Allow, Proceed or None")
            _hook_failed(flight, host, implementation, problem)


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
