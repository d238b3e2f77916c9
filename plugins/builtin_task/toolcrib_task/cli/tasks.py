"""The command `toolcrib tasks` and what stands behind it."""

from __future__ import annotations

from importlib import import_module

import click

_PARTS = {"list": "listing", "output": "output", "stop": "stop", "attach": "attach"}


class _Parts(click.Group):
    """Imports a part when it is used or listed."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_PARTS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in _PARTS:
            return None
        part: click.Command = import_module(f"toolcrib_task.cli.{_PARTS[name]}").command
        return part


@click.group(
    cls=_Parts,
    epilog="""\b
Examples:
  toolcrib tasks list --active
  toolcrib tasks output bash-4f2k9x0q --tail 20
  toolcrib tasks stop --all
""",
)
def command() -> None:
    """Look at the background tasks of all sessions, and stop them."""
