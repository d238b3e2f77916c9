"""The WaitFor tool."""

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
from toolcrib_task.wait_for.input import MAX_TIMEOUT_S, WaitForInput


class WaitForTool(Tool[WaitForInput]):
    """Waits for background tasks."""

    name = "WaitFor"

    def __init__(self, tasks: Lazy[Tasks]) -> None:
        self._tasks = tasks

    @property
    def description(self) -> str:
        return read_description(__package__, MAX_TIMEOUT=MAX_TIMEOUT_S)

    def resolve_execution(self, args: WaitForInput) -> Execution:
        # Waiting needs asyncio and searching an engine; listing the tools needs neither.
        from toolcrib_task.wait_for.pattern import PatternError, line_matcher

        try:
            matches = line_matcher(args.pattern) if args.pattern is not None else None
        except PatternError as error:
            return ToolResult.error(str(error))

        async def execute(context: ToolContext) -> ToolResult:
            from toolcrib_task.wait_for.waiting import wait_for

            return await wait_for(args, matches, self._tasks(), context)

        target = " ".join(args.named) or "any"
        return RunnableExecution(
            execute=execute,
            approval_rule=self.name,
            accesses=Accesses.none(),
            description=f"Waiting up to {args.timeout} s for {_target(args)}",
            matches_rule=text_matcher(target),
            after_earlier=True,
        )


def _target(args: WaitForInput) -> str:
    if not args.named:
        return "any background task" if args.mode == "any" else "all background tasks"
    if len(args.named) == 1:
        return f"task {args.named[0]}"
    return f"{args.mode} of {len(args.named)} tasks"
