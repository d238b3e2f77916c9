"""Connections of the client to a server that wants a login."""

from __future__ import annotations

import contextlib
import os
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

import pytest

from toolcrib_features.mcp.connection import Connection, connect
from toolcrib_features.mcp.model import ServerNeedsLogin
from toolcrib_features.mcp.oauth.auth import LoginAuth

if TYPE_CHECKING:
    from features.mcp.oauth.conftest import Browser, Site
    from toolcrib_features.mcp.oauth.logins import Logins


@contextlib.asynccontextmanager
async def connection(site: Site, auth: LoginAuth | None) -> AsyncIterator[Connection]:
    connected = await connect(site.config, environ=os.environ, cwd="/", auth=auth)
    try:
        yield connected
    finally:
        await connected.aclose()


async def add(connection: Connection) -> object:
    result = await connection.call("add", {"a": 1, "b": 2}, silence_s=10, ceiling_s=10)
    return result["content"][0]["text"]


def auth_for(logins: Logins, site: Site) -> LoginAuth:
    auth = logins.auth_for(site.config)
    assert auth is not None
    return auth


async def test_without_a_login_it_is_refused(site: Site) -> None:
    auth = auth_for(site.logins(), site)
    with pytest.raises(ServerNeedsLogin, match="mcp login notes"):
        async with connection(site, auth):
            pass
    assert auth.refusal is not None


async def test_with_a_login_it_works_also_when_the_token_ends(site: Site, browser: Browser) -> None:
    logins = site.logins()
    await logins.login(site.config, browser)
    async with connection(site, auth_for(logins, site)) as connected:
        assert [tool.name for tool in (await connected.list_tools()).tools] == ["add"]
        site.authority.access.clear()
        assert await add(connected) == "3"
    assert site.authority.refreshes == 1


async def test_a_login_that_ends_is_told_to_the_call_and_can_be_made_anew(
    site: Site, browser: Browser
) -> None:
    logins = site.logins()
    await logins.login(site.config, browser)
    async with connection(site, auth_for(logins, site)) as connected:
        site.authority.revoke_all()
        with pytest.raises(ServerNeedsLogin):
            await add(connected)
    await logins.login(site.config, browser)
    async with connection(site, auth_for(logins, site)) as connected:
        assert await add(connected) == "3"


async def test_the_next_login_asks_for_the_scope_that_was_lacking(
    site: Site, browser: Browser
) -> None:
    logins = site.logins()
    await logins.login(site.config, browser)
    auth = auth_for(logins, site)
    async with connection(site, auth) as connected:
        site.wanted_scope = "write"
        with pytest.raises(ServerNeedsLogin, match=r"'write'.*mcp login notes") as refused:
            await add(connected)
        assert refused.value.in_part
        assert auth.refusal is not None and "'write'" in str(auth.refusal)
        assert await logins.login(site.config, browser) == "authorized"
        assert await add(connected) == "3"  # the same connection, with the new login
        assert auth.refusal is None
    newest = [*site.authority.access.values()][-1]
    assert {"read", "write"} <= set(newest.scopes)
