"""Offers the TaskStop tool."""

from __future__ import annotations

from toolcrib import ToolContribution, hookimpl


@hookimpl
def contribute_tool() -> ToolContribution:
    return ToolContribution(
        name="TaskStop",
        factory="toolcrib_task.task_stop.tool:TaskStopTool",
        domain="task",
        source="builtin",
        settings={"task": "toolcrib_task.settings:TaskSettings"},
    )
