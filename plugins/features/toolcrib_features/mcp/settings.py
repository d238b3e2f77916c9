"""The `[mcp]` table of the configuration."""

from __future__ import annotations

from typing import Annotated, Any

from annotated_types import Gt, Le
from attrs import field, frozen

from toolcrib import settings

STARTUP_TIMEOUT_S = 30.0
TOOL_TIMEOUT_S = 60.0
LONGEST_S = 2_147_483.647
"""What fits into 31 bits of milliseconds, in seconds."""


@settings("mcp")
@frozen(kw_only=True)
class McpSettings:
    """How servers are treated, and those of them that are configured here.

    A server has `startup_timeout_s` seconds to connect and list its tools, and a call
    `tool_timeout_s` seconds without an answer or a sign of progress; a server may have its own.
    `servers` are tables `[mcp.servers.NAME]`. They are read one by one, so that a bad one costs no
    other server.
    """

    startup_timeout_s: Annotated[float, Gt(0), Le(LONGEST_S)] = STARTUP_TIMEOUT_S
    tool_timeout_s: Annotated[float, Gt(0), Le(LONGEST_S)] = TOOL_TIMEOUT_S
    servers: Any = field(factory=dict)
