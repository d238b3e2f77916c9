"""Offers the Write tool."""

from __future__ import annotations

from toolcrib import ToolContribution, hookimpl


@hookimpl
def contribute_tool() -> ToolContribution:
    return ToolContribution(
        name="Write",
        factory="toolcrib_os.write.tool:WriteTool",
        domain="write",
        requires=frozenset({"fs"}),
        source="builtin",
    )
