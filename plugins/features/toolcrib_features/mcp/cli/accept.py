"""`toolcrib mcp accept`: agree to what a server has changed about its tools."""

from __future__ import annotations

import sys

import click

from toolcrib import ToolcribError
from toolcrib_features.mcp.cli.named import named_server
from toolcrib_features.mcp.difference import difference
from toolcrib_features.mcp.memory import ServerMemory


@click.command(
    epilog="""\b
Examples:
  toolcrib mcp accept github
  toolcrib mcp accept github create_issue --yes
"""
)
@click.argument("name")
@click.argument("tools", nargs=-1, metavar="[TOOL ...]")
@click.option("--workspace", metavar="D", default=".", show_default=True, help="Where it counts.")
@click.option("--yes", is_flag=True, help="Accept without asking.")
def command(name: str, tools: tuple[str, ...], workspace: str, yes: bool) -> None:
    """Show what a server has changed about its tools, and let them be used again.

    A tool whose description, schema or annotations are others than when it was accepted is
    disabled until then. TOOL is its name as the server gives it; without one, all changed tools
    are meant. Without a terminal and without --yes nothing is accepted, and the exit status is 1.
    """
    session, config = named_server(name, workspace)
    memory = ServerMemory(session.state_folder, config)
    changed = memory.read().changed
    for tool in tools:
        if tool not in changed:
            known = f"changed are: {', '.join(sorted(changed))}" if changed else "none has"
            raise ToolcribError(f"the tool {tool!r} of {name!r} has not changed; {known}")
    wanted = tools or tuple(sorted(changed))
    if not wanted:
        click.echo(f"nothing to accept: no tool of {name!r} has changed")
        return
    for tool in wanted:
        click.echo("\n".join([f"tool {tool!a}", *difference(*changed[tool]), ""]))
    if not (yes or _agreed(wanted)):
        click.echo("nothing was accepted", err=True)
        raise SystemExit(1)
    memory.accept(changed[tool][1] for tool in wanted)
    click.echo(f"accepted: {', '.join(map(ascii, wanted))}")


def _agreed(tools: tuple[str, ...]) -> bool:
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        click.echo("add --yes to accept without being asked", err=True)
        return False
    count = "this change" if len(tools) == 1 else f"these {len(tools)} changes"
    return click.confirm(f"Accept {count}?", default=False)
