"""What the server answers to each request of the protocol."""

from __future__ import annotations

from typing import Any

import mcp_types as mcp
from mcp.server.lowlevel import NotificationOptions, Server
from mcp.server.models import InitializationOptions

from toolcrib import Session, __version__
from toolcrib_features.mcp_server.client import Context
from toolcrib_features.mcp_server.clients import Clients


class ToolServer(Server[Any]):
    """A server of tools whose list may change."""

    def create_initialization_options(
        self,
        notification_options: NotificationOptions | None = None,
        experimental_capabilities: dict[str, dict[str, Any]] | None = None,
        extensions: dict[str, dict[str, Any]] | None = None,
    ) -> InitializationOptions:
        changes = notification_options or NotificationOptions(tools_changed=True)
        return super().create_initialization_options(changes, experimental_capabilities, extensions)


def tool_server(clients: Clients, instructions: str) -> ToolServer:
    """The server for these clients."""

    async def list_tools(
        ctx: Context, params: mcp.PaginatedRequestParams | None
    ) -> mcp.ListToolsResult:
        return await clients.of(ctx).list_tools(params.cursor if params else None)

    async def call_tool(
        ctx: Context, params: mcp.CallToolRequestParams
    ) -> mcp.CallToolResult | mcp.InputRequiredResult:
        return await clients.of(ctx).call(ctx, params)

    async def listen(
        ctx: Context, params: mcp.SubscriptionsListenRequestParams
    ) -> mcp.SubscriptionsListenResult:
        return await clients.of(ctx).listen(ctx, params)

    return ToolServer(
        "toolcrib",
        title="toolcrib",
        version=__version__,
        instructions=instructions,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_subscriptions_listen=listen,
        # No schema of ours asks for arguments in HTTP headers.
        get_tool_input_schema=_no_schema,
    )


def instructions_for(session: Session) -> str:
    """What a model has to know of the place where the tools act."""
    return (
        f"The tools act in the folder {session.workspace.root}; relative paths belong to it. "
        "A call may need an approval of the user; when one is refused, do not work around it."
    )


def _no_schema(name: str) -> None:
    return None
