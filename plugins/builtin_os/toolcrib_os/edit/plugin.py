"""Offers the Edit tool."""

from __future__ import annotations

from toolcrib import ToolContribution, hookimpl


@hookimpl
def contribute_tool() -> ToolContribution:
    return ToolContribution(
        name="Edit",
        factory="toolcrib_os.edit.tool:EditTool",
        domain="edit",
        requires=frozenset({"fs"}),
        source="builtin",
    )
