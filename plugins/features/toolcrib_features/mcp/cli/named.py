"""The server that a command is about."""

from __future__ import annotations

from toolcrib import Session, ToolcribError, open_session
from toolcrib_features.mcp.layers import read_servers
from toolcrib_features.mcp.model import ServerConfig


def named_server(name: str, workspace: str) -> tuple[Session, ServerConfig]:
    """A session in the workspace, and the server of this name there.

    Raises ToolcribError when none is configured.
    """
    session = open_session(workspace, autoload=False)
    configs = {config.name: config for config in read_servers(session).configs}
    if name not in configs:
        known = f"there are: {', '.join(configs)}" if configs else "none is configured"
        raise ToolcribError(f"there is no MCP server {name!r}; {known}")
    return session, configs[name]
