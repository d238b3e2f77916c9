"""What becomes of background tasks when a command is done, and what is told of them."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Literal

from toolcrib.cli.common import printable
from toolcrib.cli.progress import EVERY_S, StatusLine
from toolcrib.contract.task_records import STOPPED_BY_USER, TaskInfo
from toolcrib.contract.tasks import Tasks

if TYPE_CHECKING:
    from toolcrib.contract.messages import ContextMessage
    from toolcrib.session import Session

OnExit = Literal["wait", "stop", "keep"]
_NAMED = 5
"""Of more tasks, only so many are named in a line."""


def on_exit_settings(on_exit: OnExit | None) -> dict[str, Any]:
    """The configuration that goes with the choice; without one that of the user holds."""
    return {} if on_exit is None else {"task": {"keep_alive_on_exit": on_exit == "keep"}}


class Leaving:
    """Sees a session's background tasks out: waits for them, stops them or lets them go on.

    Tasks that an earlier session left running are none of its business. With `quiet` nothing is
    said, since the events tell it.
    """

    def __init__(
        self, session: Session, on_exit: OnExit | None, *, line: StatusLine, quiet: bool
    ) -> None:
        self._session = session
        self._on_exit = on_exit
        self._wait = on_exit == "wait"
        self._line = line
        self._quiet = quiet
        self._began = time.time()
        self._reason: str | None = None
        self._stops: list[asyncio.Task[Any]] = []
        self._left: tuple[TaskInfo, ...] = ()
        self._made: Tasks | None = None

    def stop(self, reason: str) -> None:
        """Begin to stop what runs, but for what is to go on; `end` waits for it."""
        tasks = self._tasks()
        self._reason = reason
        if tasks is not None and not tasks.keep:
            self._stops += [
                asyncio.ensure_future(tasks.stop(task.task_id, reason))
                for task in self._running(tasks)
            ]

    async def end(self) -> None:
        """Once the last batch is done: wait for what runs or stop it, and tell every end."""
        tasks = self._tasks()
        if tasks is None:
            return
        if not tasks.keep:
            if self._reason is None and self._on_exit is None and self._running(tasks):
                self._say(
                    "all calls are done, so their background tasks are stopped; "
                    "`--on-exit wait` waits for them, `--on-exit keep` lets them go on"
                )
            if self._reason is not None or not self._wait:
                # Again after an interrupt: calls may have started something since.
                self.stop(self._reason or "all calls were done")
            await self._see_out(tasks)
            await asyncio.gather(*self._stops)
        self._tell_news(tasks)

    def closing(self) -> None:
        """Before the session is closed."""
        tasks = self._tasks()
        self._left = tuple(self._running(tasks)) if tasks is not None else ()

    def closed(self) -> None:
        """Once the session is closed: tell what goes on, and what was stopped with it."""
        tasks = self._tasks()
        if tasks is None:
            return
        for task in self._left:
            now = tasks.get(task.task_id)
            if now is not None and not now.active:
                self._tell_end(now)
        if stay := self._running(tasks):
            self._say(
                f"{_named(stay, ' go on' if len(stay) > 1 else ' goes on')}; "
                "`toolcrib tasks list` shows what runs, `toolcrib tasks stop ID` ends it"
            )

    def kept(self) -> list[int]:
        """The process ids of what is to go on."""
        tasks = self._tasks()
        running = tasks.list() if tasks is not None and tasks.keep else ()
        pids = (task.details.get("pid") for task in running)
        return [pid for pid in pids if isinstance(pid, int)]

    def _tasks(self) -> Tasks | None:
        """The tasks, if anybody asked for them: they take over those of earlier sessions."""
        if self._made is None and self._session.main.scope.made(Tasks):
            self._made = self._session.tasks
        return self._made

    def _running(self, tasks: Tasks) -> list[TaskInfo]:
        return [task for task in tasks.list() if task.started_at >= self._began]

    async def _see_out(self, tasks: Tasks) -> None:
        began, told = time.monotonic(), ""
        running = self._running(tasks)
        while running:
            verb = "waiting for" if self._reason is None else "stopping"
            if not self._quiet:
                elapsed = time.monotonic() - began
                text = f"{verb} {_named(running, f', {elapsed:.0f} s')}"
                self._line.show(text, now=verb != told)
            told = verb
            await tasks.wait([task.task_id for task in running], timeout_s=EVERY_S)
            infos = [tasks.get(task.task_id) for task in running]
            ended = [info for info in infos if info is not None and not info.active]
            for info in ended:
                self._tell_end(info)
            tasks.mark_delivered([info.task_id for info in ended])
            running = self._running(tasks)
        self._line.clear()

    def _tell_news(self, tasks: Tasks) -> None:
        """Tell the ends that nobody was told of, so that they count as delivered."""
        for message in self._session.context_messages():
            infos = [tasks.get(task_id) for task_id in _task_ids(message)]
            for info in infos:
                if info is not None:
                    self._tell_end(info)
            if not infos:
                self._say(message.text)

    def _tell_end(self, task: TaskInfo) -> None:
        self._say(end_of(task))

    def _say(self, text: str) -> None:
        if not self._quiet:
            self._line.say("\n".join(map(printable, text.splitlines())))


def end_of(task: TaskInfo) -> str:
    """How a task ended, in a line for people."""
    word = {"timed_out": "timed out", "killed": "was stopped", "lost": "was lost"}
    text = f"{_name(task)} {word.get(task.status, task.status)}"
    if task.ended_at is not None:
        text += f" after {task.ended_at - task.started_at:.0f} s"
    code = task.details.get("exit_code")
    if task.status == "failed" and code is not None:
        text += f" with exit code {code}"
    if task.stop_reason == STOPPED_BY_USER:
        text += " by the user"
    elif task.stop_reason:
        text += f": {' '.join(task.stop_reason.split())}"
    return text


def _task_ids(message: ContextMessage) -> Sequence[str]:
    several: Sequence[str] = message.origin.get("task_ids", ())
    return several or [message.origin[key] for key in ("task_id",) if key in message.origin]


def _named(tasks: Sequence[TaskInfo], after: str) -> str:
    names: Iterable[str] = map(_name, tasks[:_NAMED])
    more = f" and {len(tasks) - _NAMED} more" if len(tasks) > _NAMED else ""
    count = f"{len(tasks)} background tasks" if len(tasks) > 1 else "a background task"
    # The names last: a terminal shows no more than the beginning of a long line.
    return f"{count}{after}: {', '.join(names)}{more}"


def _name(task: TaskInfo) -> str:
    description = " ".join(task.description.split())
    if len(description) > 60:
        description = f"{description[:57]}..."
    return f"{task.task_id} ({description})" if description else task.task_id
