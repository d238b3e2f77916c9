"""Tells the tools of servers from others by their names."""

from __future__ import annotations

import shlex
from collections.abc import Iterable

from toolcrib import server_prefix

PREFIX = "mcp__"
BROUGHT = "plugin-"
"""How the names of servers begin that come with a feature."""
_CUT_CHARS = 55
"""How much is left of a name that is too long, in front of its hash."""


def is_of_server(session: object, tool: str) -> bool:
    """Whether a tool is one of a server; for the hooks that only concern those."""
    return tool.startswith(PREFIX)


def command_line(part: str, *arguments: str) -> str:
    """A command of `toolcrib mcp`, as it is typed into a shell; `arguments` are names."""
    ends_options = ["--"] if any(argument.startswith("-") for argument in arguments) else []
    return f"`{shlex.join(['toolcrib', 'mcp', part, *ends_options, *arguments])}`"


def head_of(server: str) -> str:
    """What the names of a server's tools begin with, also those that are cut."""
    return server_prefix(server)[:_CUT_CHARS]


def nearest(server: str, heads: Iterable[str]) -> str | None:
    """Which of the heads a name in a tool's name may have been meant for."""
    from difflib import get_close_matches

    known = {head.removeprefix(PREFIX).removesuffix("__").lower(): head for head in heads}
    near = get_close_matches(server.lower(), known, n=1, cutoff=0.6)
    return known[near[0]] if near else None
