"""Lets tools run unasked of which a trusted server says that they only read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolcrib import hookimpl
from toolcrib_features.mcp.names import is_of_server

if TYPE_CHECKING:
    from toolcrib import Approve, ToolCall


# Where the builtin tools that only read get their answer, behind every rule of the user's.
@hookimpl(before="default-tool-approve", tools=is_of_server)
def check_permission(call: ToolCall) -> Approve | None:
    from toolcrib_features.mcp.permission import approve_reading

    return approve_reading(call)
