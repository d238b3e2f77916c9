"""Lets the requests of a connection in with the login that there is, and never begins one."""

from __future__ import annotations

from collections.abc import AsyncGenerator

import httpx2
from attrs import evolve
from mcp.client.auth.utils import (
    extract_field_from_www_auth,
    extract_scope_from_www_auth,
    union_scopes,
)

from toolcrib import StateError
from toolcrib_features.mcp.model import ServerConfig, ServerNeedsLogin
from toolcrib_features.mcp.oauth.record import Grant
from toolcrib_features.mcp.oauth.renewal import Renewal, needs_login
from toolcrib_features.mcp.oauth.store import LoggedOut, LoginFile
from toolcrib_features.mcp.plain import line


class LoginAuth(httpx2.Auth):
    """Signs requests to one server, renews the token when that is due or the server rejects it.

    A request raises ServerNeedsLogin when only the user can help, and ServerUnreachable when the
    token has ended and cannot be renewed at the moment. `refusal` is the ServerNeedsLogin of the
    last request, also where a transport has swallowed it or turned it into an error of its own.
    """

    def __init__(self, config: ServerConfig, file: LoginFile, renewal: Renewal) -> None:
        self._config = config
        self._file = file
        self._renewal = renewal
        self.refusal: ServerNeedsLogin | None = None

    async def async_auth_flow(
        self, request: httpx2.Request
    ) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        if _origin(request.url) != _origin(httpx2.URL(self._config.url)):
            yield request
            return
        try:
            grant = await self._renewal.current()
            response = yield self._signed(request, grant)
            if response.status_code == 401:
                grant = await self._renewal.after_rejection(grant)
                if grant is not None:
                    response = yield self._signed(request, grant)
        except ServerNeedsLogin as error:
            self.refusal = error
            raise
        if response.status_code == 401:
            why = "it rejects the login that there is" if grant else "there was none yet"
            self.refusal = needs_login(self._config, why)
            raise self.refusal
        self.refusal = self._wanting(response) if response.status_code == 403 else None

    def _signed(self, request: httpx2.Request, grant: Grant | None) -> httpx2.Request:
        if grant is not None:
            request.headers["Authorization"] = f"Bearer {grant.access_token}"
        return request

    def _wanting(self, response: httpx2.Response) -> ServerNeedsLogin | None:
        """Have the next login ask for what this request lacked; the others work without it."""
        if extract_field_from_www_auth(response, "error") != "insufficient_scope":
            return None
        scope = extract_scope_from_www_auth(response)
        try:
            record = self._file.read()
            if record is not None and scope:
                self._file.change(
                    record.epoch,
                    lambda now: evolve(now, wanted_scope=union_scopes(now.wanted_scope, scope)),
                )
        except (StateError, LoggedOut):
            pass  # the next login finds out by itself what is wrong with the file
        return needs_login(
            self._config, f"the present one lacks {line(scope, 200)!r}", in_part=True
        )


def _origin(url: httpx2.URL) -> tuple[str, str, int | None]:
    return url.scheme, url.host, url.port
