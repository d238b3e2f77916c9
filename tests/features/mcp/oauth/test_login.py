"""Logging in at a server, from the first request to a connection."""

from __future__ import annotations

import json
import stat

import pytest

from toolcrib_features.mcp.model import ServerNeedsLogin


def needs_login(error: BaseException) -> bool:
    if isinstance(error, BaseExceptionGroup):
        return any(needs_login(inner) for inner in error.exceptions)
    return isinstance(error, ServerNeedsLogin)


async def test_a_server_that_wants_a_login_says_so_and_nothing_is_opened(site):
    logins = site.logins()
    with pytest.raises(BaseException) as caught:
        await site.call(logins)
    assert needs_login(caught.value)
    assert logins.state(site.config) == "oauth-required"
    assert not any("authorize" in request or "register" in request for request in site.requests)


async def test_a_login_lets_us_in(site, browser):
    logins = site.logins()
    assert await logins.login(site.config, browser) == "authorized"
    assert logins.state(site.config) == "oauth-authorized"
    assert await site.call(logins) == "3"
    assert len(browser.urls) == 1
    page = await browser.visits[0]
    assert page.status_code == 200 and page.headers["referrer-policy"] == "no-referrer"
    (client,) = site.authority.clients.values()
    assert client.client_secret is None and client.token_endpoint_auth_method == "none"


async def test_a_login_outlives_the_process_in_a_file_of_the_user_only(site, browser):
    await site.logins().login(site.config, browser)
    file = site.logins().file(site.config)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    assert json.loads(file.read_bytes())["grant"]["obtained_at"] > 0
    assert await site.call(site.logins()) == "3"
