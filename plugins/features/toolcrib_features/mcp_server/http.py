"""Serves many clients over HTTP, at `/mcp`."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
from collections.abc import AsyncIterator, Iterator

import uvicorn
from mcp.server.streamable_http_manager import StreamableHTTPASGIApp, StreamableHTTPSessionManager
from starlette.routing import Route, Router
from starlette.types import ASGIApp

from toolcrib_features.mcp_server.address import Address, HttpOptions, Names
from toolcrib_features.mcp_server.attendance import Attendance
from toolcrib_features.mcp_server.clients import Clients, SessionOptions
from toolcrib_features.mcp_server.guard import guarded
from toolcrib_features.mcp_server.hosting import host, say
from toolcrib_features.mcp_server.intake import PunctualProtocol, TimelyBody
from toolcrib_features.mcp_server.presence import Presence
from toolcrib_features.mcp_server.protocol import ToolServer, instructions_for, tool_server
from toolcrib_features.mcp_server.serving import announce, open_keeper

PATH = "/mcp"
MAX_BODY = 8 * 1024 * 1024
"""Bytes of a request."""
MAX_CONNECTIONS = 512
_ANSWERING_S = 3.0
"""How long answers may take to go out at the end."""


def serve_http(options: SessionOptions, http: HttpOptions) -> None:
    """Serve until a signal ends it."""
    names = Names.of(http.address, http.hosts)
    with contextlib.closing(http.address.listen()) as listening:
        keeper = open_keeper(options)

        async def serve(told: asyncio.Event) -> None:
            clients = Clients(
                keeper, options, only_one=False, idle_s=http.idle_s, limit=http.max_clients
            )
            server = tool_server(clients, instructions_for(keeper))
            here = Address(http.address.host, listening.getsockname()[1])
            announce(keeper, f"http://{here}{PATH}")
            say(f"clients send the token in {http.token_place}: Authorization: Bearer TOKEN")
            if not here.local:
                say("warning: other machines can reach this, and what they send is not encrypted")
            try:
                await _serve(server, clients, http, names, listening, told)
            finally:
                await clients.aclose()

        host(serve)


async def _serve(
    server: ToolServer,
    clients: Clients,
    http: HttpOptions,
    names: Names,
    listening: socket.socket,
    told: asyncio.Event,
) -> None:
    manager = StreamableHTTPSessionManager(
        server,
        session_idle_timeout=http.idle_s,
        max_sessions=http.max_clients,
        max_request_body_size=MAX_BODY,
    )
    sessions = Attendance(StreamableHTTPASGIApp(manager), http.max_clients, http.idle_s)
    app = TimelyBody(Router([Route(PATH, Presence(sessions))]))
    web = _Web(_config(guarded(app, names=names, origins=http.origins, token=http.token)))
    async with _answering(web, listening) as answering, manager.run():
        ending = asyncio.create_task(told.wait())
        await asyncio.wait({ending, answering}, return_when=asyncio.FIRST_COMPLETED)
        ending.cancel()
        # What is cut off from here on is no fault.
        logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)
        web.should_exit = True
        clients.cancel()
        # What was cancelled still tells its client so.
        await clients.answered(timeout_s=_ANSWERING_S)


@contextlib.asynccontextmanager
async def _answering(web: _Web, listening: socket.socket) -> AsyncIterator[asyncio.Task[None]]:
    task = asyncio.create_task(web.serve(sockets=[listening]))
    try:
        yield task
    finally:
        web.should_exit = True
        await task


def _config(app: ASGIApp) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        log_config=None,
        log_level="error",
        access_log=False,
        lifespan="off",
        ws="none",
        http=PunctualProtocol,
        proxy_headers=False,
        server_header=False,
        limit_concurrency=MAX_CONNECTIONS,
        timeout_graceful_shutdown=round(_ANSWERING_S),
    )


class _Web(uvicorn.Server):
    """Leaves the signals to us."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield
