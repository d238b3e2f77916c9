"""Logging in at a server, from the first request to a connection."""

from __future__ import annotations

import asyncio
import json
import logging
import stat
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit

import httpx2
import pytest
from attrs import evolve

from toolcrib_features.mcp.model import ServerConfig, ServerError, ServerNeedsLogin
from toolcrib_features.mcp.oauth.store import LoginFile

if TYPE_CHECKING:
    from features.mcp.oauth.conftest import Browser, Site
    from toolcrib_features.mcp.oauth.flow import Invitation


def needs_login(error: BaseException) -> bool:
    if isinstance(error, BaseExceptionGroup):
        return any(needs_login(inner) for inner in error.exceptions)
    return isinstance(error, ServerNeedsLogin)


async def until(happened: asyncio.Event) -> None:
    async with asyncio.timeout(20):
        await happened.wait()


class Shown:
    """A user who looks at the page, but does nothing."""

    def __init__(self) -> None:
        self.url = ""
        self.event = asyncio.Event()

    def __call__(self, invitation: Invitation) -> None:
        self.url = invitation.url
        self.event.set()

    @property
    def query(self) -> dict[str, str]:
        return {key: values[0] for key, values in parse_qs(urlsplit(self.url).query).items()}


async def test_a_server_that_wants_a_login_says_so_and_nothing_is_opened(site: Site) -> None:
    logins = site.logins()
    with pytest.raises(BaseException) as caught:
        await site.call(logins)
    assert needs_login(caught.value)
    assert logins.state(site.config) == "oauth-required"
    assert not any("authorize" in request or "register" in request for request in site.requests)


async def test_a_login_lets_us_in(site: Site, browser: Browser) -> None:
    logins = site.logins()
    assert await logins.login(site.config, browser) == "authorized"
    assert logins.state(site.config) == "oauth-authorized"
    assert await site.call(logins) == "3"
    assert len(browser.urls) == 1
    page = await browser.visits[0]
    assert page.status_code == 200 and page.headers["referrer-policy"] == "no-referrer"
    (client,) = site.authority.clients.values()
    assert client.client_secret is None and client.token_endpoint_auth_method == "none"


async def test_a_login_outlives_the_process_in_a_file_of_the_user_only(
    site: Site, browser: Browser
) -> None:
    await site.logins().login(site.config, browser)
    file = site.logins().file(site.config)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    assert json.loads(file.read_bytes())["grant"]["obtained_at"] > 0
    assert await site.call(site.logins()) == "3"


async def test_a_good_login_needs_no_browser(site: Site, browser: Browser) -> None:
    await site.logins().login(site.config, browser)
    assert await site.logins().login(site.config, browser) == "already-authorized"
    assert len(browser.urls) == 1
    assert site.requests[-1] == "DELETE /mcp"  # the session of the probe is not left behind


async def test_a_rejected_login_can_be_replaced(site: Site, browser: Browser) -> None:
    logins = site.logins()
    await logins.login(site.config, browser)
    site.authority.revoke_all()
    with pytest.raises(BaseException) as caught:
        await site.call(logins)
    assert needs_login(caught.value)
    assert logins.state(site.config) == "oauth-required"
    assert await logins.login(site.config, browser) == "authorized"
    assert await site.call(logins) == "3"


async def test_the_registration_is_used_again(site: Site, browser: Browser) -> None:
    logins = site.logins()
    await logins.login(site.config, browser)
    site.authority.revoke_all()
    await logins.login(site.config, browser)
    assert len(site.authority.clients) == 1
    assert site.authority.logins == 2


async def test_another_redirect_uri_is_registered_anew(site: Site, browser: Browser) -> None:
    logins = site.logins()
    await logins.login(site.config, browser)
    (client,) = site.authority.clients.values()
    assert client.redirect_uris
    site.authority.revoke_all()
    port = client.redirect_uris[0].port
    holding = await asyncio.start_server(lambda *_: None, "127.0.0.1", port)
    try:
        await logins.login(site.config, browser)
    finally:
        holding.close()
    assert len(site.authority.clients) == 2
    assert await site.call(logins) == "3"


