"""Which of a server's tools its configuration lets in."""

from __future__ import annotations

from collections.abc import Iterable
from fnmatch import fnmatchcase

from toolcrib_features.mcp.model import ServerConfig


def chosen(config: ServerConfig, tool: str) -> bool:
    """Whether a tool, by the name that the server gives it, is let in.

    `enabled_tools` has to name it where it is given, and `disabled_tools` must not; both take
    names and globs.
    """
    enabled = config.enabled_tools
    if enabled is not None and not _named(tool, enabled):
        return False
    return not _named(tool, config.disabled_tools)


def _named(tool: str, patterns: Iterable[str]) -> bool:
    return any(tool == pattern or fnmatchcase(tool, pattern) for pattern in patterns)
