"""Offers the Read tool."""

from __future__ import annotations

from toolcrib import ToolContribution, hookimpl


@hookimpl
def contribute_tool() -> ToolContribution:
    return ToolContribution(
        name="Read",
        factory="toolcrib_os.read.tool:ReadTool",
        domain="read",
        requires=frozenset({"fs"}),
        source="builtin",
        settings={"read": "toolcrib_os.read.settings:ReadSettings"},
    )
