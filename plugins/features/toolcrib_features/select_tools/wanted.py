"""Which tools the names and patterns mean that a model gives."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase

from attrs import frozen

from toolcrib import qualify_tool_name, server_prefix

_WILD = frozenset("*?[")


@frozen
class Pattern:
    """A name with wildcards, and the tools that it means."""

    text: str
    matches: tuple[str, ...]


def resolved(text: str, known: Sequence[str]) -> str | Pattern:
    """The name that is meant, whether there is such a tool or not, or the tools of a pattern.

    Beside full names, `server:tool` and `server:*` are understood, and lines of an announcement.
    """
    text = text.strip()
    server, colon, tool = text.partition(":")
    if server in known:
        return server
    if _WILD.isdisjoint(text):
        return qualify_tool_name(server, tool) if server and tool else text
    pattern = server_prefix(server) + tool if colon else text
    return Pattern(text, tuple(name for name in known if fnmatchcase(name, pattern)))
