"""Serves over the standard streams or over HTTP, from the first session to the last."""

from __future__ import annotations

import asyncio
import logging
import os
import sys

from toolcrib import Session
from toolcrib_features.mcp_server.clients import Clients, SessionOptions
from toolcrib_features.mcp_server.hosting import host, say
from toolcrib_features.mcp_server.protocol import instructions_for, tool_server
from toolcrib_features.mcp_server.stdio import Wire, messages


def open_keeper(options: SessionOptions) -> Session:
    """The session that holds the plugins; what is wrong with the configuration shows here."""
    logging.basicConfig(
        stream=sys.stderr, level=logging.WARNING, format="toolcrib: %(levelname)s: %(message)s"
    )
    session = options.open()
    for notice in session.notices:
        say(f"note: {notice}")
    for failure in session.crib.plugins.failures:
        say(f"note: the plugin {failure.plugin!r} failed ({failure.stage}): {failure.reason}")
    return session


def announce(session: Session, where: str) -> None:
    """One line for people: what is served, and where."""
    say(
        f"serving {len(session.tools())} tools over {where}; workspace {session.workspace.root}, "
        f"profile {session.main.profile.name}, mode {session.mode}"
    )


def serve_stdio(options: SessionOptions, wire: Wire) -> None:
    """Serve the one client at the other end of the standard streams until it hangs up."""
    keeper = open_keeper(options)

    async def serve(told: asyncio.Event) -> None:
        clients = Clients(keeper, options, only_one=True)
        server = tool_server(clients, instructions_for(keeper))
        announce(keeper, "standard input and output")
        if os.isatty(wire.input):
            say("waiting for messages of an MCP client; --http serves clients that start nothing")
        try:
            async with messages(wire) as (incoming, outgoing):
                running = asyncio.create_task(
                    server.run(incoming, outgoing, server.create_initialization_options())
                )
                ending = asyncio.create_task(told.wait())
                await asyncio.wait({running, ending}, return_when=asyncio.FIRST_COMPLETED)
                ending.cancel()
                clients.cancel()
                running.cancel()
                await asyncio.wait({running})
        finally:
            await clients.aclose()
        # What is on its way when it is told to end has nowhere to go, which the SDK takes ill.
        if not told.is_set() and not running.cancelled() and (error := running.exception()):
            raise error

    host(serve)
