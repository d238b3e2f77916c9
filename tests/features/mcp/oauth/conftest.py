"""A real authorization server and a real MCP server behind it, on loopback, and a browser."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import socket
import time
from collections.abc import AsyncIterator
from pathlib import Path

import httpx2
import pytest
import uvicorn
from attrs import Factory, define
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.server.auth.provider import (
    AccessToken,
    AuthorizationCode,
    AuthorizationParams,
    AuthorizeError,
    OAuthAuthorizationServerProvider,
    RefreshToken,
    TokenError,
    construct_redirect_uri,
)
from mcp.server.auth.settings import AuthSettings, ClientRegistrationOptions
from mcp.server.mcpserver import MCPServer
from mcp.shared.auth import OAuthClientInformationFull, OAuthToken
from pydantic import AnyHttpUrl
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from toolcrib_features.mcp.model import ServerConfig
from toolcrib_features.mcp.oauth.flow import Invitation
from toolcrib_features.mcp.oauth.logins import Logins


@define(eq=False)
class Authority(OAuthAuthorizationServerProvider[AuthorizationCode, RefreshToken, AccessToken]):
    """Gives tokens to whoever asks; each refresh token can be used once."""

    lifetime_s: int | None = 3600
    refreshable: bool = True
    rotating: bool = True
    refusing: bool = False
    failing_refreshes: int = 0
    refresh_takes_s: float = 0.0
    clients: dict[str, OAuthClientInformationFull] = Factory(dict)
    codes: dict[str, AuthorizationCode] = Factory(dict)
    access: dict[str, AccessToken] = Factory(dict)
    refresh: dict[str, RefreshToken] = Factory(dict)
    tokens: set[str] = Factory(set)
    """All that were ever given."""
    logins: int = 0
    refreshes: int = 0
    replays: int = 0

    def revoke_all(self) -> None:
        self.access.clear()
        self.refresh.clear()

    async def get_client(self, client_id: str) -> OAuthClientInformationFull | None:
        return self.clients.get(client_id)

    async def register_client(self, client_info: OAuthClientInformationFull) -> None:
        self.clients[client_info.client_id] = client_info

    async def authorize(
        self, client: OAuthClientInformationFull, params: AuthorizationParams
    ) -> str:
        if self.refusing:
            raise AuthorizeError("access_denied", "not \x1b[31mtoday")
        code = AuthorizationCode(
            code=f"code-{secrets.token_hex(16)}",
            scopes=params.scopes or [],
            expires_at=time.time() + 60,
            client_id=client.client_id,
            code_challenge=params.code_challenge,
            redirect_uri=params.redirect_uri,
            redirect_uri_provided_explicitly=params.redirect_uri_provided_explicitly,
            resource=params.resource,
        )
        self.codes[code.code] = code
        return construct_redirect_uri(str(params.redirect_uri), code=code.code, state=params.state)

    async def load_authorization_code(
        self, client: OAuthClientInformationFull, authorization_code: str
    ) -> AuthorizationCode | None:
        return self.codes.get(authorization_code)

    async def exchange_authorization_code(
        self, client: OAuthClientInformationFull, authorization_code: AuthorizationCode
    ) -> OAuthToken:
        self.logins += 1
        return self._tokens(client.client_id, authorization_code.scopes, authorization_code)

    async def load_refresh_token(
        self, client: OAuthClientInformationFull, refresh_token: str
    ) -> RefreshToken | None:
        return self.refresh.get(refresh_token) or RefreshToken(
            token=refresh_token, client_id=client.client_id, scopes=[], subject="unknown"
        )

    async def exchange_refresh_token(
        self, client: OAuthClientInformationFull, refresh_token: RefreshToken, scopes: list[str]
    ) -> OAuthToken:
        if refresh_token.subject == "unknown":
            self.replays += 1
            raise TokenError("invalid_grant", "used up")
        if self.rotating:
            self.refresh.pop(refresh_token.token, None)
        await asyncio.sleep(self.refresh_takes_s)
        self.refreshes += 1
        return self._tokens(client.client_id, scopes, refresh_token)

    async def load_access_token(self, token: str) -> AccessToken | None:
        known = self.access.get(token)
        expired = known is not None and known.expires_at is not None
        return None if expired and known.expires_at < time.time() else known  # type: ignore[union-attr, operator]

    async def revoke_token(self, token: AccessToken | RefreshToken) -> None:
        raise NotImplementedError

    def _tokens(
        self, client_id: str, scopes: list[str], origin: AuthorizationCode | RefreshToken
    ) -> OAuthToken:
        access, refresh = f"access-{secrets.token_hex(16)}", f"refresh-{secrets.token_hex(16)}"
        self.tokens |= {access, refresh}
        self.access[access] = AccessToken(
            token=access,
            client_id=client_id,
            scopes=scopes,
            expires_at=self.lifetime_s and int(time.time()) + self.lifetime_s + 1,
            resource=origin.resource,
        )
        if self.refreshable and (self.rotating or isinstance(origin, AuthorizationCode)):
            self.refresh[refresh] = RefreshToken(
                token=refresh, client_id=client_id, scopes=scopes, resource=origin.resource
            )
        given = refresh if refresh in self.refresh else None
        return OAuthToken(
            access_token=access,
            expires_in=self.lifetime_s,
            scope=" ".join(scopes),
            refresh_token=given,
        )


@define(eq=False)
class Site:
    """The MCP server with its authority, and the logins of a user."""

    url: str
    authority: Authority
    state_folder: Path
    requests: list[str] = Factory(list)
    wanted_scope: str | None = None
    """Without it in the token, each request to the server is refused."""
    open_without_token: bool = False

    def lacks_scope(self, scope: Scope) -> bool:
        """Whether a request has a token, but not one of the wanted scope."""
        header = dict(scope["headers"]).get(b"authorization", b"").decode()
        token = self.authority.access.get(header.removeprefix("Bearer "))
        return (
            self.wanted_scope is not None
            and token is not None
            and self.wanted_scope not in token.scopes
        )

    @property
    def config(self) -> ServerConfig:
        return ServerConfig(name="notes", transport="http", url=f"{self.url}/mcp")

    def logins(self) -> Logins:
        return Logins(self.state_folder)

    async def call(self, logins: Logins, config: ServerConfig | None = None) -> str:
        """Connect, call the tool of the server, and disconnect."""
        auth = logins.auth_for(config or self.config)
        async with (
            httpx2.AsyncClient(auth=auth, timeout=10) as http,
            Client(streamable_http_client(f"{self.url}/mcp", http_client=http)) as client,
        ):
            result = await client.call_tool("add", {"a": 1, "b": 2})
        return str(result.content[0].text)  # type: ignore[union-attr]


async def browse(url: str) -> httpx2.Response:
    """A user who opens the page and agrees."""
    async with httpx2.AsyncClient(follow_redirects=True, timeout=10) as browser:
        return await browser.get(url)


class Browser:
    """A user whose browser opens each page that is shown."""

    def __init__(self) -> None:
        self.urls: list[str] = []
        self.visits: list[asyncio.Task[httpx2.Response]] = []

    def __call__(self, invitation: Invitation) -> None:
        self.visit(invitation.url)

    def visit(self, url: str) -> None:
        self.urls.append(url)
        self.visits.append(asyncio.create_task(browse(url)))


@pytest.fixture
async def browser() -> AsyncIterator[Browser]:
    user = Browser()
    yield user
    await asyncio.gather(*user.visits, return_exceptions=True)


class _Web(uvicorn.Server):
    @contextlib.contextmanager
    def capture_signals(self):  # type: ignore[no-untyped-def]
        yield  # the signals are the test runner's


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    listening = socket.create_server(("127.0.0.1", 0))
    url = f"http://127.0.0.1:{listening.getsockname()[1]}"
    authority = Authority()
    site = Site(url, authority, tmp_path / "state")
    server = MCPServer(
        "notes",
        auth_server_provider=authority,
        auth=AuthSettings(
            issuer_url=AnyHttpUrl(url),
            resource_server_url=AnyHttpUrl(f"{url}/mcp"),
            client_registration_options=ClientRegistrationOptions(
                enabled=True, valid_scopes=["read", "write"], default_scopes=["read"]
            ),
            required_scopes=["read"],
            validate_token_resource=True,
        ),
    )

    @server.tool()
    def add(a: int, b: int) -> int:
        return a + b

    app = server.streamable_http_app()

    async def faulty(scope: Scope, receive: Receive, send: Send) -> None:
        answer: ASGIApp = app
        if scope["type"] == "http":
            site.requests.append(f"{scope['method']} {scope['path']}")
            if scope["path"] == "/token" and authority.failing_refreshes and authority.logins:
                authority.failing_refreshes -= 1
                answer = Response("busy", 503)
            elif scope["path"] == "/mcp" and site.open_without_token:
                answer = Response("{}", headers={"Content-Type": "application/json"})
            elif scope["path"] == "/mcp" and site.lacks_scope(scope):
                challenge = f'Bearer error="insufficient_scope", scope="{site.wanted_scope}"'
                answer = Response("", 403, {"WWW-Authenticate": challenge})
        await answer(scope, receive, send)

    config = uvicorn.Config(
        faulty, log_config=None, lifespan="on", ws="none", timeout_graceful_shutdown=1
    )
    web = _Web(config)
    serving = asyncio.create_task(web.serve(sockets=[listening]))
    while not web.started:
        await asyncio.sleep(0.01)
    yield site
    web.should_exit = True
    await serving
    listening.close()
