"""`toolcrib mcp test`: connect to a server once, and say how it was."""

from __future__ import annotations

import asyncio
import json

import click

from toolcrib import qualify_tool_name
from toolcrib_features.mcp.cli.checking import Check, check
from toolcrib_features.mcp.cli.named import named_server
from toolcrib_features.mcp.cli.shared import counted
from toolcrib_features.mcp.model import ToolDefinition
from toolcrib_features.mcp.names import command_line
from toolcrib_features.mcp.plain import line

FAILED = 1
"""Exit status when the server cannot be used."""
_SUMMARY_CHARS = 70


@click.command(
    epilog="""\b
Examples:
  toolcrib mcp test github
  toolcrib mcp test github --json
"""
)
@click.argument("name")
@click.option("--workspace", metavar="D", default=".", show_default=True, help="Where it counts.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON, for programs.")
def command(name: str, workspace: str, as_json: bool) -> None:
    """Connect to a server, list its tools, and disconnect.

    What it lists is remembered: sessions show these tools before they are connected. Exit
    status 1: it cannot be used.
    """
    session, config = named_server(name, workspace)
    found = asyncio.run(check(session, config))
    click.echo(json.dumps(_plain(found), indent=2) if as_json else "\n".join(_lines(found)))
    if found.state != "connected":
        raise SystemExit(FAILED)


def _plain(found: Check) -> dict[str, object]:
    return {
        "name": found.config.name,
        "state": found.state,
        "error": found.error,
        "server": found.title,
        "protocol": found.protocol,
        "noise": found.noise,
        "tools": [_name(found, tool) for tool in found.tools],
        "left_out": found.left_out,
        "quarantined": dict(found.known.quarantined),
        "changed": found.changed,
        "offers": list(found.known.offers),
        "source": found.config.source,
    }


def _lines(found: Check) -> list[str]:
    name = found.config.name
    if found.state == "needs-auth":
        login = command_line("login", name)
        return [f"{name!a}: needs-auth: log in with {login}, or let its entry name a token"]
    if found.state != "connected":
        error = found.error or f"its entry says so ({found.config.source})"
        return [f"{name!a}: {found.state}: {error}"]
    lines = [f"{name!a}: connected to {line(found.title, 100)}, protocol {found.protocol}"]
    if found.noise:
        were = "was no message" if found.noise == 1 else "were no messages"
        lines.append(f"note: {counted(found.noise, 'line')} of its standard output {were}")
    tools = found.tools
    lines.append(f"{counted(len(tools), 'tool')}:" if tools else "no tools")
    for tool in tools:
        lines.append(f"  {_name(found, tool)}  {line(tool.description, _SUMMARY_CHARS)}".rstrip())
    if found.left_out:
        lines.append(f"left out by its entry: {', '.join(map(ascii, found.left_out))}")
    for bad, reason in found.known.quarantined.items():
        lines.append(f"  cannot be used: {bad!a}: {line(reason, 200)}")
    if found.known.offers:
        lines.append(f"it also has {' and '.join(found.known.offers)}")
    if found.changed:
        shown = ", ".join(map(ascii, found.changed))
        lines.append(f"changed since they were accepted: {shown} ({command_line('accept', name)})")
    return lines


def _name(found: Check, tool: ToolDefinition) -> str:
    return qualify_tool_name(found.config.name, tool.name)
