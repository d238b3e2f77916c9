"""Connections and bodies of requests that take their time."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator

import pytest
import uvicorn
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.types import Receive, Scope, Send

from toolcrib_features.mcp_server import intake
from toolcrib_features.mcp_server.address import Address
from toolcrib_features.mcp_server.intake import PunctualProtocol, TimelyBody

HEAD = b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\n"


async def echo(scope: Scope, receive: Receive, send: Send) -> None:
    body = await Request(scope, receive).body()
    if body == b"slow":
        await asyncio.sleep(0.6)
    await PlainTextResponse(body)(scope, receive, send)


@pytest.fixture
async def port(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[int]:
    """A server with little patience."""
    monkeypatch.setattr(intake, "HEAD_S", 0.4)
    monkeypatch.setattr(intake, "BODY_S", 0.4)
    listening = Address("127.0.0.1", 0).listen()
    config = uvicorn.Config(
        TimelyBody(echo), http=PunctualProtocol, lifespan="off", log_config=None, ws="none"
    )
    server = uvicorn.Server(config)
    with contextlib.closing(listening):
        serving = asyncio.create_task(server.serve(sockets=[listening]))
        yield listening.getsockname()[1]
        server.should_exit = True
        await serving


async def talk(port: int, *pieces: bytes, pause_s: float = 0.0) -> bytes:
    """Send in pieces, and read until the other end closes the connection."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    with contextlib.closing(writer):

        async def send() -> None:
            for piece in pieces:
                writer.write(piece)
                await asyncio.sleep(pause_s)

        sending = asyncio.create_task(send())
        async with asyncio.timeout(20):
            received = await reader.read()
        sending.cancel()
        return received


@pytest.mark.parametrize("pieces", [(), (HEAD[:20],), [HEAD[n : n + 1] for n in range(len(HEAD))]])
async def test_a_connection_without_a_whole_request_is_closed(
    port: int, pieces: tuple[bytes, ...]
) -> None:
    """Also one that sends a byte now and then."""
    assert await talk(port, *pieces, pause_s=0.1) == b""


async def test_a_second_request_may_not_take_longer_than_the_first(port: int) -> None:
    """A connection that is used again is no better than a new one."""
    answered = await talk(port, HEAD + b"\r\nbody" + HEAD[:20], b"x", pause_s=0.1)
    assert answered.count(b"HTTP/1.1 ") == 1 and answered.endswith(b"body")


async def test_a_body_that_does_not_come_is_given_up(port: int) -> None:
    """Its client is told; a byte now and then is not enough."""
    answered = await talk(port, HEAD + b"\r\n", b"b", b"o", pause_s=0.15)
    assert answered.startswith(b"HTTP/1.1 408 ")


async def test_an_answer_may_take_its_time(port: int) -> None:
    """Only what the client has to do has limits."""
    answered = await talk(port, HEAD + b"Connection: close\r\n\r\nsl", b"ow", pause_s=0.1)
    assert answered.endswith(b"slow")


async def test_a_request_that_is_broken_off_harms_nobody(
    port: int, caplog: pytest.LogCaptureFixture
) -> None:
    """The next one is answered, and there is nothing to complain of."""
    for _ in range(3):
        _, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(HEAD + b"\r\nbo")
        await writer.drain()
        writer.close()
    assert (await talk(port, HEAD + b"Connection: close\r\n\r\nbody")).endswith(b"body")
    assert not [record for record in caplog.records if record.levelname == "ERROR"]


def test_connections_are_watched_over_and_quick() -> None:
    """They take it from where the server listens: a machine that falls silent is noticed."""
    with contextlib.closing(Address("127.0.0.1", 0).listen()) as listening:
        listening.setblocking(True)
        with socket.create_connection(listening.getsockname()):
            accepted, _ = listening.accept()
            with accepted:
                assert accepted.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
                assert accepted.proto == socket.IPPROTO_TCP  # else asyncio would wait with answers
                if hasattr(socket, "TCP_KEEPIDLE"):
                    assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE) == 30
