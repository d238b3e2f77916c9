"""What trusted servers say of their tools, as opinions on whether a call may run."""

from __future__ import annotations

from toolcrib import Approve, Ask, ToolCall
from toolcrib_features.mcp.server_tool import McpExecution


def ask_before_destroying(call: ToolCall) -> Ask | None:
    """Ask each time, unless the user wants no questions (`yolo`).

    To stand before `session-approval-history`, which would remember a yes.
    """
    execution = call.execution
    unasked = call.session is not None and call.session.mode == "yolo"
    if isinstance(execution, McpExecution) and execution.destructive and not unasked:
        return Ask("its server says that it may destroy something")
    return None


def approve_reading(call: ToolCall) -> Approve | None:
    """Let it run; to stand before `default-tool-approve`, as it does for what is built in."""
    execution = call.execution
    if isinstance(execution, McpExecution) and execution.reads_only:
        return Approve("its server, which is trusted, says that it only reads")
    return None
