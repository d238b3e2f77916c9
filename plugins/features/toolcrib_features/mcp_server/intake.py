"""Takes requests from the network within bounds of time and size."""

from __future__ import annotations

import asyncio

from attrs import frozen
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

HEAD_S = 10.0
"""How long a client may take for the head of a request, or do nothing on a new connection."""
BODY_S = 60.0
"""How long a client may take for the body of a request."""


class PunctualProtocol(H11Protocol):
    """HTTP/1.1, where a connection that has no request is not kept for long.

    Nobody has shown a token yet, and connections are limited: those that wait would keep all
    others out.
    """

    _late: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._watch()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._forget()

    def _watch(self) -> None:
        if self.cycle is not None and not self.cycle.response_complete:
            self._forget()
        elif self._late is None:
            # More pieces of the same head give no more time.
            self._late = self.loop.call_later(HEAD_S, self.transport.close)

    def _forget(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None


@frozen
class TimelyBody:
    """Gives a request up whose body is not there in time, or is broken off."""

    app: ASGIApp

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        limit = asyncio.get_running_loop().time() + BODY_S
        complete = False

        async def timely() -> Message:
            nonlocal complete
            if complete:
                return await receive()
            async with asyncio.timeout_at(limit):
                message = await receive()
            if message["type"] != "http.request":
                raise _BrokenOff
            complete = not message.get("more_body")
            return message

        try:
            await self.app(scope, timely, send)
        except TimeoutError:
            if complete:
                raise
            text = f"the body of a request may take {BODY_S:.0f} s"
            late = PlainTextResponse(text, status_code=408, headers={"Connection": "close"})
            await late(scope, receive, send)
        except _BrokenOff:
            pass


class _BrokenOff(Exception):
    """The client has gone before it has sent all of its request."""
