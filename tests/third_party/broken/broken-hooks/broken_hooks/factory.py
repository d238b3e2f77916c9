"""Names a module for its tool that does not exist."""

from toolcrib import ToolContribution, hookimpl


@hookimpl
def contribute_tool() -> ToolContribution:
    return ToolContribution(name="BrokenFactory", factory="broken_hooks.nowhere:Tool")
