"""`toolcrib mcp remove`: forget a server."""

from __future__ import annotations

import os

import click

from toolcrib import ToolcribError, open_session
from toolcrib_features.mcp.cli.shared import chosen_file
from toolcrib_features.mcp.edit import names_in, remove_server
from toolcrib_features.mcp.layers import read_servers
from toolcrib_features.mcp.names import BROUGHT


@click.command(
    epilog="""\b
Examples:
  toolcrib mcp remove time
  toolcrib mcp remove time --workspace .
"""
)
@click.argument("name")
@click.option("--workspace", metavar="D", help="Take it out of .toolcrib/mcp.json in this folder.")
def command(name: str, workspace: str | None) -> None:
    """Take a server out of the user's mcp.json."""
    file, _ = chosen_file(workspace)
    known = names_in(file)
    if name not in known:
        raise ToolcribError(_missing(name, str(file), known, workspace))
    remove_server(file, name)
    click.echo(f"removed {name!a} from {file}")


def _missing(name: str, file: str, known: tuple[str, ...], workspace: str | None) -> str:
    configured = read_servers(open_session(workspace or os.curdir)).configs
    elsewhere = next((one for one in configured if one.name == name), None)
    if elsewhere is not None and name.startswith(BROUGHT):
        return (
            f"the server {name!r} comes with the {elsewhere.source}: turn that off, or give "
            f'{name!r} an entry with "enabled": false in {file}'
        )
    if elsewhere is not None:
        return (
            f"the server {name!r} is configured in {elsewhere.source}: take it out there; with "
            "--workspace D this command does it in .toolcrib/mcp.json of that folder"
        )
    from difflib import get_close_matches

    near = get_close_matches(name, known, n=1)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    return f"{file}: there is no server {name!r}{hint}"
