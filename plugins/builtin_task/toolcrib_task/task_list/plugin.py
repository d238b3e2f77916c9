"""Offers the TaskList tool."""

from __future__ import annotations

from toolcrib import ToolContribution, hookimpl


@hookimpl
def contribute_tool() -> ToolContribution:
    return ToolContribution(
        name="TaskList",
        factory="toolcrib_task.task_list.tool:TaskListTool",
        domain="task",
        source="builtin",
        settings={"task": "toolcrib_task.settings:TaskSettings"},
    )
