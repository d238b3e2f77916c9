"""A shell command as the work of a task."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

from attrs import define, field

from toolcrib import Remains, RunningProcess, TaskEnd, TaskLog
from toolcrib_os.bash.ending import exit_code, listed, signal_name
from toolcrib_os.bash.launching import Shell, ShellCommand, encodable

_TITLE_CHARS = 60


@define(eq=False)
class ShellWork:
    """Runs a command: see `toolcrib.Work` for what is called when.

    A call that waits for its command starts it itself; that it has become the work of a task is
    told by `moved`.
    """

    shell: Shell
    command: ShellCommand
    description: str
    process: RunningProcess | None = None
    _stopping: asyncio.Task[Remains] | None = field(default=None, repr=False)
    _untie: Callable[[], None] | None = field(default=None, repr=False)
    _left: Mapping[int, str] = field(factory=dict)
    _interrupted: bool = False
    _runtime_gone: bool = False

    kind = "process"
    id_prefix = "bash"

    @property
    def token(self) -> str | None:
        """By which its processes are found again when this one is gone."""
        return None if self.process is None else self.process.token

    def details(self) -> Mapping[str, Any]:
        process = self.process
        returncode = None if process is None else process.returncode
        details = {
            "command": self.command.runnable,
            "pid": None if process is None else process.pid,
            "exit_code": exit_code(returncode),
        }
        if returncode is not None and returncode < 0:
            details["signal"] = signal_name(returncode)
        if self._left:
            details["left_running"] = f"{listed(self._left)}; stopped when the command had ended"
        return details

    def begin(self, log: TaskLog) -> None:
        self.moved()
        try:
            self.start(log.write, log=log)
        except BaseException:
            self._over()
            raise

    def start(
        self, on_output: Callable[[bytes], None], *, log: TaskLog | None = None
    ) -> RunningProcess:
        """Start the command; raises NotStarted or RuntimeUnavailable."""
        self.process = self.shell.start(self.command, on_output=on_output, log=log)
        return self.process

    def moved(self) -> None:
        """It outlives the call, so it ends with the runtime; raises RuntimeUnavailable."""
        self._untie = self.shell.tie(self._runtime_goes)

    async def run(self) -> TaskEnd:
        assert self.process is not None
        try:
            returncode = await self.process.wait()
            remains = await self._stop()
            if not self._interrupted:
                self._left = remains.stopped
            # A stop comes too late when only remains are left, or nothing any more.
            by_itself = returncode is not None and returncode >= 0
            self._interrupted &= not by_itself or bool(remains.stopped)
            succeeded = returncode == 0 and self._problem is None
            return TaskEnd(succeeded, self._problem, despite_stop=not self._interrupted)
        finally:
            self._over()

    async def stop(self, grace_s: float) -> None:
        self._interrupt()
        await asyncio.shield(self._stop(grace_s))

    def kill(self) -> None:
        if self.process is not None:
            self.process.kill()

    def leave(self) -> None:
        assert self.process is not None
        self._over()
        self.process.leave()

    def _interrupt(self) -> None:
        """Note whether there was anything to stop when that was asked for first."""
        if self._stopping is None:
            self._interrupted = self.process is not None and self.process.returncode is None

    def _stop(self, *grace_s: float) -> asyncio.Task[Remains]:
        """End what runs; whoever asks first says how patiently."""
        assert self.process is not None
        if self._stopping is None:
            self._stopping = asyncio.get_running_loop().create_task(self.process.stop(*grace_s))
        return self._stopping

    async def _runtime_goes(self) -> None:
        self._runtime_gone = True
        self._interrupt()
        await asyncio.shield(self._stop())

    def _over(self) -> None:
        if self._untie is not None:
            self._untie()
            self._untie = None

    @property
    def _problem(self) -> str | None:
        assert self.process is not None
        if self._runtime_gone and self._interrupted:
            return f"the runtime {self.shell.runtime.id!r} that it ran in was closed"
        if self.process.problem is not None:
            return f"its output could not be read: {self.process.problem}"
        if self.process.returncode is None:
            return "it could not be killed"
        return None


def title_for(description: str | None, command: str) -> str:
    """A few words for people, in one line: the description, or else the beginning of a command."""
    if description and (title := _in_a_line(description)):
        return title
    text = _in_a_line(command)
    return text if len(text) <= _TITLE_CHARS else f"{text[: _TITLE_CHARS - 3]}..."


def _in_a_line(text: str) -> str:
    return " ".join(encodable(text).split())
