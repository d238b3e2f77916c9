"""Misspells the name of a hook."""

from toolcrib import ToolCall, hookimpl


@hookimpl
def before_exectue(call: ToolCall) -> None:
    return None
