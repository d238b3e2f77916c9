"""Offers the Glob tool."""

from __future__ import annotations

from toolcrib import ToolContribution, hookimpl


@hookimpl
def contribute_tool() -> ToolContribution:
    return ToolContribution(
        name="Glob",
        factory="toolcrib_os.glob.tool:GlobTool",
        domain="search",
        requires=frozenset({"fs", "process"}),
        source="builtin",
        settings={"search": "toolcrib_os.shared.search.settings:SearchSettings"},
    )
