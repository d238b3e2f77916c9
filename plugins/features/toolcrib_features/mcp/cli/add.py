"""`toolcrib mcp add`: configure a server."""

from __future__ import annotations

import os
import re
from typing import Any

import click

from toolcrib_features.mcp.cli.shared import chosen_file, tell
from toolcrib_features.mcp.edit import add_servers
from toolcrib_features.mcp.entries import JSON_KEYS, read_entry
from toolcrib_features.mcp.expand import references

_URL = re.compile("https?://", re.IGNORECASE)


class _Add(click.Command):
    """Says where the options of the server belong."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        separated = "--" in args
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            if separated:
                raise
            said = f"{error.format_message()} Put '--' in front of the command of the server."
            raise click.UsageError(said, ctx) from None


@click.command(
    cls=_Add,
    epilog="""\b
Examples:
  toolcrib mcp add time -- uvx mcp-server-time --local-timezone Europe/Paris
  toolcrib mcp add github --env GITHUB_TOKEN -- npx -y @modelcontextprotocol/server-github
  toolcrib mcp add docs https://docs.example.com/mcp --bearer-token-env DOCS_TOKEN
""",
)
@click.argument("name")
@click.argument("target", nargs=-1, required=True, metavar="URL | -- COMMAND [ARGS...]")
@click.option(
    "--env",
    multiple=True,
    metavar="K[=V]",
    help="A variable of the server; without a "
    "value it is taken from the environment at each start.",
)
@click.option("--header", multiple=True, metavar="K=V", help="A header of each request.")
@click.option("--cwd", metavar="D", help="The folder that the server is started in.")
@click.option(
    "--transport",
    type=click.Choice(["stdio", "http", "sse"]),
    help="Without it: stdio for a command, http for a URL.",
)
@click.option("--bearer-token-env", metavar="K", help="The environment variable with the token.")
@click.option("--deferred", is_flag=True, help="Load its tools when the model selects them.")
@click.option("--trusted", is_flag=True, help="Believe what it says of its tools (read-only).")
@click.option("--enabled-tool", multiple=True, metavar="T", help="Only these of its tools; globs.")
@click.option("--disabled-tool", multiple=True, metavar="T", help="Not these of its tools; globs.")
@click.option(
    "--workspace",
    metavar="D",
    help="Write .toolcrib/mcp.json in this folder instead of the user's mcp.json.",
)
@click.option("--replace", is_flag=True, help="Replace a server of this name.")
def command(
    name: str, target: tuple[str, ...], workspace: str | None, replace: bool, **options: Any
) -> None:
    """Add a server: its URL, or behind `--` the command that starts it.

    `${VAR}` and `${VAR:-default}` in what you give are written as they are, and stand for
    environment variables when the server is used.
    """
    entry = _entry(target, options)
    read = read_entry(entry, JSON_KEYS).server(name)
    if read.config.problem:
        raise click.UsageError(read.config.problem)
    if read.remarks:
        raise click.UsageError("; ".join(f"{place[0]}: {text}" for place, text in read.remarks))
    file, mode = chosen_file(workspace)
    add_servers(file, {name: entry}, replace=replace, mode=mode)
    click.echo(f"added {name!a} to {file}")
    texts = (*target, *entry.get("env", {}).values(), *entry.get("headers", {}).values())
    needed = {one for text in texts for one in references(text)}
    token = options["bearer_token_env"]
    for variable in sorted({*needed, *filter(None, [token])} - os.environ.keys()):
        tell(f"note: the environment variable {variable!r} is not set yet")
    if workspace is not None:
        tell("note: sessions use it once the workspace is trusted: `toolcrib trust`")
    tell(f"try it with `toolcrib mcp test {name}`")


def _entry(target: tuple[str, ...], options: dict[str, Any]) -> dict[str, Any]:
    """The entry as it is written into the file; what was not said is left out."""
    reached = len(target) == 1 and _URL.match(target[0])
    if len(target) > 1 and _URL.match(target[0]):
        raise click.UsageError(f"a URL takes no arguments, but there is {target[1]!r} behind it")
    entry: dict[str, Any]
    if reached:
        entry = {"type": options["transport"] or "http", "url": target[0]}
    else:
        entry = {"type": options["transport"]} if options["transport"] else {}
        entry |= {"command": target[0], "args": list(target[1:])}
    entry |= {
        "env": dict(map(_variable, options["env"])),
        "headers": dict(map(_header, options["header"])),
        "cwd": options["cwd"],
        "bearerTokenEnvVar": options["bearer_token_env"],
        "deferred": options["deferred"],
        "trusted": options["trusted"],
        "enabledTools": list(options["enabled_tool"]),
        "disabledTools": list(options["disabled_tool"]),
    }
    return {key: value for key, value in entry.items() if value or key == "args"}


def _variable(given: str) -> tuple[str, str]:
    name, equals, value = given.partition("=")
    return (name, value) if equals else (name, f"${{{name}}}")


def _header(given: str) -> tuple[str, str]:
    match = re.match(r"([^=:]+)[=:]\s*(.*)", given, re.DOTALL)
    if match is None:
        raise click.BadParameter("expected NAME=VALUE", param_hint="--header")
    return match[1], match[2]
