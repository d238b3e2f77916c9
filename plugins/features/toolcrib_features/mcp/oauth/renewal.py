"""Renews tokens: once for all tasks and processes, and not half by a call that is cancelled."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Iterator
from urllib.parse import urljoin

import httpx2
from attrs import evolve
from mcp.client.auth import OAuthFlowError
from mcp.client.auth.oauth2 import OAuthContext
from mcp.shared.auth import OAuthClientInformationFull, ProtectedResourceMetadata

from toolcrib import StateError
from toolcrib_features.mcp.model import ServerConfig, ServerNeedsLogin, ServerUnreachable
from toolcrib_features.mcp.names import command_line
from toolcrib_features.mcp.oauth.record import Document, Grant
from toolcrib_features.mcp.oauth.store import LoggedOut, LoginFile

HTTP_TIMEOUT_S = 30.0
PROTOCOL = "2025-11-25"
"""The version that decides which parameters of OAuth are sent along."""
RETRY_S = 30.0
"""Seconds before a token that is still good is tried to be renewed again."""
_PASSING = {"temporarily_unavailable", "server_error", "slow_down"}


class Renewal:
    """Keeps the token of one server good."""

    def __init__(self, config: ServerConfig, file: LoginFile) -> None:
        self._config = config
        self._file = file
        self._not_before = 0.0
        self._running: set[asyncio.Task[Grant | None]] = set()

    async def current(self) -> Grant | None:
        """A grant to be used now, renewed if that is due; None without a login.

        Raises:
            ServerNeedsLogin: the grant has ended and cannot be renewed.
            ServerUnreachable: the grant has ended and cannot be renewed at the moment.
        """
        with _clear_errors(self._config):
            record = self._file.read()
        grant = record.grant if record is not None else None
        now = time.time()
        if grant is None or not (grant.expired(now) or grant.due(now)):
            return grant
        if grant.expired(now):
            return await self._renewed(grant)
        if time.monotonic() < self._not_before:
            return grant
        try:
            return await self._renewed(grant)
        except (ServerNeedsLogin, ServerUnreachable):
            self._not_before = time.monotonic() + RETRY_S
            return grant  # it is good for some time yet

    async def after_rejection(self, rejected: Grant | None) -> Grant | None:
        """Another grant than the one that the server does not take; None when there is none.

        Raises ServerNeedsLogin or ServerUnreachable as `current` does.
        """
        with _clear_errors(self._config):
            record = self._file.read()
        grant = record.grant if record is not None else None
        if grant is None or rejected is None or grant.access_token != rejected.access_token:
            return grant
        return await self._renewed(grant)

    async def drain(self) -> None:
        """Wait until what is under way is stored; HTTP_TIMEOUT_S at most."""
        if self._running:
            await asyncio.wait(self._running, timeout=HTTP_TIMEOUT_S)

    async def _renewed(self, old: Grant) -> Grant | None:
        # With a refresh token that is used once, an answer that nobody stores ends the login.
        task = asyncio.create_task(self._renew(old))
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        return await asyncio.shield(task)

    async def _renew(self, old: Grant) -> Grant | None:
        with _clear_errors(self._config):
            async with self._file.renewing():
                record = self._file.read()
                if record is None or record.grant is None:
                    return None
                if record.grant.access_token != old.access_token:
                    return record.grant  # another task or process was faster
                new = await self._requested(record.grant)
                grant = self._file.replace_grant(record.epoch, record.grant, new)
        if grant is None:
            raise needs_login(self._config, "the login has ended")
        return grant

    async def _requested(self, grant: Grant) -> Grant | None:
        """The grant with new tokens; None when it has ended for good."""
        if grant.refresh_token is None:
            return None
        try:
            request = _refresh_request(self._config, grant)
        except (OAuthFlowError, httpx2.InvalidURL, ValueError):
            return None  # what is kept of the authority or of us makes no sense
        try:
            async with httpx2.AsyncClient(timeout=HTTP_TIMEOUT_S) as client:
                response = await client.send(request)
        except httpx2.HTTPError as error:
            raise self._later(type(error).__name__) from None
        answer = _json_object(response)
        if _final(response.status_code, answer):
            return None
        if response.status_code != 200:
            raise self._later(f"HTTP status {response.status_code}")
        # What the answer leaves out stays as it is (RFC 6749 6), but for the end of the token.
        kept = {key: grant.tokens.get(key) for key in ("scope", "refresh_token")}
        given = {key: value for key, value in answer.items() if value is not None}
        try:
            return evolve(grant, tokens={**kept, **given}, obtained_at=time.time())
        except ValueError as error:
            raise self._later(str(error)) from None

    def _later(self, why: str) -> ServerUnreachable:
        return ServerUnreachable(
            f"the token for the MCP server {self._config.name!r} cannot be renewed now ({why})",
            unsent=True,
        )


def needs_login(config: ServerConfig, why: str, *, in_part: bool = False) -> ServerNeedsLogin:
    return ServerNeedsLogin(
        f"the MCP server {config.name!r} needs a login ({why}): "
        + command_line("login", config.name),
        in_part=in_part,
    )


@contextlib.contextmanager
def _clear_errors(config: ServerConfig) -> Iterator[None]:
    """Say in the words of a server's errors what is wrong with the file."""
    try:
        yield
    except LoggedOut:
        raise needs_login(config, "there was a logout just now") from None
    except StateError as error:
        raise ServerNeedsLogin(str(error)) from None


def _refresh_request(config: ServerConfig, grant: Grant) -> httpx2.Request:
    """RFC 6749 6, with the resource of RFC 8707 and the client's authentication."""
    context = OAuthContext(config.url, None, None, None, None)  # type: ignore[arg-type]
    context.client_info = OAuthClientInformationFull.model_validate(grant.client)
    if grant.resource is not None:
        context.protected_resource_metadata = ProtectedResourceMetadata.model_validate(
            grant.resource
        )
    endpoint = (grant.authority or {}).get("token_endpoint") or urljoin(config.url, "/token")
    data = {
        "grant_type": "refresh_token",
        "refresh_token": grant.refresh_token or "",
        "client_id": context.client_info.client_id,
    }
    if context.should_include_resource_param(PROTOCOL):
        data["resource"] = context.get_resource_url()
    data, headers = context.prepare_token_auth(data, {"Accept": "application/json"})
    return httpx2.Request("POST", str(endpoint), data=data, headers=headers)


def _json_object(response: httpx2.Response) -> Document:
    try:
        answer = response.json()
    except (ValueError, RecursionError):
        return {}
    return answer if isinstance(answer, dict) else {}


def _final(status: int, answer: Document) -> bool:
    """Whether trying again with the same refresh token is of no use (RFC 6749 5.2)."""
    error = answer.get("error")
    if isinstance(error, str) and error:
        return error not in _PASSING
    return status in (400, 401)
