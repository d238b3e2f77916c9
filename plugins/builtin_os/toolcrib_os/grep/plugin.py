"""Offers the Grep tool."""

from __future__ import annotations

from toolcrib import ToolContribution, hookimpl


@hookimpl
def contribute_tool() -> ToolContribution:
    return ToolContribution(
        name="Grep",
        factory="toolcrib_os.grep.tool:GrepTool",
        domain="search",
        requires=frozenset({"fs", "process"}),
        source="builtin",
        settings={"search": "toolcrib_os.shared.search.settings:SearchSettings"},
    )
