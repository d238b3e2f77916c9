"""Raises before its own tool runs."""

from toolcrib import ToolCall, ToolContribution, hookimpl


@hookimpl
def contribute_tool() -> ToolContribution:
    return ToolContribution(name="BrokenBefore", factory="broken_hooks.targets:before")


@hookimpl(tools=["BrokenBefore"])
def before_execute(call: ToolCall) -> None:
    raise RuntimeError("before_execute of broken-before")
