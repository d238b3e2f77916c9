"""Tells the tools of servers from others by their names."""

from __future__ import annotations

PREFIX = "mcp__"


def is_of_server(session: object, tool: str) -> bool:
    """Whether a tool is one of a server; for the hooks that only concern those."""
    return tool.startswith(PREFIX)
