"""Makes the client of a session as soon as servers are configured; until then it costs nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolcrib import MissingTool, Session, ToolTable

if TYPE_CHECKING:
    from toolcrib_features.mcp.servers import McpServers


def join(session: Session, table: ToolTable) -> None:
    """Offer the tools of the session's servers, now and after each change of its configuration."""
    servers: McpServers | None = None

    def follow() -> None:
        nonlocal servers
        if servers is None:
            from toolcrib_features.mcp.places import Places, may_have_servers

            files = Places.of(session.workspace.root, session.environment).files
            session.watch(*files)
            if not may_have_servers(session, files):
                return
            from toolcrib_features.mcp.servers import McpServers

            servers = McpServers(session, table)
        servers.follow()

    def missing(name: str) -> MissingTool | None:
        if not session.uses_plugin("feature-mcp"):
            from toolcrib_features.mcp.missing import turned_off

            return turned_off(name, session)
        if servers is not None:
            return servers.missing(name)
        from toolcrib_features.mcp.missing import unconfigured

        return unconfigured(name, ())

    session.on_change(follow)
    table.explain_with("feature-mcp", missing)
    follow()
