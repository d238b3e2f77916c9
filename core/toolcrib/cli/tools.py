"""`toolcrib tools`: the table of active tools."""

from __future__ import annotations

from typing import Any

import click

from toolcrib.agent import ToolInfo
from toolcrib.cli.common import (
    json_option,
    open_for,
    print_json,
    print_table,
    printable,
    settle,
    tell,
    workspace_options,
)

_FORMATS = ["openai", "openai-strict", "anthropic", "gemini", "mcp"]
_MAX_LOSSES = 20


@click.command(
    epilog="""\b
Examples:
  toolcrib tools
  toolcrib tools --json
  toolcrib tools --format openai-strict > tools.json
"""
)
@workspace_options
@json_option
@click.option(
    "--format",
    "shape",
    type=click.Choice(_FORMATS),
    help="Print the definitions as a model provider's or protocol's list of tools has them; what "
    "its schemas cannot say is noted on standard error.",
)
@click.pass_context
def command(
    ctx: click.Context,
    workspace: str,
    profile: str | None,
    runtime: str | None,
    as_json: bool,
    shape: str | None,
) -> None:
    """List the active tools."""
    session = open_for(ctx, workspace=workspace, profile=profile, runtime=runtime)
    settle(session)
    tools = session.tools()
    if shape is not None:
        print_json([entry for tool in tools if (entry := _shaped(tool, shape)) is not None])
    elif as_json:
        print_json([_plain(tool) for tool in tools])
    else:
        print_table(
            ("name", "plugin", "domain", "description"),
            [(t.name, t.plugin, t.domain, _first_sentence(t.description)) for t in tools],
            "no tool is active; `toolcrib explain` says why",
        )


def _plain(tool: ToolInfo) -> dict[str, object]:
    return {
        "name": tool.name,
        "source": tool.source,
        "disclosure": tool.disclosure,
        "domain": tool.domain,
        "plugin": tool.plugin,
        "description": tool.description,
        "parameters": tool.parameters,
    }


def _shaped(tool: ToolInfo, shape: Any) -> dict[str, Any] | None:
    """The entry of one tool; what a provider cannot have costs this tool only."""
    from toolcrib.dialects import UnusableSchema, compile_schema, provider_tool

    try:
        compiled = compile_schema(tool.parameters, shape)
    except UnusableSchema as error:
        tell(f"note: {printable(tool.name)} is left out: {printable(str(error))}")
        return None
    if compiled.losses:
        listed = "; ".join(str(loss) for loss in compiled.losses[:_MAX_LOSSES])
        more = len(compiled.losses) - _MAX_LOSSES
        rest = f"; and {more} more" if more > 0 else ""
        tell(f"note: {printable(tool.name)}: {printable(listed)}{rest}")
    return provider_tool(tool, shape, compiled)


def _first_sentence(text: str) -> str:
    line = text.strip().split("\n", 1)[0]
    return line.split(". ", 1)[0].rstrip(".")
