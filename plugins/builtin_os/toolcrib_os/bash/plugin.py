"""Offers the Bash tool."""

from __future__ import annotations

from toolcrib import ToolContribution, hookimpl


@hookimpl
def contribute_tool() -> ToolContribution:
    return ToolContribution(
        name="Bash",
        factory="toolcrib_os.bash.tool:BashTool",
        domain="shell",
        requires=frozenset({"process"}),
        source="builtin",
        settings={"bash": "toolcrib_os.bash.settings:BashSettings"},
    )
