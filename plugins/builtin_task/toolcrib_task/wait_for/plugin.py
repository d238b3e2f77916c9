"""Offers the WaitFor tool."""

from __future__ import annotations

from toolcrib import ToolContribution, hookimpl


@hookimpl
def contribute_tool() -> ToolContribution:
    return ToolContribution(
        name="WaitFor",
        factory="toolcrib_task.wait_for.tool:WaitForTool",
        domain="task",
        source="builtin",
        settings={"task": "toolcrib_task.settings:TaskSettings"},
    )
