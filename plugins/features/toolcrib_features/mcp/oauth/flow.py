"""The login itself: the user agrees in a browser, and the server's authority gives us tokens."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from contextvars import ContextVar
from typing import Any
from urllib.parse import urlsplit

from attrs import field, frozen

from toolcrib import StateError
from toolcrib_features.mcp.model import ServerConfig, ServerError
from toolcrib_features.mcp.oauth.callback import Callback
from toolcrib_features.mcp.oauth.exchange import Exchange, Outcome, Paste, redirect_uris
from toolcrib_features.mcp.oauth.record import Document, Grant, Record
from toolcrib_features.mcp.oauth.store import LoggedOut, LoginFile

_LOOK_S = 0.5
_ours: ContextVar[bool] = ContextVar("mcp_login", default=False)


@frozen(kw_only=True)
class Invitation:
    """What the user has to be shown: the page to log in at.

    `expires_at` is in seconds since 1970.
    """

    server: str
    url: str = field(repr=False)
    expires_at: float


async def log_in(
    config: ServerConfig,
    file: LoginFile,
    *,
    grant: Grant | None,
    invite: Callable[[str], None],
    paste: Paste | None,
) -> Outcome:
    """Try the grant that there is, and have the user log in when it does not suffice.

    Raises:
        ServerNeedsLogin: the user has refused.
        ServerUnreachable: the server or its authority does not answer.
        ServerError: anything else that keeps the login from being completed.
    """
    _keep_out_of_logs()
    token = _ours.set(True)
    callback = Callback(config.name)
    try:
        record = file.begin()
        redirect_uri = await callback.open(_port_of(record.client))
        exchange = Exchange(config, file, record, grant, callback, redirect_uri, invite, paste)
        return await _first(exchange.run(), _logged_in_elsewhere(file, record))
    except StateError as error:
        raise ServerError(str(error)) from None
    except LoggedOut:
        raise ServerError(f"there was a logout from {config.name!r} during the login") from None
    except OSError as error:
        raise ServerError(f"cannot wait for the browser: {error.strerror}") from None
    finally:
        await callback.aclose()
        _ours.reset(token)


async def _first(*works: Coroutine[Any, Any, Outcome]) -> Outcome:
    tasks = [asyncio.create_task(work) for work in works]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        return done.pop().result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _logged_in_elsewhere(file: LoginFile, before: Record) -> Outcome:
    """Wait until the user has logged in by another process, which ends the login here as well."""
    while True:
        await asyncio.sleep(_LOOK_S)
        now = file.read()
        if now is None or now.epoch != before.epoch:
            raise LoggedOut
        if now.grant is not None and now.grant != before.grant:
            return "authorized"


def _port_of(client: Document | None) -> int:
    """The port of an earlier login, so that its registration goes on being good."""
    for uri in redirect_uris(client):
        try:
            parts = urlsplit(uri)
            if parts.hostname == "127.0.0.1":
                return parts.port or 0
        except ValueError:
            continue
    return 0


class _Ours(logging.Filter):
    """Drops what the SDK logs of our logins: we report it, and there may be secrets in it."""

    def filter(self, record: logging.LogRecord) -> bool:
        return not _ours.get()


_OURS = _Ours()


def _keep_out_of_logs() -> None:
    for module in ("oauth2", "utils"):
        logging.getLogger(f"mcp.client.auth.{module}").addFilter(_OURS)
