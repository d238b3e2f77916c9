"""The names under which models see the tools of MCP servers."""

from __future__ import annotations

import re

PREFIX = "mcp__"
"""What the names of all tools of servers begin with, and those of no others."""
MAX_CHARS = 64
"""The longest name that model providers accept."""
_HEAD_CHARS = 55
_UNFIT = re.compile(r"[^A-Za-z0-9_-]+")
_RUN = re.compile(r"_+")


def qualify_tool_name(server: str, tool: str) -> str:
    """The name of a server's tool: `mcp__<server>__<tool>`, the same in every run.

    What providers do not accept becomes `_`, and a run of `_` a single one, so that the two parts
    stay apart. A name of over 64 characters is cut, and ends in a hash of the whole.
    """
    full = server_prefix(server) + _fit(tool)
    if len(full) <= MAX_CHARS:
        return full
    return f"{full[:_HEAD_CHARS]}_{_fnv1a_32(full.encode('ascii')):08x}"


def server_prefix(server: str) -> str:
    """What the qualified names of a server's tools begin with, unless they had to be cut."""
    return f"{PREFIX}{_fit(server)}__"


def _fit(part: str) -> str:
    return _RUN.sub("_", _UNFIT.sub("_", part))


def _fnv1a_32(data: bytes) -> int:
    """The 32-bit hash FNV-1a, as in RFC 9923."""
    value = 0x811C9DC5
    for byte in data:
        value = (value ^ byte) * 0x01000193 & 0xFFFFFFFF
    return value
