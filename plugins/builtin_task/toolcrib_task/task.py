"""One background task, from its start to its end."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import time
from collections.abc import Callable, Mapping
from typing import Any

from attrs import define, field

from toolcrib import TaskEnd, TaskInfo, TaskStatus, Work
from toolcrib_task.log import OutputLog

REAP_S = 1.0
"""How long a task that was killed has to be gone."""


@define(eq=False)
class BackgroundTask:
    """Work, its output, and how it ended; the first way in which it ends counts.

    Attributes:
        started_detached: whether it counts for the limit of tasks: it began in the background.
        kept: whether it goes on when the session ends.
        delivered: whether the model has been told of its end.
        grace_s: how many seconds it has to end by itself when it is told to stop.
        earlier: whether it comes from an earlier session, so that its end is no news worth a turn.
        ended: set when it has ended and that is written down.
        order: numbers the tasks as they come, whatever the clock says.
        on_left: called when it goes on although nobody looks after it any more.
    """

    id: str
    work: Work
    log: OutputLog
    on_end: Callable[[BackgroundTask], None]
    on_left: Callable[[BackgroundTask], None]
    grace_s: float
    detached: bool = True
    started_detached: bool = True
    kept: bool = False
    delivered: bool = False
    earlier: bool = False
    suppressed: bool = False
    timeout_s: float | None = None
    status: TaskStatus = "running"
    stop_reason: str | None = None
    started_at: float = field(factory=time.time)
    ended_at: float | None = None
    ended: asyncio.Event = field(factory=asyncio.Event, repr=False)
    news: asyncio.Event = field(factory=asyncio.Event, repr=False)
    order: int = field(factory=itertools.count().__next__)
    _clock: float = field(factory=time.monotonic)
    _stopping: bool = False
    _stopped_anyway: bool = False
    _timed_out: bool = False
    _left: bool = False
    _deadline: asyncio.TimerHandle | None = None
    _runner: asyncio.Task[None] | None = None
    _terminator: asyncio.Task[None] | None = None

    @property
    def running(self) -> bool:
        return self.status == "running"

    def info(self) -> TaskInfo:
        """What there is to know of it now."""
        return TaskInfo(
            task_id=self.id,
            kind=self.work.kind,
            description=self.work.description,
            status=self.status,
            detached=self.detached,
            started_at=self.started_at,
            ended_at=self.ended_at,
            stop_reason=self.stop_reason,
            suppressed=self.suppressed,
            timeout_s=self.timeout_s,
            details=self._details(),
        )

    def look_after(self, timeout_s: float | None) -> None:
        """Wait for its end from now on, for so many seconds at the most."""
        self.timeout_s = timeout_s
        loop = asyncio.get_running_loop()
        if timeout_s is not None:
            self._deadline = loop.call_later(timeout_s, self._time_out)
        self._runner = loop.create_task(self._see_through())

    def look_after_again(self) -> None:
        """The same for one that ran on while nobody did: it has all of its time once more."""
        self._left = False
        self.ended, self.news = asyncio.Event(), asyncio.Event()
        self.look_after(self.timeout_s)

    def check_loop(self) -> None:
        """Find out whether the event loop is gone in which it was looked after."""
        if self._runner is not None and self._runner.get_loop().is_closed():
            # Whoever waits there for its end waits for ever.
            self.ended, self.news = asyncio.Event(), asyncio.Event()
            self._lose_loop()

    def stop_soon(self, reason: str | None, *, anyway: bool = False) -> asyncio.Task[None]:
        """Begin to stop it; the first reason counts.

        With `anyway` it counts as stopped, and be all done that it had to do.
        """
        self._stopped_anyway |= anyway
        if self._terminator is None:
            self._stopping = True
            if not self._timed_out:
                self.stop_reason = reason
            self._clear_deadline()
            self._terminator = asyncio.get_running_loop().create_task(self._terminate())
        return self._terminator

    def leave(self) -> None:
        """Let it go on, and look after it no longer."""
        self._left = True
        try:
            self.work.leave()
        except Exception as error:
            self._note(error)
        self._forget_timers()
        self.log.close()

    def abandon(self) -> None:
        """End it by force without waiting."""
        self._kill()
        self._forget_timers()
        self.settle(TaskEnd(False))

    def settle(self, end: TaskEnd) -> None:
        """Fix how it ended; only the first word counts."""
        if not self.running:
            return
        self.status = self._status_after(end)
        if self.status in ("completed", "failed", "lost"):
            self.stop_reason = end.reason
        self.ended_at = self.started_at + max(0.0, time.monotonic() - self._clock)
        self._clear_deadline()
        self.log.close()
        self.on_end(self)
        self.ended.set()
        self.news.set()

    def _status_after(self, end: TaskEnd) -> TaskStatus:
        if not self._stopping or (end.despite_stop and not self._stopped_anyway):
            return "completed" if end.succeeded else "lost" if end.unseen else "failed"
        return "timed_out" if self._timed_out else "killed"

    def found_running(self, started_at: float) -> None:
        """Count its time from when an earlier session had started it."""
        self.started_at = started_at
        self._clock -= max(0.0, time.time() - started_at)

    async def _see_through(self) -> None:
        try:
            end = await self.work.run()
            if not isinstance(end, TaskEnd):
                raise TypeError(f"its run gave {end!r} instead of a TaskEnd")
        except (Exception, SystemExit) as error:
            end = TaskEnd(False, f"{type(error).__name__}: {error}")
        except asyncio.CancelledError:
            self._lose_loop()
            if not self.running:
                await self._let_go()
            raise
        self.settle(end)

    async def _let_go(self) -> None:
        """Have work that was killed close what it has open."""
        with contextlib.suppress(Exception):
            async with asyncio.timeout(REAP_S):
                await self.work.stop(0.0)

    def _lose_loop(self) -> None:
        """End it by force, unless it may go on: what looks after it was cancelled by others."""
        if not self.running or self._left:
            return
        if self.kept and not self._stopping:
            self.leave()
            self.on_left(self)
            return
        self._kill()
        if not self._stopping:
            self._stopping, self.stop_reason = True, "the event loop that it needs was ended"
        self.settle(TaskEnd(False))

    async def _terminate(self) -> None:
        try:
            async with asyncio.timeout(self.grace_s + 2 * REAP_S):
                await self.work.stop(self.grace_s)
        except Exception as error:
            self._note(error)
        try:
            async with asyncio.timeout(REAP_S):
                await self.ended.wait()
        except (TimeoutError, RuntimeError):  # too late, or in an event loop of somebody else
            self._kill()
            self.settle(TaskEnd(False))
            if self._runner is not None:
                self._runner.cancel()

    def _kill(self) -> None:
        try:
            self.work.kill()
        except Exception as error:
            self._note(error)

    def _details(self) -> Mapping[str, Any]:
        """What the work tells of itself; a mistake there makes no task one that cannot be seen."""
        try:
            return self.work.details()
        except Exception as error:
            return {"problem": f"its details cannot be made: {type(error).__name__}: {error}"}

    def _note(self, error: Exception) -> None:
        """Work that goes wrong when it is ended has ended all the same."""
        self.stop_reason = self.stop_reason or f"{type(error).__name__}: {error}"

    def _time_out(self) -> None:
        self._timed_out = True
        self.stop_soon(None)

    def _clear_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _forget_timers(self) -> None:
        self._clear_deadline()
        for task in (self._runner, self._terminator):
            if task is not None and not task.get_loop().is_closed():
                task.cancel()
