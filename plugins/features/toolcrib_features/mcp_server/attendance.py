"""Makes room for new clients of the handshake protocol where others have left without a word."""

from __future__ import annotations

from time import monotonic

from attrs import define, field
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from starlette.types import ASGIApp, Message, Receive, Scope, Send

_SESSION = b"mcp-session-id"
_VERSION = b"mcp-protocol-version"
_REST_S = 10.0
"""A session that was used in the last so many seconds is not given up for another."""


@define
class _Use:
    requests: int = 0
    """How many are being answered, streams that are open among them."""
    at: float = field(factory=monotonic)


@define(eq=False)
class Attendance:
    """Ends the session that nobody has used for the longest when another would be one too many.

    Many clients never say goodbye, above all those that are killed. A client that is still there
    has a stream open as a rule; one that has none begins anew when it is told that its session is
    over.

    Attributes:
        limit: so many sessions at the same time.
        idle_s: seconds after which one that nobody uses ends anyway.
    """

    app: ASGIApp
    limit: int
    idle_s: float
    _uses: dict[str, _Use] = field(factory=dict, init=False)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        # The first of several with one name counts, as in the SDK.
        headers = {name: value.decode("latin-1") for name, value in reversed(scope["headers"])}
        if headers.get(_VERSION) in MODERN_PROTOCOL_VERSIONS:
            return await self.app(scope, receive, send)
        session = headers.get(_SESSION)
        if session is None:
            await self._make_room(scope)
            return await self.app(scope, receive, self._noting(send))
        use = self._uses.get(session, _Use())
        use.requests += 1
        try:
            await self.app(scope, receive, send)
        finally:
            use.requests -= 1
            use.at = monotonic()
            if scope["method"] == "DELETE":
                self._uses.pop(session, None)

    def _noting(self, send: Send) -> Send:
        async def note(message: Message) -> None:
            if message["type"] == "http.response.start" and message["status"] == 200:
                for name, value in message["headers"]:
                    if name.lower() == _SESSION:
                        self._uses[value.decode("latin-1")] = _Use()
            await send(message)

        return note

    async def _make_room(self, scope: Scope) -> None:
        now = monotonic()
        for session, use in list(self._uses.items()):
            if not use.requests and use.at < now - self.idle_s:
                del self._uses[session]
        rested = {
            session: use.at
            for session, use in self._uses.items()
            if not use.requests and use.at < now - min(_REST_S, self.idle_s / 2)
        }
        if len(self._uses) >= self.limit and rested:
            await self._end(min(rested, key=rested.__getitem__), scope)

    async def _end(self, session: str, scope: Scope) -> None:
        """End a session as its client would."""
        del self._uses[session]
        goodbye = {**scope, "method": "DELETE", "headers": [(_SESSION, session.encode("latin-1"))]}
        await self.app(goodbye, _nothing, _nobody)


async def _nothing() -> Message:
    return {"type": "http.request", "body": b"", "more_body": False}


async def _nobody(message: Message) -> None:
    pass
