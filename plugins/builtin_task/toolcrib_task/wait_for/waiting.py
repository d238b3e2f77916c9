"""Waits for tasks, and tells what became of them."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Sequence
from typing import Any

from attrs import define

from toolcrib import TaskInfo, Tasks, ToolContext, ToolResult
from toolcrib_task.records import (
    MAX_VALUE_CHARS,
    SEPARATOR,
    clipped,
    duration,
    render,
    render_all,
)
from toolcrib_task.report import MAX_OUTPUT_BYTES, newest, output_report, unknown_tasks
from toolcrib_task.wait_for.input import WaitForInput
from toolcrib_task.wait_for.pattern import LineMatcher, OutputSearch

NEWS_S = 1.0
"""How long output may go unnoticed at the most."""
PROGRESS_EVERY_S = 1.0
_SHOWN_TASKS = 20
_WITH_OUTPUT = 8
_LINE_CHARS = 500


async def wait_for(
    args: WaitForInput, matches: LineMatcher | None, tasks: Tasks, context: ToolContext
) -> ToolResult:
    """Wait as the arguments say; a wait that is cancelled touches no task."""
    running = _running(tasks)
    wanted = args.named or tuple(info.task_id for info in running)
    if unknown := [task_id for task_id in wanted if tasks.get(task_id) is None]:
        return unknown_tasks(tasks, unknown)
    if not wanted:
        return ToolResult(_no_tasks(args, tasks))
    searches = [] if matches is None else [OutputSearch(one, matches) for one in wanted]
    wait = _Wait(args, tasks, running, wanted, searches)
    async with _progress(args, tasks, context):
        await wait.until_over()
    return wait.result()


def _no_tasks(args: WaitForInput, tasks: Tasks) -> str:
    record = {"wait_status": "no_tasks", "waited_ms": 0, "timeout_ms": args.timeout * 1000}
    text = f"{render(record)}\n\nNo background tasks run, so there is nothing to wait for."
    if ended := tasks.list(active_only=False):
        text += f" Ended before: {newest(ended, _WITH_OUTPUT)}. TaskOutput shows their output."
    return text


def _running(tasks: Tasks) -> tuple[TaskInfo, ...]:
    """The tasks in the background that run; calls in the foreground end by themselves."""
    return tuple(info for info in tasks.list() if info.detached)


@contextlib.asynccontextmanager
async def _progress(args: WaitForInput, tasks: Tasks, context: ToolContext) -> AsyncIterator[None]:
    """Tell whoever watches, every second, how long the wait has taken."""
    if not context.watched:
        yield
        return

    async def tell() -> None:
        started = asyncio.get_running_loop().time()
        while True:
            elapsed = asyncio.get_running_loop().time() - started
            count = len(_running(tasks))
            context.update(
                f"Waiting: {duration(elapsed)} of {duration(args.timeout)}, "
                f"{count} {'task runs' if count == 1 else 'tasks run'}",
                replace=True,
            )
            await asyncio.sleep(PROGRESS_EVERY_S)

    telling = asyncio.create_task(tell())
    try:
        await asyncio.sleep(0)
        yield
    finally:
        telling.cancel()


@define
class _Wait:
    """One wait: for the tasks `wanted`, while those in `running` ran at its start."""

    args: WaitForInput
    tasks: Tasks
    running: Sequence[TaskInfo]
    wanted: Sequence[str]
    searches: Sequence[OutputSearch]
    waited_ms: int = 0

    async def until_over(self) -> None:
        """Return when enough tasks are done, or the time is over."""
        clock = asyncio.get_running_loop().time
        started = clock()
        try:
            async with asyncio.timeout(self.args.timeout):
                await self._until_done()
        except TimeoutError:
            pass
        self.waited_ms = round((clock() - started) * 1000)

    async def _until_done(self) -> None:
        while True:
            for search in self.searches:
                await search.look(self.tasks)
            if self.done():
                return
            left = self._not_done()
            if self.searches:
                await self.tasks.news(left, timeout_s=NEWS_S)
            else:
                await self.tasks.wait(
                    left, timeout_s=self.args.timeout, for_all=self.args.mode == "all"
                )

    def done(self) -> bool:
        """Whether what was waited for has happened."""
        left = self._not_done()
        return not left or (self.args.mode == "any" and len(left) < len(self.wanted))

    def result(self) -> ToolResult:
        """What became of the tasks; the ends that it tells count as delivered."""
        if not self.done():
            return ToolResult(self._timed_out())
        finished = self._ended(self.wanted)
        # Of several tasks that nobody named, the first to end is the one that was waited for.
        finished = finished[: _WITH_OUTPUT if self.args.named else 1]
        told = {info.task_id for info in finished}
        others = [info for info in self._ended_of_all() if info.task_id not in told]
        text = self._completed(finished, others)
        self.tasks.mark_delivered([info.task_id for info in (*finished, *others)])
        # It is cut here already, and its own words say where the rest is.
        return ToolResult(text, spill_exempt=True)

    def _completed(self, finished: Sequence[TaskInfo], others: Sequence[TaskInfo]) -> str:
        matched = [search for search in self.searches if search.found is not None]
        gone = [task_id for task_id in self.wanted if self.tasks.get(task_id) is None]
        ids = [info.task_id for info in finished] or [search.task_id for search in matched] or gone
        sections = [
            self._head("pattern_matched" if matched else "completed", ids),
            *(f"A call waited for {task_id}: its result tells how it ended." for task_id in gone),
            *(self._matched(search) for search in matched[:_SHOWN_TASKS]),
            *(self._finished(info, len(finished)) for info in finished),
        ]
        return "\n\n".join(sections + self._rest(others))

    def _timed_out(self) -> str:
        named = self.args.named
        sections = [
            self._head("timed_out", named if len(named) == 1 else ()),
            "The time is over, which is no error: nothing was stopped. Call WaitFor again to wait "
            "longer, or go on with something else; you are told when a task ends.",
        ]
        return "\n\n".join(sections + self._rest(self._ended_of_all()))

    def _head(self, status: str, ids: Sequence[str]) -> str:
        record: dict[str, Any] = {
            "wait_status": status,
            "task_id" if len(ids) < 2 else "task_ids": ", ".join(ids) or None,
            "waited_ms": self.waited_ms,
            "timeout_ms": self.args.timeout * 1000,
            "pattern": self.args.pattern,
        }
        if self.searches:
            record["pattern_found"] = any(search.found is not None for search in self.searches)
        return render(record)

    def _matched(self, search: OutputSearch) -> str:
        info = self.tasks.get(search.task_id)
        record = {
            "task_id": search.task_id,
            "status": info.status if info else None,
            "matched_line": clipped(search.found or "", _LINE_CHARS),
        }
        return f"[matched]\n{render(record)}"

    def _finished(self, info: TaskInfo, count: int) -> str:
        output = self.tasks.output(info.task_id, max_bytes=MAX_OUTPUT_BYTES // count)
        assert output is not None  # of a task that `get` has just told of
        report = output_report(info, output, max_chars=MAX_VALUE_CHARS // count)
        return f"[finished]\n{report}"

    def _rest(self, ended: Sequence[TaskInfo]) -> list[str]:
        """Other tasks: those that ended too, and those that still run."""
        sections = []
        if ended:
            sections.append(
                f"[completed_during_wait]\n{_some(ended)}\nTaskOutput shows what they have written."
            )
        if still := _running(self.tasks):
            sections.append(f"[still_running]\n{_some(still)}")
        return sections

    def _not_done(self) -> list[str]:
        found = {search.task_id for search in self.searches if search.found is not None}
        infos = {task_id: self.tasks.get(task_id) for task_id in self.wanted}
        return [
            task_id
            for task_id, info in infos.items()
            if task_id not in found and info is not None and info.active
        ]

    def _ended_of_all(self) -> list[TaskInfo]:
        ids = dict.fromkeys([*self.wanted, *(info.task_id for info in self.running)])
        return self._ended(list(ids))

    def _ended(self, task_ids: Sequence[str]) -> list[TaskInfo]:
        """Those of the tasks that have ended, first the one that ended first."""
        infos = (self.tasks.get(task_id) for task_id in task_ids)
        ended = [info for info in infos if info is not None and not info.active]
        return sorted(ended, key=lambda info: info.ended_at or 0.0)


def _some(infos: Sequence[TaskInfo]) -> str:
    text = render_all(infos[:_SHOWN_TASKS])
    more = len(infos) - _SHOWN_TASKS
    return text + (f"{SEPARATOR}{more} more: see TaskList" if more > 0 else "")
