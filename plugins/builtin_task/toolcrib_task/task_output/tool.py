"""The TaskOutput tool."""

from __future__ import annotations

from toolcrib import (
    Accesses,
    Execution,
    Lazy,
    RunnableExecution,
    Tasks,
    Tool,
    ToolContext,
    ToolResult,
    read_description,
    text_matcher,
)
from toolcrib_task.task_output.input import MAX_BYTES, TaskOutputInput


class TaskOutputTool(Tool[TaskOutputInput]):
    """Shows the state and the output of a background task."""

    name = "TaskOutput"

    def __init__(self, tasks: Lazy[Tasks]) -> None:
        self._tasks = tasks

    @property
    def description(self) -> str:
        return read_description(__package__, MAX_BYTES=MAX_BYTES)

    def resolve_execution(self, args: TaskOutputInput) -> Execution:
        from toolcrib import TaskDisplay

        async def execute(context: ToolContext) -> ToolResult:
            return _show(args, self._tasks())

        return RunnableExecution(
            execute=execute,
            approval_rule=self.name,
            accesses=Accesses.none(),
            display=TaskDisplay(task_id=args.task_id),
            description=f"Reading the output of task {args.task_id}",
            matches_rule=text_matcher(args.task_id),
            after_earlier=True,
        )


def _show(args: TaskOutputInput, tasks: Tasks) -> ToolResult:
    from toolcrib_task.report import output_report, unknown_tasks

    info = tasks.get(args.task_id)
    output = tasks.output(args.task_id, since=args.since_offset, max_bytes=args.tail_bytes)
    if info is None or output is None:
        return unknown_tasks(tasks, [args.task_id])
    report = output_report(
        info,
        output,
        since=args.since_offset,
        before={"retrieval_status": "not_ready" if info.active else "success"},
    )
    if not info.active:
        tasks.mark_delivered([info.task_id])
    # It is cut here already, and its own words say where the rest is.
    return ToolResult(report, spill_exempt=True)