async def test_those_who_ask_at_once_share_one_login(site: Site, browser: Browser) -> None:
    logins, seen = site.logins(), Shown()
    first = asyncio.create_task(logins.login(site.config, seen))
    await until(seen.event)
    second = asyncio.create_task(logins.login(site.config, browser))  # is shown the same page
    assert set(await asyncio.gather(first, second)) == {"authorized"}
    assert browser.urls == [seen.url]
    assert site.authority.logins == 1


async def test_who_is_cancelled_leaves_the_login_to_the_others(
    site: Site, browser: Browser
) -> None:
    logins, seen = site.logins(), Shown()
    first = asyncio.create_task(logins.login(site.config, seen))
    await until(seen.event)
    second = asyncio.create_task(logins.login(site.config, Shown()))
    await asyncio.sleep(0)
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    assert not second.done()
    async with httpx2.AsyncClient(follow_redirects=True) as client:
        await client.get(seen.url)
    assert await second == "authorized"


async def test_the_last_one_who_is_cancelled_ends_it(site: Site) -> None:
    logins, seen = site.logins(), Shown()
    only = asyncio.create_task(logins.login(site.config, seen))
    await until(seen.event)
    only.cancel()
    with pytest.raises(asyncio.CancelledError):
        await only
    await logins.aclose()
    port = urlsplit(seen.query["redirect_uri"]).port
    with pytest.raises(OSError):
        await asyncio.open_connection("127.0.0.1", port)
    again = Shown()
    task = asyncio.create_task(logins.login(site.config, again))
    await until(again.event)
    assert again.query["state"] != seen.query["state"]
    task.cancel()


async def test_a_login_in_another_process_ends_this_one(site: Site, browser: Browser) -> None:
    here, elsewhere, seen = site.logins(), site.logins(), Shown()
    task = asyncio.create_task(here.login(site.config, seen))
    await until(seen.event)
    await elsewhere.login(site.config, browser)
    assert await task == "authorized"
    assert seen.url not in browser.urls
    assert await site.call(here) == "3"


async def test_a_login_is_made_where_only_calls_want_one(site: Site, browser: Browser) -> None:
    config = evolve(site.config, auth="oauth")
    site.open_without_token = True
    assert await site.logins().login(site.config, Shown()) == "not-needed"
    assert await site.logins().login(config, browser) == "authorized"


async def test_a_logout_during_a_login_wins(site: Site) -> None:
    here, elsewhere, seen = site.logins(), site.logins(), Shown()
    task = asyncio.create_task(here.login(site.config, seen))
    await until(seen.event)
    assert elsewhere.forget(site.config)
    async with httpx2.AsyncClient(follow_redirects=True) as client:
        await client.get(seen.url)
    with pytest.raises(ServerError, match="logout"):
        await task
    assert here.state(site.config) == "oauth-required"


async def test_a_logout_ends_a_login_of_its_own_process(site: Site, browser: Browser) -> None:
    logins, seen = site.logins(), Shown()
    task = asyncio.create_task(logins.login(site.config, seen))
    await until(seen.event)
    logins.forget(site.config)
    again = asyncio.create_task(logins.login(site.config, browser))
    with pytest.raises(ServerNeedsLogin):
        await task
    assert await again == "authorized"  # begun before the first one has come to its end


async def test_a_login_ends_at_its_time_limit(site: Site) -> None:
    with pytest.raises(ServerNeedsLogin, match=r"0\.5 s"):
        await site.logins().login(site.config, Shown(), timeout_s=0.5)


async def test_a_user_who_refuses_is_believed(
    site: Site, browser: Browser, caplog: pytest.LogCaptureFixture
) -> None:
    site.authority.refusing = True
    with pytest.raises(ServerNeedsLogin) as caught:
        await site.logins().login(site.config, browser)
    assert "access_denied" in str(caught.value)
    assert "\x1b" not in str(caught.value)
    assert not caplog.records or all(r.levelno < logging.WARNING for r in caplog.records)


