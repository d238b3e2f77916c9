"""Reaches a server over the network: streamable HTTP, or the older HTTP with server-sent events."""

from __future__ import annotations

import re
import secrets
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urlsplit

import httpx2
import mcp_types as types
from attrs import define, field
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client

from toolcrib_features.mcp.model import (
    ServerConfig,
    ServerError,
    ServerNeedsLogin,
    ServerUnreachable,
)
from toolcrib_features.mcp.names import command_line
from toolcrib_features.mcp.plain import line

CONNECT_SECONDS = 10.0
WRITE_SECONDS = 30.0
MAX_EVENT_BYTES = 64 << 20
_MAX_ERROR_BYTES = 1 << 16
_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_JSON = {"content-type": "application/json"}
_UNSENT = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout, httpx2.ProxyError)


@define(eq=False)
class RemoteServer:
    """A server with a URL; `streams` is the transport that a session of the SDK takes.

    Attributes:
        lost: why the server is not reached any more, when there is no request to tell it to.
    """

    config: ServerConfig
    auth: httpx2.Auth | None
    environ: Mapping[str, str] = field(repr=False)
    lost: ServerError | None = None
    noise: int = 0
    on_lost: Callable[[], None] = lambda: None
    _failures: dict[str, ServerError] = field(factory=dict, init=False)

    @asynccontextmanager
    async def streams(self) -> AsyncIterator[Any]:
        """Raises ServerError when the connection cannot even be tried."""
        own = self._headers()
        url = self.config.url
        if any(name.lower() == "authorization" for name in own):
            # User information in the URL would take its place.
            url = str(httpx2.URL(url).copy_with(userinfo=b""))

        def client(
            headers: dict[str, str] | None = None,
            timeout: httpx2.Timeout | None = None,
            auth: httpx2.Auth | None = None,
        ) -> httpx2.AsyncClient:
            # How long an answer may take is the matter of who waits for it.
            limits = httpx2.Timeout(WRITE_SECONDS, connect=CONNECT_SECONDS, read=None)
            return _Client(self, headers=own, auth=self.auth, timeout=limits)

        if self.config.transport == "sse":
            async with sse_client(url, httpx_client_factory=client) as streams:
                yield streams
        else:
            async with (
                client() as http,
                streamable_http_client(
                    url, http_client=http, max_sse_event_size=MAX_EVENT_BYTES
                ) as streams,
            ):
                yield streams

    def failure(self, key: str) -> ServerError | None:
        """What stands behind an error that took the place of an answer; see `fail`."""
        return self._failures.pop(key, None)

    def fail(self, error: ServerError) -> str:
        """Keep an error, and give the message by which it is found again."""
        key = secrets.token_hex(16)
        self._failures[key] = error
        return key

    def lose(self, error: ServerError) -> None:
        """End the connection for want of a request that could be told."""
        self.lost = error
        self.on_lost()

    def why_ended(self) -> str:
        return str(self.lost) if self.lost is not None else "it ended the connection"

    def hints(self) -> str:
        return ""

    def refusal(self, response: httpx2.Response, said: str) -> ServerError:
        """What an HTTP status means."""
        status = f"HTTP {response.status_code}"
        reason = line(response.reason_phrase, 60)
        what = f"it answered {status} {reason}".rstrip() + (f": {line(said, 300)}" if said else "")
        if response.status_code == 401:
            return self._unauthorized(what)
        if response.status_code in (429, 502, 503, 504):
            return ServerUnreachable(what, unsent=response.status_code in (429, 503))
        return ServerError(what)

    @property
    def lacking(self) -> ServerError | None:
        """What the login did not suffice for, as far as it is one that can tell."""
        return getattr(self.auth, "refusal", None)

    def unreachable(self, error: httpx2.TransportError) -> ServerUnreachable:
        what = line(str(error), 200) or type(error).__name__
        return ServerUnreachable(
            f"{_origin(self.config.url)} cannot be reached: {what}",
            unsent=isinstance(error, _UNSENT),
        )

    def _unauthorized(self, what: str) -> ServerError:
        config = self.config
        if config.bearer_token_env is not None:
            return ServerError(f"{what}; the token in {config.bearer_token_env} is not accepted")
        if config.headers and config.auth != "oauth":
            return ServerError(f"{what}; the configured headers do not let us in")
        return ServerNeedsLogin(f"it wants a login: {command_line('login', config.name)}")

    def _headers(self) -> dict[str, str]:
        config = self.config
        headers = dict(config.headers)
        if config.bearer_token_env is not None:
            token = self.environ.get(config.bearer_token_env, "").strip()
            if not token:
                raise ServerError(
                    f"the environment variable {config.bearer_token_env} with its token is not set"
                )
            headers = {k: v for k, v in headers.items() if k.lower() != "authorization"}
            headers["Authorization"] = f"Bearer {token}"
        for name, value in headers.items():
            # Said here, since the errors of the HTTP library show the value.
            if not _HEADER_NAME.fullmatch(name) or not (value.isascii() and value.isprintable()):
                raise ServerError(f"the header {name!r} cannot be sent: bad characters")
        return {name: value.strip() for name, value in headers.items()}


