"""Runs batches of calls: each call gets exactly one result, whatever happens."""

from __future__ import annotations

import asyncio
import sys
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Coroutine, Iterable, Mapping
from contextvars import ContextVar, copy_context
from time import perf_counter
from typing import Any

import attrs

from toolcrib.arguments import is_nested_too_deeply
from toolcrib.contract.call import ToolCall
from toolcrib.contract.context import ToolContext
from toolcrib.contract.display import without_secrets
from toolcrib.contract.events import ToolCallStarted
from toolcrib.contract.result import ToolResult
from toolcrib.pipeline import texts
from toolcrib.pipeline.flight import Completion, Flight, Steps, drive
from toolcrib.pipeline.host import Host
from toolcrib.pipeline.identity import PathIdentity
from toolcrib.pipeline.preflight import preflight
from toolcrib.pipeline.prepare import prepare
from toolcrib.pipeline.run import duration_ms, finalize, queue_ms, run_body, shape
from toolcrib.plugins.hook_calls import discard
from toolcrib.redaction import redacted
from toolcrib.runtimes import Generation

MAX_CONCURRENT = 16
"""Bodies of one agent that run at the same time."""
GRACE_S = 2.0
"""Seconds that a cancelled body has to return a result of its own."""

_inside: ContextVar[object] = ContextVar("toolcrib_inside", default=None)
"""The mark of the executor in whose body the code runs; a mark, since contexts live long."""
_TASK_OPTIONS: dict[str, Any] = {"eager_start": True} if sys.version_info >= (3, 12) else {}


