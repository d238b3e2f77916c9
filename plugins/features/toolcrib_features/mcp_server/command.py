"""The command `toolcrib serve`."""

from __future__ import annotations

import os
from importlib.util import find_spec
from typing import TYPE_CHECKING

import click
from attrs import evolve

from toolcrib import ToolcribError

if TYPE_CHECKING:
    from toolcrib_features.mcp_server.address import HttpOptions

MODES = ("manual", "auto", "yolo")
SERVING = "TOOLCRIB_SERVING"
"""The environment variable that tells what a server starts where it comes from."""


@click.command(
    epilog="""\b
Examples:
  toolcrib serve --workspace ~/src/app
  toolcrib serve --workspace ~/src/app --profile review --mode manual
  toolcrib serve --http 8765 --workspace ~/src/app
  TOKEN=... toolcrib serve --http 0.0.0.0:8765 --allow-remote --token-env TOKEN

\b
A client that starts its servers itself, such as an editor, gets
  {"mcpServers": {"toolcrib": {"command": "toolcrib",
                               "args": ["serve", "--workspace", "/home/ann/app"]}}}
"""
)
@click.option("--http", "http", metavar="[HOST:]PORT", help="Serve over HTTP instead, at /mcp.")
@click.option(
    "--workspace",
    metavar="D",
    default=".",
    show_default=True,
    help="The folder that relative paths belong to.",
)
@click.option("--profile", metavar="P", help="The profile to use; see [profiles] in toolcrib.toml.")
@click.option(
    "--mode",
    type=click.Choice(MODES),
    help="The permission mode; without it that of the profile or the configuration.",
)
@click.option(
    "--runtime",
    metavar="NAME",
    help="Where tools act: local, sandbox, or a runtime of a plugin.",
)
@click.option(
    "--token-env",
    metavar="VAR",
    help="The environment variable with the token that clients have to send. Without it one is "
    "made and kept in a file of yours.",
)
@click.option("--allow-remote", is_flag=True, help="Let other machines in; needs --token-env.")
@click.option(
    "--allow-host",
    "allow_hosts",
    metavar="NAME",
    multiple=True,
    help="A further name by which clients may call this server; repeatable.",
)
@click.option(
    "--allow-origin",
    "allow_origins",
    metavar="URL",
    multiple=True,
    help="A web page that may call this server, such as http://localhost:6274; repeatable.",
)
@click.option(
    "--idle-timeout",
    "idle_s",
    metavar="S",
    type=click.FloatRange(min=1, max=86_400 * 7),
    default=1800.0,
    show_default=True,
    help="Seconds without a request after which the session of an HTTP client is closed.",
)
@click.option(
    "--max-clients",
    metavar="N",
    type=click.IntRange(min=1, max=10_000),
    default=64,
    show_default=True,
    help="So many HTTP clients at the same time.",
)
@click.pass_context
def command(
    ctx: click.Context,
    http: str | None,
    workspace: str,
    profile: str | None,
    mode: str | None,
    runtime: str | None,
    token_env: str | None,
    allow_remote: bool,
    allow_hosts: tuple[str, ...],
    allow_origins: tuple[str, ...],
    idle_s: float,
    max_clients: int,
) -> None:
    """Offer the active tools to MCP clients.

    Without --http to the one client that started this program and talks to its standard input and
    output. Each client has a session of its own. Calls that need an approval are put to the user
    of a client that can show questions, and denied otherwise. Ends with its client, or with
    SIGTERM or Ctrl-C, and stops what runs.
    """
    server = _server(
        http,
        token_env=token_env,
        allow_remote=allow_remote,
        hosts=allow_hosts,
        origins=allow_origins,
    )
    _require_mcp()
    _refuse_to_serve_itself()
    from toolcrib_features.mcp_server.hosting import end_at_signals

    end_at_signals()
    # Late, since it takes most of a second.
    from toolcrib_features.mcp_server.clients import SessionOptions
    from toolcrib_features.mcp_server.stdio import claim_streams

    wire = claim_streams()
    options = SessionOptions(
        workspace=workspace,
        profile=profile,
        mode=mode,
        runtime=runtime,
        autoload=ctx.obj.get("autoload", True),
    )
    if server is None:
        from toolcrib_features.mcp_server.serving import serve_stdio

        serve_stdio(options, wire)
    else:
        from toolcrib_features.mcp_server.http import serve_http

        serve_http(options, evolve(server, idle_s=idle_s, max_clients=max_clients))


def _server(
    http: str | None,
    *,
    token_env: str | None,
    allow_remote: bool,
    hosts: tuple[str, ...],
    origins: tuple[str, ...],
) -> HttpOptions | None:
    """How the server is reached over HTTP, if it is; refuses what does not go together."""
    if http is None:
        if token_env or allow_remote or hosts or origins:
            raise click.UsageError("options about tokens, hosts and origins go with --http")
        return None
    from toolcrib_features.mcp_server.address import Address, HttpOptions, origins_of

    try:
        address = Address.parse(http)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--http") from None
    if not address.local and not (allow_remote and token_env):
        raise click.UsageError(
            f"other machines could reach {address}: that needs --allow-remote, and a token of "
            "your own with --token-env"
        )
    pages = origins_of(origins)
    token, place = _token(token_env)
    return HttpOptions(address=address, token=token, token_place=place, hosts=hosts, origins=pages)


def _token(variable: str | None) -> tuple[str, str]:
    """The token and where people find it."""
    from toolcrib_features.mcp_server.token import kept_token, token_from

    if variable is not None:
        return token_from(variable), f"the environment variable {variable}"
    token, file = kept_token()
    return token, str(file)


def _refuse_to_serve_itself() -> None:
    """End a chain of servers each of which starts the next, since it finds itself configured.

    A file of MCP servers that clients and toolcrib share, such as `.mcp.json`, begins one.
    """
    if os.environ.get(SERVING):
        raise ToolcribError(
            "toolcrib serve was started by toolcrib serve: leave it out of the MCP servers that "
            f"toolcrib itself connects to, or take {SERVING} out of the environment"
        )
    os.environ[SERVING] = "1"


def _require_mcp() -> None:
    for name in ("mcp", "uvicorn"):
        if find_spec(name) is None:
            raise ToolcribError(f"toolcrib serve needs the package {name}: install toolcrib[mcp]")
