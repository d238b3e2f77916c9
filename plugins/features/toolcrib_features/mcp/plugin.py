"""Offers the tools of MCP servers, to sessions that have any configured."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolcrib import Feature, hookimpl

if TYPE_CHECKING:
    from toolcrib import ServiceRegistrar


@hookimpl
def contribute_feature() -> Feature:
    return Feature(
        name="mcp",
        description="Tools of MCP servers ([mcp.servers.NAME], mcp.json, .mcp.json).",
        surface="the tools mcp__<server>__<tool>",
        plugins=("feature-mcp",),
        settings={"mcp": "toolcrib_features.mcp.settings:McpSettings"},
    )


@hookimpl
def contribute_service(services: ServiceRegistrar) -> None:
    if services.kind == "agent":
        from toolcrib_features.mcp.joining import join

        services.construct(join)
