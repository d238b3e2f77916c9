"""The TaskStop tool."""

from __future__ import annotations

from typing import Any

from toolcrib import (
    Accesses,
    Execution,
    Lazy,
    RunnableExecution,
    TaskInfo,
    Tasks,
    Tool,
    ToolContext,
    ToolResult,
    read_description,
    text_matcher,
)
from toolcrib_task.task_stop.input import TaskStopInput

_SHOWN_LINES = 10
_SHOWN_BYTES = 4_096


class TaskStopTool(Tool[TaskStopInput]):
    """Stops a background task."""

    name = "TaskStop"

    def __init__(self, tasks: Lazy[Tasks]) -> None:
        self._tasks = tasks

    @property
    def description(self) -> str:
        return read_description(__package__)

    def resolve_execution(self, args: TaskStopInput) -> Execution:
        from toolcrib import TaskStopDisplay

        async def execute(context: ToolContext) -> ToolResult:
            return await _stop(args, self._tasks())

        # Making the tasks takes over those of earlier sessions, which resolving must not do.
        tasks = self._tasks.peek()
        known = tasks.get(args.task_id) if tasks is not None else None
        return RunnableExecution(
            execute=execute,
            approval_rule=self.name,
            # Held alone, so that it counts as a change and is asked about.
            accesses=Accesses.resource(f"task:{args.task_id}"),
            display=TaskStopDisplay(
                task_id=args.task_id, description=known.description if known else None
            ),
            description=f"Stopping task {args.task_id}",
            matches_rule=text_matcher(args.task_id),
            after_earlier=True,
        )


async def _stop(args: TaskStopInput, tasks: Tasks) -> ToolResult:
    from toolcrib_task.report import unknown_tasks

    before = tasks.get(args.task_id)
    if before is None:
        return unknown_tasks(tasks, [args.task_id])
    if not before.active:
        reason = before.stop_reason or "it had ended already; nothing was stopped"
        return ToolResult(_outcome(before, reason))
    after = await tasks.stop(args.task_id, args.stated_reason, notify=False)
    if after is None:
        return ToolResult.error(
            f"Task {args.task_id!r} cannot be stopped: a call still waits for it. It ends with "
            "that call, or at its time limit."
        )
    if after.active:
        return ToolResult.error(
            f"Task {args.task_id!r} was told to stop, but it still runs. TaskOutput shows what it "
            "is doing; call TaskStop again."
        )
    return ToolResult(_outcome(after, _reason(after, args)) + _last_lines(after, tasks))


def _reason(info: TaskInfo, args: TaskStopInput) -> str:
    if info.status == "killed":
        return info.stop_reason or args.stated_reason
    how = {"timed_out": "it reached its time limit"}.get(info.status, "it ended by itself")
    why = f": {info.stop_reason}" if info.stop_reason else ""
    return f"{how} before it could be stopped{why}"


def _outcome(info: TaskInfo, reason: str) -> str:
    from toolcrib_task.records import render

    record: dict[str, Any] = {
        "task_id": info.task_id,
        "status": info.status,
        "reason": reason,
        "exit_code": info.details.get("exit_code"),
    }
    return render(record)


def _last_lines(info: TaskInfo, tasks: Tasks) -> str:
    from toolcrib_task.records import clipped

    output = tasks.output(info.task_id, max_bytes=_SHOWN_BYTES)
    if output is None or not output.text.strip():
        return ""
    lines = output.text.rstrip("\n").split("\n")
    last = "\n".join(clipped(line, 500) for line in lines[-_SHOWN_LINES:])
    return f"\n\n[last lines of its output]\n{last}"