class Executor:
    """The pipeline of one agent."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._mark = object()
        self._batches: list[_Batch] = []
        self._places = _Places()

    async def execute(
        self, calls: Iterable[Mapping[str, Any]], turn_id: str | None = None
    ) -> AsyncIterator[Completion]:
        """Run a batch and yield each completion as it finishes.

        A consumer that stops early lets the calls that run finish; one that is cancelled cancels
        them.
        """
        flights = [_flight(call, n, turn_id, self._host) for n, call in enumerate(calls, 1)]
        # The calls of a body do not wait for the place that the body itself takes.
        places = _Places() if _inside.get() is self._mark else self._places
        batch = _Batch(places, self._host, flights, self._mark)
        self._batches.append(batch)
        try:
            batch.begin()
            while True:
                while batch.finished:
                    yield batch.finished.popleft()
                if batch.open == 0:
                    return
                await batch.news()
        except (asyncio.CancelledError, KeyboardInterrupt):
            batch.cancel(by_user=False)
            raise
        finally:
            try:
                if batch.open:
                    batch.abandon_unprepared()
                    await batch.settle()
            finally:
                self._batches.remove(batch)

    def cancel(self, *, by_user: bool = False) -> None:
        """Cancel every call that has no result yet; their iterators yield aborted results."""
        for batch in list(self._batches):
            batch.cancel(by_user=by_user)

    def lose(self, generation: Generation) -> None:
        """A runtime is out of reach: end the calls that act in it, their outcome unknown."""
        for batch in list(self._batches):
            batch.lose(generation)

    async def aclose(self) -> None:
        """Cancel everything and wait until each call has its result."""
        self.cancel()
        for batch in list(self._batches):
            await batch.settle()


class _Places:
    """Lets bodies run, in the order in which they came, so many at a time."""

    def __init__(self) -> None:
        self.taken = 0
        self._ready: deque[tuple[_Batch, Flight]] = deque()
        self._starting = False

    def start(self, batch: _Batch, flight: Flight) -> None:
        """Start a body that no earlier call stands in the way of, as soon as there is a place."""
        self._ready.append((batch, flight))
        self._start_ready()

    def leave(self) -> None:
        """A body has ended: the next one may start."""
        self.taken -= 1
        self._start_ready()

    def _start_ready(self) -> None:
        if self._starting:  # a body that ends at once must not start the next from inside itself
            return
        self._starting = True
        try:
            while self._ready and self.taken < MAX_CONCURRENT:
                batch, flight = self._ready.popleft()
                if flight.outcome is None:
                    self.taken += 1
                    batch.run(flight)
        finally:
            self._starting = False


def _flight(call: object, number: int, turn_id: str | None, host: Host) -> Flight:
    if isinstance(call, Mapping):
        identifier, name = call.get("id"), call.get("name")
        raw = call.get("arguments")
    else:
        identifier, name, raw = None, None, None
    tool_call = ToolCall(
        id=f"call_{number}" if identifier is None else str(identifier),
        name=name if isinstance(name, str) else "",
        raw_arguments=raw,
        turn_id=turn_id,
        agent=host.name,
        session=host.session,
    )
    flight = Flight(tool_call)
    if not isinstance(name, str):
        flight.refuse(
            "preflight-rejected",
            f"a call is an object with id, name and arguments; this one has the name {name!r}",
        )
    return flight


def _shown_arguments(call: ToolCall) -> Any:
    """The arguments for events; nothing of those that nobody could walk through."""
    if call.arguments:
        return redacted(call.arguments)
    return None if is_nested_too_deeply(call.raw_arguments) else redacted(call.raw_arguments)


def _cut_result(result: ToolResult, *, lost: bool) -> ToolResult:
    """What a body that was asked to stop has to say, with the reason why it was asked."""
    reason = texts.RUNTIME_LOST if lost else texts.INTERRUPTED
    note = f"{result.note}\n{reason}" if result.note else reason
    return attrs.evolve(result, note=note, is_error=result.is_error or lost)


class _Batch:
    """The calls of one batch, and who waits for their completions."""

    def __init__(self, places: _Places, host: Host, flights: list[Flight], mark: object) -> None:
        self._mark = mark
        self._places = places
        self._host = host
        self._loop = asyncio.get_running_loop()
        self._context = copy_context()
        self._flights = flights
        self._next = 0
        self._identity = PathIdentity()
        self._preparing: asyncio.Task[None] | None = None
        self._waiters: list[asyncio.Future[None]] = []
        self._cancelled: bool | None = None
        self._stopped = False
        self._held: set[Flight] = set()
        self._results = 0  # so many calls, from the first one on, have theirs
        self.finished: deque[Completion] = deque()
        self.open = len(flights)

    def begin(self) -> None:
        """Check all calls, then prepare them one by one."""
        for flight in self._flights:
            if flight.outcome is None:
                preflight(flight, self._host)
        self._prepare_rest()

    async def news(self) -> None:
        """Wait until a call has finished."""
        waiter = self._loop.create_future()
        self._waiters.append(waiter)
        await waiter

    def cancel(self, *, by_user: bool) -> None:
        """Cancel what has no result yet; bodies get two seconds to return their own."""
        if self._cancelled is not None:
            return
        self._cancelled = by_user
        self._stop_preparing()
        for flight in self._flights:
            if flight.finishing or flight.body_ended:
                continue
            if flight.context is None:
                self._abort(flight)
            else:
                self._interrupt(flight, flight.context)
        if self.open:
            self._loop.call_later(GRACE_S, self._abandon)

    def lose(self, generation: Generation) -> None:
        """End the bodies that act in a runtime which is out of reach."""
        for flight in self._flights:
            entry, context = flight.entry, flight.context
            acts = flight.generation is generation and entry is not None and entry.requires
            if acts and context is not None and not (flight.finishing or flight.body_ended):
                flight.lost = True
                self._stop_soon(flight, context)

    def abandon_unprepared(self) -> None:
        """Nobody reads the results any more: what has not been prepared will not run."""
        unprepared = self._next - (self._preparing is not None)
        self._stop_preparing()
        for flight in self._flights[unprepared:]:
            self._abort(flight)

    async def settle(self) -> None:
        """Wait until every call has its result; being cancelled cancels them, and waits on."""
        interrupted = False
        while self.open:
            try:
                await self.news()
            except asyncio.CancelledError:
                interrupted = True
                self.cancel(by_user=False)
        if interrupted:
            raise asyncio.CancelledError

    def run(self, flight: Flight) -> None:
        """Give a body its task."""
        context = self._context.copy()  # not that of the call that ended just now
        asyncio.Task(self._fly(flight), loop=self._loop, context=context, **_TASK_OPTIONS)

    async def _fly(self, flight: Flight) -> None:
        flight.task = asyncio.current_task()
        _inside.set(self._mark)
        try:
            if flight.outcome is None:
                if self._host.timeouts:
                    self._set_limit(flight)
                await run_body(flight, self._host)
        finally:
            self._body_ended(flight)
        if flight.finishing:
            return
        flight.finishing = True
        if flight.outcome is None:
            self._cut_short(flight)
        elif (self._cancelled or flight.lost) and isinstance(flight.result, ToolResult):
            flight.result = _cut_result(flight.result, lost=flight.lost)
        steps = finalize(flight, self._host)
        if steps is None:
            self._complete(flight)
        else:
            await self._finish(flight, steps)

    def _body_ended(self, flight: Flight) -> None:
        if flight.body_ended:
            return
        flight.body_ended = True
        if flight.limit is not None:
            flight.limit.cancel()
        self._places.leave()

    def _set_limit(self, flight: Flight) -> None:
        limit_s = self._host.timeouts.get(flight.call.name)
        if limit_s is not None:
            flight.limit = self._loop.call_later(limit_s, self._time_out, flight)

    def _time_out(self, flight: Flight) -> None:
        assert flight.context is not None
        flight.timed_out = True
        self._stop_soon(flight, flight.context)

    def _stop_soon(self, flight: Flight, context: ToolContext) -> None:
        """Ask a body to stop, and do without it when it does not."""
        self._interrupt(flight, context)
        if flight.limit is not None:
            flight.limit.cancel()
        flight.limit = self._loop.call_later(GRACE_S, self._give_up, flight)

    def _interrupt(self, flight: Flight, context: ToolContext) -> None:
        """Ask a body to stop."""
        context.cancelled = True
        if flight.task is not None:
            flight.task.cancel()

    def _cut_short(self, flight: Flight) -> None:
        """Say why a body has no result of its own."""
        name = flight.call.name
        if flight.lost:
            flight.refuse("aborted", texts.RUNTIME_LOST)
        elif flight.timed_out:
            flight.refuse("executed", texts.timed_out(name, self._host.timeouts[name]))
        else:
            flight.refuse("aborted", texts.aborted(bool(self._cancelled), started=True))

    def _prepare_rest(self) -> None:
        """Prepare as far as nothing has to be awaited; a task does the rest."""
        while self._next < len(self._flights):
            flight = self._flights[self._next]
            self._next += 1
            if self._cancelled is not None:
                self._abort(flight)
                continue
            if self._stopped:
                flight.refuse("skipped", texts.SKIPPED)
            if flight.outcome is None:
                steps = prepare(flight, self._host)
                try:
                    awaitable = next(steps)
                except StopIteration:
                    pass
                else:
                    work = self._prepare_slowly(flight, steps, awaitable)
                    self._preparing = self._start_work(work, awaitable)
                    return
            self._dispatch(flight)

    async def _prepare_slowly(
        self, flight: Flight, steps: Steps, awaitable: Awaitable[Any]
    ) -> None:
        await drive(steps, awaitable)
        task, self._preparing = self._preparing, None
        if task is None:  # nobody wants the rest any more
            return
        if task.cancelling():
            self.cancel(by_user=False)
        self._dispatch(flight)
        self._prepare_rest()

    def _stop_preparing(self) -> None:
        if self._preparing is not None:
            self._preparing.cancel()
            self._preparing = None

    def _dispatch(self, flight: Flight) -> None:
        """Announce a call that is prepared or refused, and let it go its way."""
        if flight.finishing:
            return
        self._announce(flight)
        if flight.outcome is not None:
            self._stopped = self._stopped or (
                flight.outcome in ("vetoed", "synthetic")
                and (flight.stops_batch or bool(flight.result and flight.result.stop_turn))
            )
            self._finish_soon(flight)
            return
        self._stopped = self._stopped or flight.stops_batch
        assert flight.call.execution is not None
        flight.prepared_at = perf_counter()
        accesses = flight.call.execution.accesses
        if accesses is None or accesses:
            flight.ticket = self._host.scheduler.submit(
                accesses, lambda: self._start(flight), self._identity
            )
            if flight.ticket.waits:
                return
        self._start(flight)

    def _start(self, flight: Flight) -> None:
        """Let a body run that nothing it touches keeps from it, unless it goes after others."""
        if self._cancelled is not None:  # its turn came as others were aborted, like it
            return
        execution = flight.call.execution
        if execution is None or not execution.after_earlier or flight is self._first_open():
            self._places.start(self, flight)
        else:
            self._held.add(flight)

    def _first_open(self) -> Flight | None:
        """The first call without a result: every earlier one has its own."""
        while self._results < len(self._flights) and self._flights[self._results].completed:
            self._results += 1
        return self._flights[self._results] if self.open else None

    def _release_held(self) -> None:
        """Start the call that waited for earlier ones, when each of them has its result now."""
        first = self._first_open()
        if first is not None and first in self._held:
            self._held.remove(first)
            self._start(first)

    def _announce(self, flight: Flight) -> None:
        if flight.announced:
            return
        flight.announced = True
        if not self._host.observed:
            return
        call = flight.call
        execution = call.execution
        self._host.emit(
            ToolCallStarted(
                agent=call.agent,
                turn_id=call.turn_id,
                call_id=call.id,
                name=call.name,
                arguments=_shown_arguments(call),
                description=redacted(execution.description) if execution else None,
                display=without_secrets(execution.display) if execution else None,
            )
        )

    def _abort(self, flight: Flight) -> None:
        """End a call whose body never ran."""
        flight.refuse("aborted", texts.aborted(bool(self._cancelled), started=False))
        self._announce(flight)
        self._finish_soon(flight)

    def _abandon(self) -> None:
        """The grace is over: bodies and hooks that still run lose their say."""
        for flight in self._flights:
            if flight.completed:
                continue
            if flight.finishing:
                shape(flight, self._host)
                self._complete(flight)
                if flight.task is not None:
                    flight.task.cancel()
            else:
                self._give_up(flight)
        if self.open:
            self._loop.call_later(GRACE_S, self._abandon)

    def _give_up(self, flight: Flight) -> None:
        """End a call whose body does not stop; its late result is dropped."""
        flight.ended_at = perf_counter()
        self._cut_short(flight)
        self._finish_soon(flight)
        self._body_ended(flight)

    def _finish_soon(self, flight: Flight) -> None:
        """Finish a call, at once when no hook has to be awaited."""
        if flight.finishing:
            return
        flight.finishing = True
        steps = finalize(flight, self._host)
        if steps is None:
            self._complete(flight)
            return
        try:
            awaitable = next(steps)
        except StopIteration:
            self._complete(flight)
            return
        flight.task = self._start_work(self._finish(flight, steps, awaitable), awaitable)

    async def _finish(
        self, flight: Flight, steps: Steps, awaitable: Awaitable[Any] | None = None
    ) -> None:
        await drive(steps, awaitable)
        self._complete(flight)

    def _start_work(
        self, work: Coroutine[Any, Any, None], awaitable: Awaitable[Any]
    ) -> asyncio.Task[None]:
        task = self._loop.create_task(work)
        # A task that is cancelled before its first step never gets to the awaitable.
        task.add_done_callback(lambda _: discard(awaitable))
        return task

    def _complete(self, flight: Flight) -> None:
        if flight.completed:
            return
        flight.completed = True
        assert flight.outcome is not None and flight.result is not None
        self.finished.append(
            Completion(
                flight.call.id,
                flight.call.name,
                flight.outcome,
                flight.result,
                duration_ms(flight),
                queue_ms(flight),
            )
        )
        self.open -= 1
        if flight.call.approved is not None:
            self._host.session.awaiting.discard(flight.call.approved)
        if flight.ticket is not None:
            self._host.scheduler.finish(flight.ticket)
        if self._held:
            self._release_held()
        for waiter in self._waiters:
            if not waiter.done():
                waiter.set_result(None)
        self._waiters.clear()
