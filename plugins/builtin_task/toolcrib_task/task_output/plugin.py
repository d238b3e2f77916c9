"""Offers the TaskOutput tool."""

from __future__ import annotations

from toolcrib import ToolContribution, hookimpl


@hookimpl
def contribute_tool() -> ToolContribution:
    return ToolContribution(
        name="TaskOutput",
        factory="toolcrib_task.task_output.tool:TaskOutputTool",
        domain="task",
        source="builtin",
        settings={"task": "toolcrib_task.settings:TaskSettings"},
    )
