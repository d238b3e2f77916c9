"""`toolcrib trust`: whether a workspace's configuration may widen what the user allows."""

from __future__ import annotations

import os

import click

from toolcrib.cli.common import complete_folder, tell
from toolcrib.config.trust import TrustStore


@click.command(
    epilog="""\b
Examples:
  toolcrib trust
  toolcrib trust ~/src/app
  toolcrib trust --remove ~/src/app
  toolcrib trust --list
"""
)
@click.argument("workspace", default=".", shell_complete=complete_folder)
@click.option("--remove", is_flag=True, help="Trust the workspace no longer.")
@click.option("--list", "show", is_flag=True, help="List the trusted workspaces.")
def command(workspace: str, remove: bool, show: bool) -> None:
    """Let the toolcrib.toml of a workspace allow things, not only forbid them."""
    store = TrustStore.of_user(os.environ)
    if show:
        for path in sorted(store.paths()):
            click.echo(path)
        return
    if not remove and not os.path.isdir(workspace):
        raise click.BadParameter(f"{workspace!r} is not a folder", param_hint="WORKSPACE")
    if remove:
        store.untrust(workspace)
        tell(f"{os.path.realpath(workspace)} is not trusted any more")
    else:
        store.trust(workspace)
        tell(f"{os.path.realpath(workspace)} is trusted now")
