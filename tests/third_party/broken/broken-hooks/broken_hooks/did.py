"""Raises after its own tool ran."""

from toolcrib import Outcome, ToolCall, ToolContribution, hookimpl


@hookimpl
def contribute_tool() -> ToolContribution:
    return ToolContribution(name="BrokenDid", factory="broken_hooks.targets:did")


@hookimpl(tools=["BrokenDid"])
async def did_execute(call: ToolCall, outcome: Outcome) -> None:
    raise RuntimeError("did_execute of broken-did")
