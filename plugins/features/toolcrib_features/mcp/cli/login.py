"""`toolcrib mcp login`: have the user log in at a server, in a browser."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from collections.abc import Callable
from importlib.util import find_spec
from typing import TYPE_CHECKING

import click

from toolcrib import ToolcribError
from toolcrib_features.mcp.cli.named import named_server
from toolcrib_features.mcp.model import ServerConfig, ServerError
from toolcrib_features.mcp.oauth.logins import LOGIN_S, Logins, uses_logins

if TYPE_CHECKING:
    from toolcrib_features.mcp.oauth.exchange import Outcome, Paste
    from toolcrib_features.mcp.oauth.flow import Invitation

FAILED = 1
"""Exit status when nobody has logged in."""


@click.command(
    epilog="""\b
Examples:
  toolcrib mcp login github
  toolcrib mcp login github --no-browser
"""
)
@click.argument("name")
@click.option("--no-browser", is_flag=True, help="Open no browser, only show the page's address.")
@click.option(
    "--timeout",
    "timeout_s",
    type=click.FloatRange(min=0, min_open=True),
    default=LOGIN_S,
    show_default=True,
    metavar="SECONDS",
    help="How long to wait for the login.",
)
@click.option("--workspace", metavar="D", default=".", show_default=True, help="Where it counts.")
def command(name: str, no_browser: bool, timeout_s: float, workspace: str) -> None:
    """Log in at a server that wants a login (OAuth).

    The address of the login page is shown, and opened in a browser when this is a terminal of a
    desktop. When the browser is on another machine, copy the address that it ends up at, and
    paste it here. Exit status 1: nobody has logged in; 2: the server is not configured, or is
    configured to need no login.
    """
    session, config = named_server(name, workspace)
    if config.problem is not None:
        raise ToolcribError(f"the MCP server {name!r} cannot be used: {config.problem}")
    if not uses_logins(config):
        raise ToolcribError(
            f"the MCP server {name!r} needs no login: it is started here, or let in by a token or "
            f"headers ({config.source})"
        )
    if find_spec("mcp") is None:
        raise ToolcribError("MCP servers need a package that is missing: install toolcrib[mcp]")
    logins = Logins(session.state_folder)
    try:
        outcome = asyncio.run(_log_in(logins, config, no_browser, timeout_s))
    except ServerError as error:
        click.echo(f"toolcrib: {error}", err=True)
        raise SystemExit(FAILED) from None
    text = {
        "authorized": "logged in at",
        "already-authorized": "there is a good login already at",
        "not-needed": 'no login is needed (auth = "oauth" in its settings asks for one) at',
    }[outcome]
    click.echo(f"{text} {name!a}")


async def _log_in(
    logins: Logins, config: ServerConfig, no_browser: bool, timeout_s: float
) -> Outcome:
    terminal = sys.stdin.isatty() and sys.stderr.isatty()

    def show(invitation: Invitation) -> None:
        click.echo(f"To log in at {config.name!a}, open this page:\n{invitation.url}", err=True)
        if terminal:
            click.echo(
                "If the browser cannot come back to this machine, paste here the address that it "
                "ends up at (http://127.0.0.1...).",
                err=True,
            )
            if not no_browser:
                _open_browser(invitation.url)

    paste = _paster() if terminal else None
    try:
        return await logins.login(config, show, paste=paste, timeout_s=timeout_s)
    finally:
        await logins.aclose()


def _open_browser(url: str) -> None:
    """Open it beside us: some browsers give control back only when they are closed."""
    desktop = sys.platform == "darwin" or any(
        os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")
    )
    if not desktop:
        return  # what would be found is a browser that takes this terminal
    import webbrowser

    threading.Thread(target=webbrowser.open, args=(url,), daemon=True).start()


def _paster() -> Paste:
    """Reads lines from the terminal, without a thread that would have to be waited for."""

    async def paste(wrong: str | None) -> str:
        if wrong is not None:
            click.echo(f"That is not it: {wrong}.", err=True)
        loop = asyncio.get_running_loop()
        line: asyncio.Future[str] = loop.create_future()
        loop.add_reader(sys.stdin.fileno(), _line_reader(line))
        try:
            return await line
        finally:
            loop.remove_reader(sys.stdin.fileno())

    return paste


def _line_reader(line: asyncio.Future[str]) -> Callable[[], None]:
    typed = b""

    def read() -> None:
        nonlocal typed
        got = os.read(sys.stdin.fileno(), 65_536)
        if not got:  # the terminal's end-of-file key: no more will come
            asyncio.get_running_loop().remove_reader(sys.stdin.fileno())
        typed += got
        if b"\n" in typed and not line.done():
            line.set_result(typed.decode("utf-8", "replace"))

    return read
