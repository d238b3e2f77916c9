"""The command `toolcrib mcp`; each of its parts is a module of its own."""

from __future__ import annotations

from importlib import import_module

import click

_PARTS = {
    "list": "listing",
    "add": "add",
    "remove": "remove",
    "import": "importing",
    "test": "test",
    "login": "login",
    "logout": "logout",
    "accept": "accept",
}


class _Parts(click.Group):
    """Imports a part when it is used or listed."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_PARTS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in _PARTS:
            return None
        module = import_module(f"toolcrib_features.mcp.cli.{_PARTS[name]}")
        part: click.Command = module.command
        return part


@click.group(
    cls=_Parts,
    epilog="""\b
Examples:
  toolcrib mcp add time -- uvx mcp-server-time
  toolcrib mcp add docs https://docs.example.com/mcp
  toolcrib mcp import --dry-run
  toolcrib mcp list
""",
)
def command() -> None:
    """Configure and try the MCP servers whose tools sessions have."""
