"""`toolcrib mcp list`: every configured server, and how it is."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Sequence
from typing import Any

import click

from toolcrib_features.mcp.cli.checking import Check, CheckState, check_all
from toolcrib_features.mcp.cli.named import session_in
from toolcrib_features.mcp.cli.shared import counted, printable, tell
from toolcrib_features.mcp.layers import read_servers
from toolcrib_features.mcp.model import ServerConfig
from toolcrib_features.mcp.names import command_line

_COLUMNS = ("name", "state", "tools", "transport", "target", "configured in", "problem")


@click.command(
    epilog="""\b
Examples:
  toolcrib mcp list
  toolcrib mcp list --workspace ~/src/app --json
  toolcrib mcp list --no-connect
"""
)
@click.option(
    "--workspace",
    metavar="D",
    default=".",
    show_default=True,
    help="The folder whose servers are listed, beside the user's.",
)
@click.option("--no-connect", is_flag=True, help="Only say what is configured.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON, for programs.")
@click.pass_context
def command(ctx: click.Context, workspace: str, no_connect: bool, as_json: bool) -> None:
    """List the configured servers, where each is configured, and how it is.

    Connects to all of them at the same time and disconnects again; what they list is remembered,
    as by `toolcrib mcp test`. Values of variables and headers are never shown.
    """
    session = session_in(workspace)
    servers = read_servers(session)
    for notice in servers.notices:
        tell(f"note: {notice}")
    if no_connect:
        found = [Check(config=one, state=_state(one), error=one.problem) for one in servers.configs]
    else:
        found = asyncio.run(check_all(session, servers.configs, _progress(len(servers.configs))))
    if as_json:
        import json

        records = [_record(one) for one in found]
        sys.stdout.write(json.dumps(records, indent=2) + "\n")
    elif not servers.configs:
        tell("no server is configured; `toolcrib mcp add` adds one, `toolcrib mcp import` several")
    else:
        _print_table([_row(one) for one in found])


def _progress(count: int) -> Callable[[Check], None]:
    """Counts the servers at a terminal, since one may take half a minute."""
    done = 0

    def tell_count(found: Check) -> None:
        nonlocal done
        done += 1
        if sys.stderr.isatty():
            end = "\r" if done < count else "\r\x1b[K"
            click.echo(f"{done} of {counted(count, 'server')}{end}", nl=False, err=True)

    return tell_count


def _state(config: ServerConfig) -> CheckState:
    if not config.enabled:
        return "disabled"
    return "failed" if config.problem else "configured"


def _row(found: Check) -> tuple[str, ...]:
    config = found.config
    return (
        config.name,
        found.state,
        str(len(found.tools)) if found.state == "connected" else "",
        config.transport,
        config.target,
        config.source,
        _problem(found),
    )


def _problem(found: Check) -> str:
    if found.state == "needs-auth":
        return f"log in with {command_line('login', found.config.name)}"
    if found.changed:
        return f"changed tools: {command_line('accept', found.config.name)}"
    return found.error or ""


def _record(found: Check) -> dict[str, Any]:
    config = found.config
    return {
        "name": config.name,
        "state": found.state,
        "tools": [tool.name for tool in found.known.listed or ()],
        "left_out": found.left_out,
        "quarantined": dict(found.known.quarantined),
        "changed": found.changed,
        "offers": list(found.known.offers),
        "enabled": config.enabled,
        "transport": config.transport,
        "target": config.target,
        "cwd": config.cwd and config.without_values(config.cwd),
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
        "parallel": config.parallel,
        "roots": config.roots,
        "pinned": config.pinned,
        "source": config.source,
        "problem": found.error,
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
