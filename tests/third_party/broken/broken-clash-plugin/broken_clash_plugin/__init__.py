"""Has an entry point with the name of another distribution's."""

from toolcrib import ToolContribution, hookimpl


@hookimpl
def contribute_tool() -> ToolContribution:
    return ToolContribution(name="BrokenClash", factory="broken_clash_plugin:missing")
