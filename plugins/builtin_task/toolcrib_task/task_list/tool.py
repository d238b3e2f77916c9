"""The TaskList tool."""

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
from toolcrib_task.task_list.input import DEFAULT_LIMIT, MAX_LIMIT, TaskListInput


class TaskListTool(Tool[TaskListInput]):
    """Lists background tasks."""

    name = "TaskList"

    def __init__(self, tasks: Lazy[Tasks]) -> None:
        self._tasks = tasks

    @property
    def description(self) -> str:
        return read_description(__package__, LIMIT=DEFAULT_LIMIT)

    def resolve_execution(self, args: TaskListInput) -> Execution:
        async def execute(context: ToolContext) -> ToolResult:
            return ToolResult(_listing(args, self._tasks()))

        return RunnableExecution(
            execute=execute,
            approval_rule=self.name,
            accesses=Accesses.none(),
            description="Listing background tasks",
            matches_rule=text_matcher("active" if args.running_only else "all"),
            after_earlier=True,
        )


def _listing(args: TaskListInput, tasks: Tasks) -> str:
    from toolcrib_task.records import render, render_all

    found = [
        info
        for info in tasks.list(active_only=args.running_only)
        if args.status in (None, info.status) and args.kind in (None, info.kind)
    ]
    if not args.running_only:
        found.reverse()
    shown = found[: args.limit]
    heading = "active_background_tasks" if args.running_only else "background_tasks"
    header: dict[str, object] = {heading: len(shown)}
    if len(shown) < len(found):
        header["total"] = len(found)
        header["next_step"] = (
            f"narrow the list by status or kind, or raise limit (at most {MAX_LIMIT})"
        )
    if not shown:
        return f"{render(header)}\n{_nothing(args, tasks)}"
    return f"{render(header)}\n\n{render_all(shown, max_chars=500)}"


def _nothing(args: TaskListInput, tasks: Tasks) -> str:
    everything = len(tasks.list(active_only=False))
    if not everything:
        return "No background tasks found."
    if args.running_only and args.kind is None:
        return f"No background tasks run. {everything} have ended: active_only=false lists them."
    return f"No background tasks found like that, of {everything} that there are."
