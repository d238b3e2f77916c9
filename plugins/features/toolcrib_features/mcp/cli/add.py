"""`toolcrib mcp add`: configure a server."""

from __future__ import annotations

import os
import re
from typing import Any

import click

from toolcrib import server_prefix
from toolcrib_features.mcp.cli.shared import chosen_file, tell
from toolcrib_features.mcp.edit import add_servers
from toolcrib_features.mcp.entries import JSON_KEYS, read_entry
from toolcrib_features.mcp.expand import references
from toolcrib_features.mcp.names import PREFIX, command_line

_SEPARATED = "toolcrib.mcp.add.separated"
_URL = re.compile("https?://", re.IGNORECASE)
_SCHEME = re.compile("[a-z][a-z0-9+.-]*://|https?(:|//)", re.IGNORECASE)
_HOST = re.compile(
    r"(localhost|([\w-]+\.)+[a-z]{2,}|\d+(\.\d+){3}|\[[\da-f:]+\])(:\d+)?/|[\w.-]+:\d+$",
    re.IGNORECASE,
)


class _Add(click.Command):
    """Says where the options of the server belong."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        separated = ctx.meta[_SEPARATED] = "--" in args
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
    _check_name(name)
    separated = bool(click.get_current_context().meta.get(_SEPARATED))
    entry = _entry(target, options, separated=separated)
    read = read_entry(entry, JSON_KEYS).server(name)
    if read.config.problem:
        raise click.UsageError(read.config.problem)
    file, mode = chosen_file(workspace)
    add_servers(file, {name: entry}, replace=replace, mode=mode)
    click.echo(f"added {name!a} to {file}")
    texts = (*target, *entry.get("env", {}).values(), *entry.get("headers", {}).values())
    needed = {one for text in texts for one in references(text)}
    token = options["bearer_token_env"]
    for variable in sorted({*needed, *filter(None, [token])} - os.environ.keys()):
        tell(f"note: the environment variable {variable!r} is not set yet")
    if server_prefix(name) != f"{PREFIX}{name}__":
        tell(f"note: the names of its tools begin with {server_prefix(name)}")
    if workspace is not None:
        tell("note: sessions use it once the workspace is trusted: `toolcrib trust`")
    tell(f"try it with {command_line('test', name)}")


def _check_name(name: str) -> None:
    """Refuse what read_entry lets pass since somebody may have it in a file already."""
    if name != name.strip():
        raise click.UsageError(f"the name {name!r} begins or ends with a blank")
    if not any(char.isalnum() and char.isascii() for char in name):
        raise click.UsageError(f"{name!r} is no name for a server: use letters and digits")


def _entry(target: tuple[str, ...], options: dict[str, Any], *, separated: bool) -> dict[str, Any]:
    """The entry as it is written into the file; what was not said is left out."""
    reached = _is_url(target[0], options["transport"], separated=separated)
    entry: dict[str, Any]
    if reached:
        if len(target) > 1:
            raise click.UsageError(
                f"a URL takes no arguments, but there is {target[1]!r} behind it"
            )
        entry = {"type": options["transport"] or "http", "url": target[0]}
    else:
        entry = {"type": options["transport"]} if options["transport"] else {}
        entry |= {"command": target[0], "args": list(target[1:])}
    for option in ("env", "cwd") if reached else ("header", "bearer_token_env"):
        if options[option]:
            flag = f"--{option.replace('_', '-')}"
            what = "a command, and this is a URL" if reached else "a URL, and this is a command"
            raise click.UsageError(f"{flag} is for {what}: {target[0]!r}")
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


def _is_url(target: str, transport: str | None, *, separated: bool) -> bool:
    """Whether it is an address rather than a program; what can be neither is refused."""
    if transport in ("http", "sse") or _URL.match(target):
        return True
    if _SCHEME.match(target):
        raise click.UsageError(f"{target!r} is no http:// or https:// URL, and no command")
    if not separated and _HOST.match(target):
        raise click.UsageError(
            f"{target!r} looks like a URL without https:// in front; if it is a command, put '--' "
            "in front of it"
        )
    return False


def _variable(given: str) -> tuple[str, str]:
    name, equals, value = given.partition("=")
    return (name, value) if equals else (name, f"${{{name}}}")


def _header(given: str) -> tuple[str, str]:
    match = re.match(r"([^=:]+)[=:]\s*(.*)", given, re.DOTALL)
    if match is None:
        raise click.BadParameter("expected NAME=VALUE", param_hint="--header")
    return match[1], match[2]
