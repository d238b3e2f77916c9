"""`toolcrib mcp list`: every configured server."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import click

from toolcrib import open_session
from toolcrib_features.mcp.cli.shared import printable, tell
from toolcrib_features.mcp.layers import read_servers
from toolcrib_features.mcp.model import ServerConfig

_COLUMNS = ("name", "state", "transport", "target", "configured in", "problem")


@click.command(
    epilog="""\b
Examples:
  toolcrib mcp list
  toolcrib mcp list --workspace ~/src/app --json
"""
)
@click.option(
    "--workspace",
    metavar="D",
    default=".",
    show_default=True,
    help="The folder whose servers are listed, beside the user's.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON, for programs.")
@click.pass_context
def command(ctx: click.Context, workspace: str, as_json: bool) -> None:
    """List the configured servers, where each is configured, and what is wrong with it.

    Values of variables and headers are never shown. `toolcrib mcp test` connects to a server.
    """
    session = open_session(workspace, autoload=(ctx.obj or {}).get("autoload", True))
    servers = read_servers(session)
    for notice in servers.notices:
        tell(f"note: {notice}")
    if as_json:
        import json

        records = [_record(one) for one in servers.configs]
        sys.stdout.write(json.dumps(records, indent=2) + "\n")
    elif not servers.configs:
        tell("no server is configured; `toolcrib mcp add` adds one, `toolcrib mcp import` several")
    else:
        _print_table([_row(one) for one in servers.configs])


def _state(config: ServerConfig) -> str:
    if not config.enabled:
        return "disabled"
    return "failed" if config.problem else "configured"


def _row(config: ServerConfig) -> tuple[str, ...]:
    return (
        config.name,
        _state(config),
        config.transport,
        config.target,
        config.source,
        config.problem or "",
    )


def _record(config: ServerConfig) -> dict[str, Any]:
    return {
        "name": config.name,
        "state": _state(config),
        "enabled": config.enabled,
        "transport": config.transport,
        "target": config.target,
        "cwd": config.cwd,
        "env_keys": sorted(config.env),
        "header_keys": sorted(config.headers),
        "bearer_token_env": config.bearer_token_env,
        "auth": config.auth,
        "startup_timeout_s": config.startup_timeout_s,
        "tool_timeout_s": config.tool_timeout_s,
        "enabled_tools": config.enabled_tools and list(config.enabled_tools),
        "disabled_tools": list(config.disabled_tools),
        "deferred": config.deferred,
        "trusted": config.trusted,
        "pinned": config.pinned,
        "source": config.source,
        "problem": config.problem,
    }


def _print_table(rows: Sequence[tuple[str, ...]]) -> None:
    """A table at a terminal, lines of fields elsewhere."""
    rows = [tuple(printable(" ".join(cell.split())) for cell in row) for row in rows]
    if not sys.stdout.isatty():
        for row in rows:
            click.echo("\t".join(row))
        return
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in _COLUMNS:
        table.add_column(column, overflow="fold")
    for row in rows:
        table.add_row(*map(Text, row))
    Console().print(table)