async def test_the_address_of_the_browser_can_be_pasted(site: Site) -> None:
    """The browser is on another machine, where the redirect leads nowhere."""
    wrongs: list[str | None] = []
    seen = Shown()

    async def paste(wrong: str | None) -> str:
        wrongs.append(wrong)
        await until(seen.event)
        async with httpx2.AsyncClient(follow_redirects=False) as client:
            response = await client.get(seen.url)
        address = response.headers["location"]
        attempts = ["not / an address", f"{seen.query['redirect_uri']}?code=x&state=other", address]
        return attempts[len(wrongs) - 1]

    assert await site.logins().login(site.config, seen, paste=paste) == "authorized"
    assert wrongs[0] is None and wrongs[1] and wrongs[2] and len(wrongs) == 3


async def test_the_code_alone_can_be_pasted(site: Site) -> None:
    seen = Shown()

    async def paste(wrong: str | None) -> str:
        await until(seen.event)
        async with httpx2.AsyncClient(follow_redirects=False) as client:
            response = await client.get(seen.url)
        return f"  {parse_qs(urlsplit(response.headers['location']).query)['code'][0]}\n"

    assert await site.logins().login(site.config, seen, paste=paste) == "authorized"


async def test_a_code_of_another_login_is_useless(site: Site) -> None:
    """PKCE: the code of an attacker's login does not log the user in."""
    logins, seen, theirs = site.logins(), Shown(), Shown()
    other = asyncio.create_task(site.logins().login(site.config, theirs))
    await until(theirs.event)
    async with httpx2.AsyncClient(follow_redirects=False) as client:
        response = await client.get(theirs.url)
    code = parse_qs(urlsplit(response.headers["location"]).query)["code"][0]

    async def paste(wrong: str | None) -> str:
        await until(seen.event)
        return code

    with pytest.raises(ServerError) as caught:
        await logins.login(site.config, seen, paste=paste)
    assert "invalid_grant" in str(caught.value) and code not in str(caught.value)
    other.cancel()


async def test_a_server_without_logins(site: Site) -> None:
    logins = site.logins()
    local = ServerConfig(name="x", command="x")
    token = ServerConfig(name="x", transport="http", url=site.url, bearer_token_env="T")
    headers = ServerConfig(name="x", transport="http", url=site.url, headers={"X-Key": "k"})
    forced = ServerConfig(
        name="x", transport="http", url=site.url, headers={"X-Key": "k"}, auth="oauth"
    )
    states = [logins.state(config) for config in (local, token, headers, forced)]
    assert states == ["not-applicable", "bearer-token", "not-applicable", "oauth-required"]
    assert [logins.auth_for(config) for config in (local, token, headers)] == [None] * 3
    assert logins.auth_for(forced) is not None
    with pytest.raises(ServerError):
        await logins.login(local, Shown())


async def test_a_server_that_is_down(site: Site, unused_tcp_port: int) -> None:
    config = ServerConfig(name="x", transport="http", url=f"http://127.0.0.1:{unused_tcp_port}/")
    with pytest.raises(ServerError):
        await site.logins().login(config, Shown())


async def test_what_is_said_and_logged_has_no_secrets(
    site: Site, browser: Browser, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    logins = site.logins()
    site.authority.lifetime_s = 1
    await logins.login(site.config, browser)
    await asyncio.sleep(0.6)
    assert await site.call(logins) == "3"
    record = LoginFile(site.state_folder, site.config).read()
    said = repr(record) + repr(vars(logins)) + repr(logins.auth_for(site.config))
    logged = [r.getMessage() for r in caplog.records if not r.name.startswith("mcp.server")]
    secrets = site.authority.tokens
    assert len(secrets) == 4
    assert not [secret for secret in secrets for text in (*logged, said) if secret in text]
