"""The server that a command is about."""

from __future__ import annotations

import click

from toolcrib import Session, ToolcribError, open_session
from toolcrib_features.mcp.layers import read_servers
from toolcrib_features.mcp.model import ServerConfig


def named_server(name: str, workspace: str) -> tuple[Session, ServerConfig]:
    """A session in the workspace, and the server of this name there.

    Raises ToolcribError when none is configured.
    """
    session = session_in(workspace)
    found = read_servers(session)
    configs = {config.name: config for config in found.configs}
    if name not in configs:
        known = f"there are: {', '.join(configs)}" if configs else "none is configured"
        notices = "".join(f"\n{notice}" for notice in found.notices)
        raise ToolcribError(f"there is no MCP server {name!r}; {known}{notices}")
    return session, configs[name]


def session_in(workspace: str) -> Session:
    """A session in the workspace, with the plugins that the command line was told to load."""
    options = click.get_current_context().obj or {}
    return open_session(workspace, autoload=options.get("autoload", True))
