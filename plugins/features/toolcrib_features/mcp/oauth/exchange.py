"""Goes through the SDK's OAuth flow up to the tokens, and stores them."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Any, Literal
from urllib.parse import parse_qs, urlsplit

import httpx2
from attrs import evolve
from mcp.client.auth import (
    AuthorizationCodeResult,
    OAuthClientProvider,
    OAuthFlowError,
    OAuthRegistrationError,
    OAuthTokenError,
)
from mcp.shared.auth import OAuthClientInformationFull, OAuthClientMetadata, OAuthToken
from pydantic import AnyUrl, BaseModel

from toolcrib import __version__
from toolcrib_features.mcp.model import ServerConfig, ServerError, ServerUnreachable
from toolcrib_features.mcp.oauth.callback import Callback
from toolcrib_features.mcp.oauth.record import Document, Grant, Record
from toolcrib_features.mcp.oauth.renewal import HTTP_TIMEOUT_S, PROTOCOL
from toolcrib_features.mcp.oauth.store import LoginFile
from toolcrib_features.mcp.plain import line

Outcome = Literal["authorized", "already-authorized", "not-needed"]
"""What a login came to. `not-needed`: the server lets everybody in."""

Paste = Callable[[str | None], Awaitable[str]]
"""Gets from the user the address that the browser was sent to; the argument says what was wrong
with the last one."""


class Exchange:
    """One login; it is the SDK's storage of tokens as well.

    Raises from `run` what `log_in` does, and the errors of the file.
    """

    def __init__(
        self,
        config: ServerConfig,
        file: LoginFile,
        record: Record,
        grant: Grant | None,
        callback: Callback,
        redirect_uri: str,
        invite: Callable[[str], None],
        paste: Paste | None,
    ) -> None:
        self._config = config
        self._file = file
        self._record = record
        self._grant = grant
        self._callback = callback
        self._invite = invite
        self._paste = paste
        # A registration is for redirect URIs and scopes; with others there has to be another.
        known = record.wanted_scope is None and redirect_uri in redirect_uris(record.client)
        self._client = record.client if known else None
        self._tokens: OAuthToken | None = None
        self._last: httpx2.Response | None = None
        self._provider = OAuthClientProvider(
            config.url,
            OAuthClientMetadata(
                client_name="toolcrib",
                software_version=__version__,
                redirect_uris=[AnyUrl(redirect_uri)],
                token_endpoint_auth_method="none",
            ),
            self,
            redirect_handler=self._redirect,
            callback_handler=self._answer,
        )

    async def run(self) -> Outcome:
        async with httpx2.AsyncClient(timeout=HTTP_TIMEOUT_S) as client:
            try:
                return await self._exchange(client)
            except (httpx2.HTTPError, httpx2.InvalidURL) as error:
                why = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
                raise self._unreachable(line(why, 300)) from None
            except (OAuthFlowError, ValueError) as error:
                text = f"the login at the MCP server {self._config.name!r} failed: "
                raise ServerError(text + self._reason(error)) from None

    async def _exchange(self, client: httpx2.AsyncClient) -> Outcome:
        """Go through the SDK's flow up to the tokens; the request it is for is only a probe."""
        probe = _probe(self._config, client)
        flow = self._provider.async_auth_flow(probe)
        try:
            await anext(flow)
            response = await self._probed(client, probe)
            if response.status_code not in (401, 403):
                return self._let_in(response)
            while (request := await self._next(flow, response)) is not probe:
                response = self._last = await client.send(request)
        finally:
            await flow.aclose()
        self._store()
        return "authorized"

    async def _next(
        self, flow: AsyncGenerator[httpx2.Request, httpx2.Response], response: httpx2.Response
    ) -> httpx2.Request:
        try:
            return await flow.asend(response)
        except StopAsyncIteration:
            # Nothing more to ask for: a 403 that is not about scopes.
            raise self._unreachable(f"HTTP status {response.status_code}") from None

    async def _probed(self, client: httpx2.AsyncClient, probe: httpx2.Request) -> httpx2.Response:
        wanted = self._record.wanted_scope
        if wanted is not None and self._grant is not None:
            challenge = f'Bearer error="insufficient_scope", scope="{wanted}"'
            return httpx2.Response(403, headers={"WWW-Authenticate": challenge}, request=probe)
        response = await client.send(probe, stream=True)
        await response.aclose()
        if response.is_success and self._grant is None and self._config.auth == "oauth":
            return httpx2.Response(401, request=probe)  # it wants a login later, for calls
        session = response.headers.get("mcp-session-id")
        if session is not None and response.is_success:
            end = client.build_request("DELETE", self._config.url, headers=probe.headers)
            del end.headers["content-length"]
            end.headers["mcp-session-id"] = session
            await (await client.send(end, stream=True)).aclose()
        return response

    def _let_in(self, response: httpx2.Response) -> Outcome:
        if not response.is_success:
            raise self._unreachable(f"HTTP status {response.status_code}")
        return "already-authorized" if self._grant is not None else "not-needed"

    def _store(self) -> None:
        context = self._provider.context
        if self._tokens is None or self._client is None:
            raise ValueError("it gave no tokens")
        grant = Grant(
            tokens=_document(self._tokens) or {},
            obtained_at=time.time(),
            client=self._client,
            resource=_document(context.protected_resource_metadata),
            authority=_document(context.oauth_metadata),
        )
        self._file.change(
            self._record.epoch, lambda now: evolve(now, grant=grant, wanted_scope=None)
        )

    async def _redirect(self, url: str) -> None:
        self._callback.expect(parse_qs(urlsplit(url).query)["state"][0])
        self._invite(url)

    async def _answer(self) -> AuthorizationCodeResult:
        pasting = asyncio.create_task(self._pasted()) if self._paste is not None else None
        try:
            answer = await self._callback.answer()
        finally:
            if pasting is not None:
                pasting.cancel()
        return AuthorizationCodeResult(code=answer.code, state=answer.state, iss=answer.issuer)

    async def _pasted(self) -> None:
        assert self._paste is not None
        wrong: str | None = None
        while (wrong := self._callback.paste(await self._paste(wrong))) is not None:
            pass

    async def get_tokens(self) -> OAuthToken | None:
        if self._grant is None:
            return None
        scope = self._grant.tokens.get("scope")
        # Without the refresh token: renewing is not the SDK's business.
        return OAuthToken(
            access_token=self._grant.access_token, scope=scope if isinstance(scope, str) else None
        )

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self._tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        if self._client is None:
            return None
        return OAuthClientInformationFull.model_validate(self._client)

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self._client = client = _document(client_info)
        self._file.change(self._record.epoch, lambda now: evolve(now, client=client))

    def _unreachable(self, why: str) -> ServerUnreachable:
        text = f"the MCP server {self._config.name!r} cannot be asked for a login ({why})"
        return ServerUnreachable(text, unsent=True)

    def _reason(self, error: Exception) -> str:
        """Without what an answer may have in it beyond the fields that are for people."""
        if not isinstance(error, OAuthRegistrationError | OAuthTokenError) or self._last is None:
            return line(str(error), 300)
        what = "registration" if isinstance(error, OAuthRegistrationError) else "token request"
        return f"{what}: HTTP status {self._last.status_code}{_described(self._last)}"


