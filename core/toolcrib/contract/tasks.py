"""Background tasks: work that outlives the call which started it, and who looks after it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

if TYPE_CHECKING:  # three attrs classes that a mere listing does not need
    from toolcrib.contract.task_records import TaskEnd, TaskInfo, TaskOutput


class TaskLog(Protocol):
    """Where the output of a task goes, in raw bytes and in the order in which it comes."""

    @property
    def task_id(self) -> str:
        """The id of the task; a process that is marked with it is found again after a crash."""
        ...

    def write(self, data: bytes) -> None: ...

    def hand_out(self) -> int | None:
        """The open file, for work that goes on after the session and writes to it by itself.

        None when no task is to outlive the session: what it writes has to be given to `write`.
        """
        ...

    @property
    def exit_file(self) -> str:
        """The path where work that outlives the session has to leave its exit code, as a number."""
        ...


class Work(Protocol):
    """What a task does. Whoever knows a kind of work implements this; the tasks do the rest.

    `kind` and `id_prefix` name it, `description` is a few words for people.
    """

    @property
    def kind(self) -> str: ...
    @property
    def id_prefix(self) -> str: ...
    @property
    def description(self) -> str: ...

    def details(self) -> Mapping[str, Any]:
        """What the record shows of it now: see `TaskInfo.details`."""
        ...

    def begin(self, log: TaskLog) -> None:
        """Start it. Called once, in the event loop; raises OSError when it cannot be started."""
        ...

    async def run(self) -> TaskEnd:
        """Wait for its natural end, and clean up. An exception fails the task with its text."""
        ...

    async def stop(self, grace_s: float) -> None:
        """End it: politely, and by force after `grace_s` seconds. `run` returns then."""
        ...

    def kill(self) -> None:
        """End it by force without waiting, for ways out that cannot wait."""
        ...

    def leave(self) -> None:
        """Let it go on when the session ends. Called only for work that was handed its log."""
        ...


class Foreground(Protocol):
    """A call that somebody waits for, and that may be moved to the background at any time.

    `log` keeps what it writes until then; `wanted` tells that the host asked for the move.
    """

    @property
    def task_id(self) -> str: ...
    @property
    def log(self) -> TaskLog: ...
    @property
    def wanted(self) -> bool: ...

    def hand_over(self, timeout_s: float | None) -> TaskInfo:
        """Leave it to the tasks from now on, with so much more time; its `run` is called then."""
        ...

    def close(self) -> None:
        """It has ended in the foreground: forget it, with its log. Harmless after `hand_over`."""
        ...


@runtime_checkable
class Tasks(Protocol):
    """The background tasks of an agent.

    `keep` says whether tasks that are started from now on go on after the session.
    """

    keep: bool

    def room(self) -> str | None:
        """Why no further task may be started now, in words for the model; None when one may."""
        ...

    def start(self, work: Work, *, timeout_s: float | None) -> TaskInfo:
        """Begin work in the background, with a limit in seconds or None for ever.

        Raises what `begin` raises; nothing is left of it then. Raises ToolcribError when there is
        no room.
        """
        ...

    def foreground(self, work: Work, *, on_detach: Callable[[], None]) -> Foreground:
        """Note work that a call waits for; `on_detach` is called when the host wants it moved.

        It has to be closed, or handed over.
        """
        ...

    def get(self, task_id: str) -> TaskInfo | None:
        """A task of this agent, ended ones included; None when there is none of that id."""
        ...

    def list(self, *, active_only: bool = True) -> tuple[TaskInfo, ...]:
        """The tasks in the order in which they were started.

        Those in the foreground are among them only while they run.
        """
        ...

    def output(
        self, task_id: str, *, since: int | None = None, max_bytes: int = 32_768
    ) -> TaskOutput | None:
        """The last bytes that a task has written, or the first ones from the offset `since` on."""
        ...

    async def wait(
        self, task_ids: Sequence[str], *, timeout_s: float, for_all: bool = False
    ) -> None:
        """Wait until one of the tasks has ended, or all have, or the time is over."""
        ...

    async def news(self, task_ids: Sequence[str], *, timeout_s: float) -> None:
        """Wait until one of the tasks has ended or written something, or the time is over."""
        ...

    async def stop(
        self, task_id: str, reason: str | None = None, *, notify: bool = True
    ) -> TaskInfo | None:
        """Stop a task and give what became of it; None when there is none of that id.

        It may have ended by itself meanwhile: its status tells. With `notify` False nobody is
        told of its end afterwards. Being cancelled does not keep the task from being stopped.
        """
        ...

    def detach(self, task_id: str) -> TaskInfo | None:
        """Ask for a foreground call to be moved to the background; None for an unknown id."""
        ...

    def mark_delivered(self, task_ids: Iterable[str]) -> None:
        """The ends of these tasks have been told: no message of them follows."""
        ...

    async def aclose(self) -> None:
        """Stop what runs, but what is kept, within the grace for stopping and a second."""
        ...
