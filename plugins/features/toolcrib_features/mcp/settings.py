"""The `[mcp]` table of the configuration."""

from __future__ import annotations

from typing import Any

from attrs import Attribute, field, frozen

from toolcrib import settings

STARTUP_TIMEOUT_S = 30.0
TOOL_TIMEOUT_S = 60.0
LONGEST_S = 2_147_483.647
"""What fits into 31 bits of milliseconds, in seconds."""


def _is_time(instance: object, attribute: Attribute[float], value: float) -> None:
    if not 0 < value <= LONGEST_S:
        raise ValueError(f"expected seconds, above 0 and at most {LONGEST_S:.0f}, not {value!r}")


@settings("mcp")
@frozen(kw_only=True)
class McpSettings:
    """How servers are treated, and those of them that are configured here.

    A server has `startup_timeout_s` seconds to connect and list its tools, and a call
    `tool_timeout_s` seconds without an answer or a sign of progress; a server may have its own.
    `servers` are tables `[mcp.servers.NAME]`. They are read one by one, so that a bad one costs no
    other server.
    """

    startup_timeout_s: float = field(default=STARTUP_TIMEOUT_S, validator=_is_time)
    tool_timeout_s: float = field(default=TOOL_TIMEOUT_S, validator=_is_time)
    servers: Any = field(factory=dict)
