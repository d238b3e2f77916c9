"""Tells the tools of servers from others by their names."""

from __future__ import annotations

from toolcrib import server_prefix

PREFIX = "mcp__"
_CUT_CHARS = 55
"""How much is left of a name that is too long, in front of its hash."""


def is_of_server(session: object, tool: str) -> bool:
    """Whether a tool is one of a server; for the hooks that only concern those."""
    return tool.startswith(PREFIX)


def head_of(server: str) -> str:
    """What the names of a server's tools begin with, also those that are cut."""
    return server_prefix(server)[:_CUT_CHARS]
