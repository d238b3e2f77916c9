"""Is written for a contract that does not exist yet."""

from toolcrib import ToolCall, hookimpl

TOOLCRIB_CONTRACT = 99


@hookimpl
def before_execute(call: ToolCall) -> None:
    return None
