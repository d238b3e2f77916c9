"""Raises when it is asked for its tools."""

from toolcrib import ToolContribution, hookimpl


@hookimpl
def contribute_tool() -> ToolContribution:
    raise RuntimeError("contribute_tool of broken-contribute")
