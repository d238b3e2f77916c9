"""Keeps everybody out of an HTTP server who has no business there."""

from __future__ import annotations

import hmac

from attrs import frozen
from starlette.middleware.cors import CORSMiddleware
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from toolcrib_features.mcp_server.address import Names

_CORS_AGE_S = 600


def guarded(app: ASGIApp, *, names: Names, origins: frozenset[str], token: str) -> ASGIApp:
    """The application behind its guards: names and origins first, then the token."""
    inner: ASGIApp = TokenGuard(app, token.encode())
    if origins:
        # Browsers ask before they send a token.
        inner = CORSMiddleware(
            inner,
            allow_origins=sorted(origins),
            allow_methods=["GET", "POST", "DELETE"],
            allow_headers=["*"],
            expose_headers=["Mcp-Session-Id", "Mcp-Protocol-Version"],
            max_age=_CORS_AGE_S,
        )
    return SiteGuard(inner, names, origins)


@frozen
class SiteGuard:
    """Refuses requests that a foreign web page makes: by the name they call, or by their origin."""

    app: ASGIApp
    names: Names
    origins: frozenset[str]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        hosts = _headers(scope, b"host")
        if len(hosts) != 1 or not self.names.allow(hosts[0]):
            response = PlainTextResponse(
                "this server is not called so; --allow-host adds a name", status_code=421
            )
        elif any(origin.lower() not in self.origins for origin in _headers(scope, b"origin")):
            response = PlainTextResponse(
                "web pages may not call this server; --allow-origin lets one in", status_code=403
            )
        else:
            return await self.app(scope, receive, send)
        await response(scope, receive, send)


@frozen
class TokenGuard:
    """Refuses requests without the token."""

    app: ASGIApp
    token: bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        given = _headers(scope, b"authorization")
        if len(given) == 1 and self._is_token(given[0]):
            return await self.app(scope, receive, send)
        response = PlainTextResponse(
            "send the token of this server: Authorization: Bearer TOKEN",
            status_code=401,
            headers={"WWW-Authenticate": 'Bearer realm="toolcrib"'},
        )
        await response(scope, receive, send)

    def _is_token(self, header: str) -> bool:
        scheme, _, value = header.partition(" ")
        same = hmac.compare_digest(value.strip().encode("utf-8"), self.token)
        return same and scheme.lower() == "bearer"


def _headers(scope: Scope, name: bytes) -> list[str]:
    return [value.decode("latin-1") for key, value in scope["headers"] if key == name]
