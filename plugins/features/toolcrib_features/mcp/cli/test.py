"""`toolcrib mcp test`: connect to a server once, and say how it was."""

from __future__ import annotations

import asyncio
import json

import click

from toolcrib import qualify_tool_name
from toolcrib_features.mcp.choice import chosen
from toolcrib_features.mcp.cli.checking import Check, check
from toolcrib_features.mcp.cli.named import named_server
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
        "tools": [tool["name"] for tool in _tools(found)],
        "quarantined": dict(found.known.quarantined),
        "changed": found.changed,
    }


def _lines(found: Check) -> list[str]:
    name = found.config.name
    if found.state != "connected":
        remedy = f" (toolcrib mcp login {name})" if found.state == "needs-auth" else ""
        return [f"{name!a}: {found.state}: {found.error or 'it is disabled'}{remedy}"]
    tools = _tools(found)
    lines = [f"{name!a}: connected to {line(found.title, 100)}, protocol {found.protocol}"]
    if found.noise:
        lines.append(f"note: {found.noise} lines of its standard output were no messages")
    lines.append(f"{len(tools)} tools:" if tools else "no tools")
    lines += [f"  {tool['name']}  {tool['summary']}" for tool in tools]
    for tool, reason in found.known.quarantined.items():
        lines.append(f"  cannot be used: {tool!a}: {line(reason, 200)}")
    if found.changed:
        shown = ", ".join(map(ascii, found.changed))
        lines.append(f"changed since they were accepted: {shown} (toolcrib mcp accept {name})")
    return lines


def _tools(found: Check) -> list[dict[str, str]]:
    return [
        {
            "name": qualify_tool_name(found.config.name, tool.name),
            "summary": line(tool.description, _SUMMARY_CHARS),
        }
        for tool in found.known.listed or ()
        if chosen(found.config, tool.name)
    ]
