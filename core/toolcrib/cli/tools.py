"""`toolcrib tools`: the table of active tools."""

from __future__ import annotations

import click

from toolcrib.agent import ToolInfo
from toolcrib.cli.common import json_option, open_for, print_json, print_table, workspace_options


@click.command(
    epilog="""\b
Examples:
  toolcrib tools
  toolcrib tools --json
  toolcrib tools --format openai > tools.json
"""
)
@workspace_options
@json_option
@click.option(
    "--format",
    "shape",
    type=click.Choice(["openai", "anthropic", "mcp"]),
    help="Print the definitions in the shape of a model provider's or protocol's tool list.",
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
    tools = open_for(ctx, workspace=workspace, profile=profile, runtime=runtime).tools()
    if shape is not None:
        print_json([_shaped(tool, shape) for tool in tools])
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


def _shaped(tool: ToolInfo, shape: str) -> dict[str, object]:
    name, description, schema = tool.name, tool.description, tool.parameters
    if shape == "openai":
        function = {"name": name, "description": description, "parameters": schema}
        return {"type": "function", "function": function}
    key = "input_schema" if shape == "anthropic" else "inputSchema"
    return {"name": name, "description": description, key: schema}


def _first_sentence(text: str) -> str:
    line = text.strip().split("\n", 1)[0]
    return line.split(". ", 1)[0].rstrip(".")
