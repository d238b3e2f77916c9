"""Offers the tools of MCP servers, to sessions that have any configured."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolcrib import Feature, hookimpl
from toolcrib_features.mcp.names import is_of_server

if TYPE_CHECKING:
    from toolcrib import Ask, ServiceRegistrar, ToolCall


@hookimpl
def contribute_feature() -> Feature:
    return Feature(
        name="mcp",
        description="Tools of MCP servers ([mcp.servers.NAME], mcp.json, .mcp.json).",
        surface="the tools mcp__<server>__<tool>",
        plugins=("feature-mcp", "feature-mcp-reading"),
        settings={"mcp": "toolcrib_features.mcp.settings:McpSettings"},
        check="toolcrib_features.mcp.layers:check",
    )


@hookimpl
def contribute_service(services: ServiceRegistrar) -> None:
    if services.kind == "agent":
        from toolcrib_features.mcp.joining import join

        services.construct(join)


# Before what would remember an earlier yes.
@hookimpl(before="session-approval-history", tools=is_of_server)
def check_permission(call: ToolCall) -> Ask | None:
    from toolcrib_features.mcp.permission import ask_before_destroying

    return ask_before_destroying(call)