def _probe(config: ServerConfig, client: httpx2.AsyncClient) -> httpx2.Request:
    headers = {**config.headers, "MCP-Protocol-Version": PROTOCOL}
    if config.transport == "sse":
        headers["Accept"] = "text/event-stream"
        return client.build_request("GET", config.url, headers=headers)
    headers["Accept"] = "application/json, text/event-stream"
    hello = {
        "protocolVersion": PROTOCOL,
        "capabilities": {},
        "clientInfo": {"name": "toolcrib", "version": __version__},
    }
    message = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello}
    return client.build_request("POST", config.url, headers=headers, json=message)


def redirect_uris(client: Document | None) -> list[str]:
    uris = client.get("redirect_uris") if client is not None else None
    return [uri for uri in uris if isinstance(uri, str)] if isinstance(uris, list) else []


def _document(model: BaseModel | None) -> dict[str, Any] | None:
    return None if model is None else model.model_dump(mode="json", exclude_none=True)


def _described(response: httpx2.Response) -> str:
    try:
        answer = response.json()
    except (ValueError, RecursionError):
        return ""
    if not isinstance(answer, dict):
        return ""
    parts = (line(answer.get("error"), 100), line(answer.get("error_description"), 300))
    return "".join(f", {part}" for part in parts if part)