class _Client(httpx2.AsyncClient):
    """Turns what goes wrong with one request into an answer to this request.

    Otherwise the transports of the SDK end the connection, or leave out the reason.
    """

    def __init__(self, server: RemoteServer, **options: Any) -> None:
        super().__init__(**options)
        self._server = server

    async def send(self, request: httpx2.Request, **options: Any) -> httpx2.Response:
        try:
            response = await super().send(request, **options)
        except httpx2.TransportError as error:
            return self._instead(request, self._server.unreachable(error), error)
        except ServerError as error:  # of the login
            return self._instead(request, error, error)
        if response.status_code < 400 or request.method == "DELETE":
            return response
        # Of this request only until another one has its answer.
        lacking = self._server.lacking if response.status_code == 403 else None
        body = await _beginning(response)
        said = body.decode("utf-8", "replace")
        if _has_no_session(response, said):
            gone = ServerUnreachable("it has forgotten the session", unsent=True)
            return self._instead(request, gone, None)
        if response.status_code != 401 and _is_rpc_error(body):
            return httpx2.Response(
                response.status_code, headers=_JSON, content=body, request=request
            )
        refusal = lacking or self._server.refusal(response, said if _is_text(response) else "")
        return self._instead(request, refusal, None)

    def _instead(
        self, request: httpx2.Request, failure: ServerError, cause: Exception | None
    ) -> httpx2.Response:
        if cause is not None:
            failure.__cause__ = cause
        if request.method != "POST":
            if self._server.config.transport == "sse":
                raise failure
            return httpx2.Response(405, request=request)  # there is no stream of its own
        if self._server.config.transport == "sse":
            self._server.lose(failure)
            raise failure
        error = {"code": types.INTERNAL_ERROR, "message": self._server.fail(failure)}
        content = {"jsonrpc": "2.0", "id": None, "error": error}
        return httpx2.Response(400, headers=_JSON, json=content, request=request)


async def _beginning(response: httpx2.Response) -> bytes:
    """The first bytes of a body that says what is wrong."""
    body = b""
    try:
        async for piece in response.aiter_bytes():
            body += piece
            if len(body) > _MAX_ERROR_BYTES:
                break
    except (httpx2.TransportError, httpx2.DecodingError):
        pass  # the status says enough
    finally:
        await response.aclose()
    return body


def _has_no_session(response: httpx2.Response, said: str) -> bool:
    """Servers that were started anew know no session of before; some answer 400."""
    if "mcp-session-id" not in response.request.headers:
        return False
    status = response.status_code
    return status == 404 or (status == 400 and "session" in said.lower())


def _is_rpc_error(body: bytes) -> bool:
    try:
        message = types.jsonrpc_message_adapter.validate_json(body, by_name=False)
    except ValueError:
        return False
    return isinstance(message, types.JSONRPCError)


def _is_text(response: httpx2.Response) -> bool:
    kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    return kind in ("text/plain", "application/json")


def _origin(url: str) -> str:
    """Without what may be secret in a URL: user information, path and query."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"
