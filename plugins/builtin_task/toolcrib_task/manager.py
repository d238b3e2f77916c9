"""Looks after the background tasks of an agent: starts, watches, stops and remembers them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import islice

from toolcrib import (
    ContextMessage,
    ContextMessages,
    Lazy,
    Session,
    TaskInfo,
    TaskOutput,
    ToolcribError,
    Work,
)
from toolcrib_task.ends import Ends, is_news
from toolcrib_task.foreground import ForegroundCall
from toolcrib_task.left import LeftRunning
from toolcrib_task.log import OutputLog
from toolcrib_task.settings import TaskSettings
from toolcrib_task.store import Mark, Restored, TaskStore
from toolcrib_task.task import BackgroundTask

NEWS_EVERY_S = 0.05
"""How often somebody who follows a task is told of its output."""
LOOK_EVERY_S = 0.2
"""How often a file is looked at that a task writes by itself."""
_REMEMBERED = 1000
"""How many tasks that have ended can still be asked for; more, and the oldest are forgotten."""


class TaskManager:
    """The tasks of one agent; see `toolcrib.Tasks` for what it promises.

    Nothing here fails because the disk does: what cannot be written down is known until the
    session ends.
    """

    def __init__(
        self,
        session: Session,
        context: ContextMessages,
        settings: Lazy[TaskSettings],
        agent: str = "main",
    ) -> None:
        self._settings = settings  # the configuration may be read again
        self._keep: bool | None = None
        self._tasks: dict[str, BackgroundTask] = {}
        self._calls: dict[str, ForegroundCall] = {}
        self._unwatched: list[BackgroundTask] = []
        self._loop: asyncio.AbstractEventLoop | None = None
        self._looking: asyncio.Task[None] | None = None
        self._closed = False
        self._store = TaskStore(
            session.state_folder / "tasks",
            session=session.id,
            agent=agent,
            workspace=session.workspace.root,
        )
        self._ends = Ends(self._tasks, self._store, session, context, agent)
        for restored in self._store.take_over():
            self._restore(restored)
        context.add_source(self)

    @property
    def keep(self) -> bool:
        return self._settings().keep_alive_on_exit if self._keep is None else self._keep

    @keep.setter
    def keep(self, value: bool) -> None:
        self._keep = value

    def room(self) -> str | None:
        if self._closed:
            return "The session has ended: nothing more can be started in the background."
        self._keep_watch()
        limit = self._settings().max_running_tasks
        running = sum(task.running and task.started_detached for task in self._tasks.values())
        if limit is None or running < limit:
            return None
        return (
            f"Too many background tasks: {running} run, and max_running_tasks allows {limit}. "
            "Wait for one of them to end, or stop one, then start this one again."
        )

    def start(self, work: Work, *, timeout_s: float | None) -> TaskInfo:
        if problem := self.room():
            raise ToolcribError(problem)
        task = self._new_task(work, self._store.new_id(work.id_prefix))
        task.log.may_be_handed_out = self.keep
        task.log.save()
        # Written down before it runs, so that what a crash leaves in between is found again.
        self._store.add(task.info(), kept=False, mark=Mark.of_unstarted(task.id))
        try:
            work.begin(task.log)
        except BaseException:
            task.log.discard()
            self._store.forget(task.id)
            raise
        task.kept = task.log.handed_out
        self._take_in(task, timeout_s)
        return task.info()

    def foreground(self, work: Work, *, on_detach: Callable[[], None]) -> ForegroundCall:
        task = self._new_task(work, self._store.new_id(work.id_prefix))
        task.detached = task.started_detached = False
        call = ForegroundCall(
            task, on_detach, partial(self._hand_over, task), partial(self._forget, task)
        )
        self._calls[task.id] = call
        return call

    def get(self, task_id: str) -> TaskInfo | None:
        self._keep_watch()
        task = self._find(task_id)
        return None if task is None else task.info()

    def list(self, *, active_only: bool = True) -> tuple[TaskInfo, ...]:
        self._keep_watch()
        everything = [*self._tasks.values(), *(call.task for call in self._calls.values())]
        everything.sort(key=lambda task: task.order)
        return tuple(task.info() for task in everything if task.running or not active_only)

    def output(
        self, task_id: str, *, since: int | None = None, max_bytes: int = 32_768
    ) -> TaskOutput | None:
        task = self._find(task_id)
        return None if task is None else task.log.read(since=since, max_bytes=max_bytes)

    async def wait(
        self, task_ids: Sequence[str], *, timeout_s: float, for_all: bool = False
    ) -> None:
        self._keep_watch()
        waits = [asyncio.ensure_future(task.ended.wait()) for task in self._named(task_ids)]
        when = asyncio.ALL_COMPLETED if for_all else asyncio.FIRST_COMPLETED
        try:
            if waits:
                done, _ = await asyncio.wait(waits, timeout=timeout_s, return_when=when)
                for wait in done:
                    wait.result()  # raises in an event loop other than that of the task
        finally:
            for wait in waits:
                wait.cancel()

    async def news(self, task_ids: Sequence[str], *, timeout_s: float) -> None:
        tasks = self._named(task_ids)
        if not tasks or not all(task.running for task in tasks):
            return
        for task in tasks:
            task.news.clear()
        waits = [asyncio.ensure_future(task.news.wait()) for task in tasks]
        try:
            await asyncio.wait(waits, timeout=timeout_s, return_when=asyncio.FIRST_COMPLETED)
            if all(task.running for task in tasks):
                await asyncio.sleep(min(NEWS_EVERY_S, timeout_s))
        finally:
            for wait in waits:
                wait.cancel()

    async def stop(
        self, task_id: str, reason: str | None = None, *, notify: bool = True
    ) -> TaskInfo | None:
        self._keep_watch()
        task = self._tasks.get(task_id)
        if task is None:
            return None
        if task.running:
            if not notify:
                task.suppressed = True
                self._store.update(task.info())
            try:
                await asyncio.shield(task.stop_soon((reason or "").strip() or None))
            except asyncio.CancelledError:
                if not self._closed:
                    self._ends.tell_after_all(task)
                raise
        return task.info()

    def detach(self, task_id: str) -> TaskInfo | None:
        call = self._calls.get(task_id)
        if call is not None:
            call.ask()
        return self.get(task_id)

    def mark_delivered(self, task_ids: Iterable[str]) -> None:
        self._ends.mark(self._named(task_ids), True)

    def take_messages(self) -> Sequence[ContextMessage]:
        """The ends that nobody was told of; see `toolcrib.MessageSource`."""
        self._keep_watch()
        return self._ends.take_messages()

    def return_messages(self, ids: frozenset[str]) -> None:
        """Offer the ends again that these messages told of."""
        self._ends.return_messages(ids)

    async def aclose(self) -> None:
        if self._closed:
            return
        self._keep_watch()
        self._closed = True
        if self._looking is not None and not self._looking.get_loop().is_closed():
            self._looking.cancel()
        running = [task for task in self._tasks.values() if task.running]
        kept = [task for task in running if task.kept and self._store.finds_again(task.id)]
        stopped = [task for task in running if task not in kept]
        try:
            for task in stopped:
                task.suppressed = True
            await asyncio.gather(*(task.stop_soon(_why_not_kept(task)) for task in stopped))
        finally:
            for task in stopped:
                task.abandon()
            for task in kept:
                task.leave()
            self._store.release(task.id for task in kept)
            self._store.prune()
            self._store.close()

    def _new_task(self, work: Work, task_id: str) -> BackgroundTask:
        settings = self._settings()
        log = OutputLog(
            self._store.place(task_id),
            settings.output_limit_bytes,
            on_limit=lambda: self._stop_at_limit(task),
            on_news=lambda: task.news.set(),
        )
        task = BackgroundTask(
            task_id, work, log, self._ended, self._find_again, settings.kill_grace_period_s
        )
        return task

    def _take_in(self, task: BackgroundTask, timeout_s: float | None) -> None:
        """Look after a task in the background from now on."""
        self._tasks[task.id] = task
        self._forget_oldest()
        task.look_after(timeout_s)
        self._store.add(task.info(), kept=task.kept, mark=_mark_of(task))
        if task.kept:
            self._look_at_kept()
        self._ends.tell_start(task)

    def _hand_over(self, task: BackgroundTask, timeout_s: float | None) -> TaskInfo:
        del self._calls[task.id]
        task.detached = True
        self._take_in(task, timeout_s)
        task.log.save()
        return task.info()

    def _forget_oldest(self) -> None:
        if len(self._tasks) > _REMEMBERED:
            told = (t.id for t in self._tasks.values() if not t.running and not is_news(t))
            for task_id in tuple(islice(told, len(self._tasks) - _REMEMBERED)):
                del self._tasks[task_id]
                self._store.leave(task_id)

    def _forget(self, task: BackgroundTask) -> None:
        del self._calls[task.id]
        task.log.discard()
        task.ended.set()  # whoever waits for it waits no longer
        task.news.set()

    def _ended(self, task: BackgroundTask) -> None:
        if task.status in ("failed", "completed") and (
            asked := self._store.stop_requested(task.id)
        ):
            task.status, task.stop_reason = "killed", asked
        self._store.update(task.info(), output_bytes=task.log.total_bytes)
        self._ends.tell_end(task)

    def _stop_at_limit(self, task: BackgroundTask) -> None:
        task.stop_soon(
            f"it wrote more than {task.log.limit_bytes:,} bytes; run it again with its output "
            "redirected to a file, and read that in slices",
            anyway=True,
        )

    def _find(self, task_id: str) -> BackgroundTask | None:
        task = self._tasks.get(task_id)
        if task is None and (call := self._calls.get(task_id)):
            task = call.task
        return task

    def _named(self, task_ids: Iterable[str]) -> Sequence[BackgroundTask]:
        found = (self._find(task_id) for task_id in task_ids)
        return [task for task in found if task is not None]

    def _restore(self, restored: Restored) -> None:
        """Take in a task of an earlier session."""
        info = restored.info
        work = LeftRunning(info, restored.mark, self._store.place(info.task_id))
        task = self._new_task(work, info.task_id)
        task.log.found(restored.output_bytes)
        task.earlier, task.kept, task.delivered = True, restored.kept, restored.delivered
        task.suppressed, task.timeout_s = info.suppressed, info.timeout_s
        task.found_running(info.started_at)
        self._tasks[task.id] = task
        if info.active:
            self._unwatched.append(task)
        else:
            task.status, task.stop_reason = info.status, info.stop_reason
            task.ended_at = info.ended_at
            task.log.close()
            task.ended.set()

    def _find_again(self, task: BackgroundTask) -> None:
        """A task went on when its event loop was ended: look after it in the next one."""
        if not isinstance(task.work, LeftRunning):
            task.work = LeftRunning(task.info(), _mark_of(task), self._store.place(task.id))
        self._unwatched.append(task)

    def _keep_watch(self) -> None:
        """Look after what nobody does: what earlier sessions left running, or other event loops."""
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            return  # nothing can be looked after yet
        if loop is not self._loop:
            self._loop = loop
            for task in tuple(self._tasks.values()):
                if task.running:
                    task.check_loop()
        if self._unwatched:
            unwatched, self._unwatched = self._unwatched, []
            for task in unwatched:
                task.look_after_again()
            self._look_at_kept()

    def _look_at_kept(self) -> None:
        loop = asyncio.get_running_loop()
        looking = self._looking
        if looking is None or looking.done() or looking.get_loop() is not loop:
            self._looking = loop.create_task(self._look())

    async def _look(self) -> None:
        """Follow the files that tasks write by themselves."""
        sizes: dict[str, int] = {}
        while kept := [task for task in self._tasks.values() if task.kept and task.running]:
            for task in kept:
                size = task.log.total_bytes
                if size != sizes.get(task.id):
                    sizes[task.id] = size
                    task.news.set()
                if task.log.outgrown():
                    self._stop_at_limit(task)
            await asyncio.sleep(LOOK_EVERY_S)


def _mark_of(task: BackgroundTask) -> Mark | None:
    """How its process is found again; None when it is no process."""
    pid, token = task.info().details.get("pid"), getattr(task.work, "token", None)
    return Mark.of(pid, token) if pid is not None and token is not None else None


def _why_not_kept(task: BackgroundTask) -> str:
    """Why a task is stopped at the end of the session."""
    if not task.kept:
        return "the session ended"
    return "it could not be written down, so nobody would have found it again"
