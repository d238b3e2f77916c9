"""`toolcrib mcp logout`: forget the login at a server."""

from __future__ import annotations

import click

from toolcrib_features.mcp.cli.named import named_server
from toolcrib_features.mcp.oauth.logins import Logins


@click.command(
    epilog="""\b
Example:
  toolcrib mcp logout github
"""
)
@click.argument("name")
@click.option("--workspace", metavar="D", default=".", show_default=True, help="Where it counts.")
def command(name: str, workspace: str) -> None:
    """Forget the login at a server: its tokens, and as whom we are registered there."""
    session, config = named_server(name, workspace)
    if Logins(session.state_folder).forget(config):
        click.echo(f"logged out of {name!a}")
    else:
        click.echo(f"nobody was logged in at {name!a}")
