"""One call on its way through the pipeline, and the completion it ends in."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Generator
from typing import Any

from attrs import frozen

from toolcrib.contract.call import OutcomeKind, ToolCall
from toolcrib.contract.context import ToolContext
from toolcrib.contract.result import ToolResult
from toolcrib.pipeline.scheduler import Ticket
from toolcrib.registry import RegisteredTool
from toolcrib.runtimes import Generation

Steps = Generator[Awaitable[Any], Any, None]
"""Work that is done at once where it can be, and yields what has to be awaited."""


@frozen
class Completion:
    """The one result of a call.

    `duration_ms` is the time its body ran, `queue_ms` the time it waited for earlier calls, both
    in milliseconds; 0 for a call that never ran.
    """

    id: str
    name: str
    outcome: OutcomeKind
    result: ToolResult
    duration_ms: float = 0.0
    queue_ms: float = 0.0


class Flight:
    """The mutable side of one call: how far it is, and how it ended."""

    # Defaults live on the class, not in the instance: one is made for every call.
    entry: RegisteredTool | None = None
    outcome: OutcomeKind | None = None
    result: ToolResult | None = None
    metadata: Any = None
    note: str | None = None
    """What the pipeline adds to the note of the result."""
    stops_batch: bool = False
    generation: Generation | None = None
    awaits_tool: bool = False
    context: ToolContext | None = None
    ticket: Ticket | None = None
    task: asyncio.Task[None] | None = None
    limit: asyncio.TimerHandle | None = None
    timed_out: bool = False
    lost: bool = False
    announced: bool = False
    body_ended: bool = False
    finishing: bool = False
    completed: bool = False
    prepared_at: float = 0.0
    started_at: float = 0.0
    ended_at: float = 0.0

    def __init__(self, call: ToolCall) -> None:
        self.call = call

    def settle(self, outcome: OutcomeKind, result: ToolResult) -> None:
        """Fix how the call ends; the first word counts."""
        if self.outcome is None:
            self.outcome = outcome
            self.result = result

    def refuse(self, outcome: OutcomeKind, message: str) -> None:
        """End the call with an error for the model."""
        self.settle(outcome, ToolResult(message, is_error=True))


async def drive(steps: Steps, awaitable: Awaitable[Any] | None = None) -> None:
    """Finish work that yields what has to be awaited; `awaitable` is what it yielded already."""
    try:
        if awaitable is None:
            awaitable = next(steps)
        while True:
            try:
                answer = await awaitable
            except BaseException as error:
                awaitable = steps.throw(error)
            else:
                awaitable = steps.send(answer)
    except StopIteration:
        return
