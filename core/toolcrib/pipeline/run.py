"""Third and fourth step: the body run, its result finished for the model."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from time import perf_counter
from typing import Any

import attrs

from toolcrib.contract.call import Outcome
from toolcrib.contract.context import ToolContext, Update
from toolcrib.contract.events import ToolProgress, ToolResultReady
from toolcrib.contract.output import MAX_CHARS
from toolcrib.contract.result import MediaPart, SpilledOutput, TextPart, ToolResult
from toolcrib.errors import RuntimeUnavailable
from toolcrib.pipeline import texts
from toolcrib.pipeline.flight import Flight, Steps
from toolcrib.pipeline.host import Host
from toolcrib.plugins.hook_calls import Implementation, discard
from toolcrib.plugins.loader import describe
from toolcrib.truncation import fit_budget


async def run_body(flight: Flight, host: Host) -> None:
    """Run the body of a prepared call; every way it can end becomes its result.

    A body that was cancelled and has nothing to say leaves the call without one.
    """
    call = flight.call
    execution = call.execution
    assert execution is not None
    generation = host.generation
    if flight.generation is not generation:
        flight.refuse("aborted", texts.RUNTIME_CHANGED)
        return
    if not generation.open and flight.entry is not None and flight.entry.requires:
        flight.refuse("aborted", texts.RUNTIME_AWAY)
        return
    if call.approved is not None and (problem := call.approved.difference(call)):
        flight.refuse("vetoed", problem)
        return
    send = _sender(flight, host) if host.observed else None
    context = flight.context = ToolContext(
        call.turn_id,
        call.id,
        call.name,
        flight.metadata,
        False,
        send,
        call.withheld,
        host.outputs,
        call.agent,
    )
    generation.leases += 1
    flight.started_at = perf_counter()
    try:
        result = await execution.execute(context)
    except asyncio.CancelledError:
        task = asyncio.current_task()
        if context.cancelled or (task is not None and task.cancelling()):
            return
        result = ToolResult.error(f"{call.name} failed: work that it waited for was cancelled.")
    except (KeyboardInterrupt, GeneratorExit):
        raise
    except BaseException as error:
        known = isinstance(error, RuntimeUnavailable)
        result = ToolResult.error(f"{call.name} failed: {error if known else describe(error)}")
    finally:
        flight.ended_at = perf_counter()
        generation.release()
        if host.session.awaiting:
            _tell_awaiting(flight, host)
    flight.settle("executed", result)


def _tell_awaiting(flight: Flight, host: Host) -> None:
    """What this call has just written is no surprise to calls that wait for their approval."""
    accesses = flight.call.execution.accesses if flight.call.execution else None
    for path in accesses.written_paths() if accesses else ():
        for approved in host.session.awaiting:
            approved.expect(path)


def _sender(flight: Flight, host: Host) -> Callable[[Update], None]:
    call = flight.call

    def send(update: Update) -> None:
        host.emit(
            ToolProgress(agent=host.name, turn_id=call.turn_id, call_id=call.id, update=update)
        )

    return send


def finalize(flight: Flight, host: Host) -> Steps | None:
    """Let the hooks see the outcome, put the result into shape, fit it into the budget.

    Done on return when no hook wants to see it; otherwise what is returned has to be done.
    """
    implementations = host.hooks.for_tool("did_execute", flight.call.name)
    if implementations:
        return _show_hooks(flight, host, implementations)
    shape(flight, host)
    return None


def _show_hooks(flight: Flight, host: Host, implementations: tuple[Implementation, ...]) -> Steps:
    call = flight.call
    assert flight.outcome is not None
    outcome = Outcome(flight.outcome, checked(flight.result, call.name))
    original = outcome.result
    for implementation in implementations:
        before = outcome.result
        try:
            answer = implementation.function(call, outcome)
            if answer is not None and inspect.isawaitable(answer):
                discard((yield answer))
            if checked(outcome.result, call.name) is not outcome.result:
                raise TypeError(f"it set the result to {outcome.result!r}")
        except (KeyboardInterrupt, GeneratorExit):
            raise
        except BaseException as error:
            if flight.completed:  # given up while the hook was waiting
                return
            host.report(implementation.plugin, "did_execute", describe(error))
            outcome.result = _with_warning(before, implementation.plugin, describe(error))
        if before.stop_turn and not outcome.result.stop_turn:
            outcome.result = attrs.evolve(outcome.result, stop_turn=True)
    if not flight.completed:
        flight.result = _without_stale_data(outcome.result, original)
        shape(flight, host)


def shape(flight: Flight, host: Host) -> None:
    """Bring the result into its last form and announce it."""
    call = flight.call
    result = normalised(checked(flight.result, call.name))
    if flight.note is not None:
        note = f"{result.note}\n{flight.note}" if result.note else flight.note
        result = attrs.evolve(result, note=note)
    output = result.output
    if result.spilled is not None or len(output) > MAX_CHARS or not isinstance(output, str):
        result = fit_budget(result, tool_name=call.name, call_id=call.id, store=host.outputs)
    flight.result = result
    if host.observed:
        _announce_result(flight, host, result)


def _without_stale_data(result: ToolResult, original: ToolResult) -> ToolResult:
    """A hook that takes something out of the output must not leave it in the data."""
    stale = result.output != original.output and result.structured is original.structured
    return attrs.evolve(result, structured=None) if stale and result.structured else result


def _with_warning(result: ToolResult, plugin: str, problem: str) -> ToolResult:
    warning = f"The plugin {plugin!r} failed after this call ({problem}); the output is unchanged."
    return attrs.evolve(result, note=f"{result.note}\n{warning}" if result.note else warning)


def _announce_result(flight: Flight, host: Host, result: ToolResult) -> None:
    assert flight.outcome is not None
    host.emit(
        ToolResultReady(
            agent=host.name,
            turn_id=flight.call.turn_id,
            call_id=flight.call.id,
            name=flight.call.name,
            outcome=flight.outcome,
            output=result.output,
            is_error=result.is_error,
            duration_ms=duration_ms(flight),
            queue_ms=queue_ms(flight),
        )
    )


def checked(result: Any, name: str) -> ToolResult:
    """The result, or an error that names the tool when it is none."""
    if isinstance(result, ToolResult):
        output, spilled = result.output, result.spilled
        if spilled is not None and not isinstance(spilled, SpilledOutput):
            return ToolResult.error(
                f"{name} gave spilled output of type {type(spilled).__name__}; a SpilledOutput is "
                "needed."
            )
        if isinstance(output, str):
            return result
        if isinstance(output, list | tuple) and all(
            isinstance(part, TextPart | MediaPart) for part in output
        ):
            return result
        return ToolResult.error(
            f"{name} gave output of type {type(output).__name__}; text or content parts are needed."
        )
    discard(result)
    return ToolResult.error(
        f"{name} returned {type(result).__name__} instead of a ToolResult; its work may be done."
    )


def normalised(result: ToolResult) -> ToolResult:
    """The same result without the odd shapes: no empty text, no list of text alone."""
    output = result.output
    if isinstance(output, str):
        if (output or result.spilled is not None) and result.note != "":
            return result
        return attrs.evolve(result, output=output or texts.NO_OUTPUT, note=result.note or None)
    parts = tuple(output)
    if not any(isinstance(part, MediaPart) for part in parts):
        text = "".join(part.text for part in parts if isinstance(part, TextPart))
        return attrs.evolve(result, output=text or texts.NO_OUTPUT, note=result.note or None)
    if not any(isinstance(part, TextPart) and part.text for part in parts):
        parts = (TextPart(texts.MEDIA_ONLY), *(p for p in parts if isinstance(p, MediaPart)))
    return attrs.evolve(result, output=parts, note=result.note or None)


def duration_ms(flight: Flight) -> float:
    return (flight.ended_at - flight.started_at) * 1000 if flight.ended_at else 0.0


def queue_ms(flight: Flight) -> float:
    return (flight.started_at - flight.prepared_at) * 1000 if flight.started_at else 0.0
