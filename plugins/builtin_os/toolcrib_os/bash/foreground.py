"""One command run while the model waits: started, limited, ended or moved, and told about."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import closing, suppress

from attrs import define, field, frozen

from toolcrib import (
    Lazy,
    OutputSink,
    Remains,
    RunningProcess,
    Tasks,
    TerminalText,
    ToolContext,
    ToolResult,
)
from toolcrib_os.bash.background import moved_to_background
from toolcrib_os.bash.ending import Ending, How, describe_ending, duration, note_on
from toolcrib_os.bash.launching import NotStarted
from toolcrib_os.bash.limits import TimeLimit
from toolcrib_os.bash.moving import Movable
from toolcrib_os.bash.work import ShellWork

ENDING_S = 1.5
"""How long an interrupted call waits for its processes to end: its result is due in 2 seconds."""

_being_ended: set[asyncio.Task[Remains]] = set()


@frozen(kw_only=True)
class Background:
    """Where a command can go on that the model does not wait for any longer.

    Attributes:
        after_timeout: whether one that reaches its time limit goes there.
        timeout_s: how many seconds it has there; None for no limit.
    """

    tasks: Lazy[Tasks]
    after_timeout: Callable[[], bool]
    timeout_s: float | None


async def run_in_foreground(
    work: ShellWork, limit: TimeLimit, background: Background | None, context: ToolContext
) -> ToolResult:
    """Run a command to its end, whatever end that is, and leave no process behind.

    It may also be moved to the background, where there is one.
    """
    if context.cancelled:
        return ToolResult.error("The command was not started: the call was cancelled before.")
    with closing(context.output()) as sink:
        call = _Call(work, limit, background, _Output(sink, TerminalText(), context))
        try:
            return await call.see_through(work.start(call.take))
        except NotStarted as error:
            return ToolResult.error(str(error))
        except BaseException:
            work.kill()
            raise
        finally:
            call.close()


@define(eq=False)
class _Call:
    """A command that the model waits for."""

    _work: ShellWork
    _limit: TimeLimit
    _background: Background | None
    _output: _Output
    _movable: Movable | None = field(init=False)
    _deadline: asyncio.Timeout | None = None
    _started: float = field(factory=time.perf_counter)

    def __attrs_post_init__(self) -> None:
        background = self._background
        self._movable = (
            None if background is None else Movable(background.tasks, self._work, self._expire)
        )

    def take(self, data: bytes) -> None:
        self._output.take(data)
        if self._movable is not None:
            self._movable.take(data)

    async def see_through(self, process: RunningProcess) -> ToolResult:
        how = await self._wait(process)
        if how == "timed out":
            if (moved := self._moved()) is not None:
                return moved
            if self._movable is not None and self._movable.wanted:
                how = "interrupted"
        remains = await _ended(process, in_time=how == "interrupted")
        process.on_output = _drop  # it may still be writing when its end takes long
        self._output.finish()
        ending = Ending(
            how=how,
            returncode=process.returncode,
            seconds=self._seconds,
            limit=self._limit,
            remains=remains,
            problem=process.problem,
        )
        return _result(ending, self._output)

    def close(self) -> None:
        if self._movable is not None:
            self._movable.close()

    @property
    def _seconds(self) -> float:
        return time.perf_counter() - self._started

    async def _wait(self, process: RunningProcess) -> How:
        try:
            async with asyncio.timeout(self._limit.seconds) as self._deadline:
                await process.wait()
        except TimeoutError:
            return "exited" if process.returncode is not None else "timed out"
        except asyncio.CancelledError:
            return "interrupted"
        finally:
            self._deadline = None
        return "exited"

    def _expire(self) -> None:
        """The host wants it moved: that is done when its time is over, as it may just be."""
        if self._deadline is not None and not self._deadline.expired():
            self._deadline.reschedule(asyncio.get_running_loop().time())

    def _moved(self) -> ToolResult | None:
        """Move it, if it is to be; None when it has to end."""
        background, movable = self._background, self._movable
        if background is None or movable is None:
            return None
        asked = movable.wanted
        if not asked and not background.after_timeout():
            return None
        info = movable.move(background.timeout_s)
        if info is None:
            return None
        why = (
            f"the user did not want to wait for it any longer after {duration(self._seconds)}"
            if asked
            else f"it took longer than {self._limit.seconds} s"
        )
        return self._output.so_far(moved_to_background(info, why), self._limit.note)


@define
class _Output:
    """Carries what a command writes into the result, cleaned, and to whoever watches."""

    sink: OutputSink
    text: TerminalText
    context: ToolContext

    def take(self, data: bytes) -> None:
        self._pass_on(self.text.feed(data))

    def finish(self) -> None:
        self._pass_on(self.text.finish())

    def so_far(self, fields: str, note: str | None) -> ToolResult:
        """The result of a call that ends before its command: what is known, and the text."""
        self.finish()
        if self.sink.spilled:
            return self.sink.result(fields, note=note)
        text = self.sink.text()
        return ToolResult(f"{fields}\n\nforeground_output:\n{text}" if text else fields, note=note)

    def _pass_on(self, piece: str) -> None:
        if piece:
            self.sink.write(piece)
            if self.context.watched:
                self.context.update(piece, kind="stdout")


async def _ended(process: RunningProcess, *, in_time: bool) -> Remains | None:
    """End what is left; None when it takes longer than an interrupted call has time for."""
    ending = asyncio.ensure_future(process.stop())
    _being_ended.add(ending)
    ending.add_done_callback(_being_ended.discard)
    if not in_time:
        with suppress(asyncio.CancelledError):  # the command itself is over: its result counts
            return await asyncio.shield(ending)
    await asyncio.wait({ending}, timeout=ENDING_S)
    return ending.result() if ending.done() else None


def _drop(data: bytes) -> None:
    """Nobody waits for it any more."""


def _result(ending: Ending, output: _Output) -> ToolResult:
    sink = output.sink
    shown = "" if sink.spilled else sink.text()
    return sink.result(
        describe_ending(ending, shown, silent=sink.total_chars == 0),
        is_error=not ending.succeeded,
        note=note_on(ending, nul_replaced=output.text.nul_replaced),
    )
