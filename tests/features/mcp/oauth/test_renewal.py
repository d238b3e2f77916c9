"""Tokens that end: renewed in time, once, by whichever process comes first."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from typing import TYPE_CHECKING, Any

import httpx2
import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from toolcrib_features.mcp.model import ServerConfig, ServerNeedsLogin, ServerUnreachable
from toolcrib_features.mcp.oauth.logins import Logins
from toolcrib_features.mcp.oauth.record import EARLY_S, Grant
from toolcrib_features.mcp.oauth.store import LoginFile

if TYPE_CHECKING:
    from features.mcp.oauth.conftest import Browser, Site

OTHER_PROCESS = """
import asyncio, sys
from pathlib import Path
import httpx2
from toolcrib_features.mcp.model import ServerConfig
from toolcrib_features.mcp.oauth.logins import Logins

async def main(state, url):
    config = ServerConfig(name="notes", transport="http", url=url)
    logins = Logins(Path(state))
    async with httpx2.AsyncClient(auth=logins.auth_for(config)) as client:
        print("ready", flush=True)
        sys.stdin.readline()
        responses = await asyncio.gather(*(client.get(url) for _ in range(3)))
    print(*(response.status_code for response in responses))

asyncio.run(main(*sys.argv[1:]))
"""


def tokens(site: Site) -> Any:
    return json.loads(site.logins().file(site.config).read_bytes())["grant"]["tokens"]


def age(site: Site, seconds: float) -> None:
    """Let the login have been that long ago."""
    file = LoginFile(site.state_folder, site.config)
    record = file.read()
    assert record is not None and record.grant is not None
    grant = evolve(record.grant, obtained_at=record.grant.obtained_at - seconds)
    file.change(record.epoch, lambda now: evolve(now, grant=grant))


async def get(site: Site, logins: Logins) -> int:
    """One request with the login; the server takes none without a session, but looks at it."""
    async with httpx2.AsyncClient(auth=logins.auth_for(site.config)) as client:
        return (await client.get(site.config.url)).status_code


async def renewal_under_way(site: Site) -> None:
    seen = len(site.requests)
    while not any(request.endswith("/token") for request in site.requests[seen:]):
        await asyncio.sleep(0.01)


async def test_an_expired_token_is_renewed(site: Site, browser: Browser) -> None:
    logins = site.logins()
    await logins.login(site.config, browser)
    before = tokens(site)
    age(site, 4000)
    assert logins.state(site.config) == "oauth-authorized"
    assert await site.call(logins) == "3"
    assert site.authority.refreshes == 1
    after = tokens(site)
    assert after["access_token"] != before["access_token"]
    assert after["refresh_token"] != before["refresh_token"]
    assert await site.call(site.logins()) == "3"
    assert site.authority.refreshes == 1


async def test_a_token_is_renewed_before_it_ends(site: Site, browser: Browser) -> None:
    await site.logins().login(site.config, browser)
    age(site, 3600 - EARLY_S - 5)
    await get(site, site.logins())
    assert site.authority.refreshes == 0
    age(site, 6)
    await get(site, site.logins())
    assert site.authority.refreshes == 1


async def test_a_refresh_token_that_is_not_replaced_is_kept(site: Site, browser: Browser) -> None:
    site.authority.rotating = False
    await site.logins().login(site.config, browser)
    before = tokens(site)
    for renewals in (1, 2):
        age(site, 4000)
        assert await site.call(site.logins()) == "3"
        assert site.authority.refreshes == renewals
    assert tokens(site)["refresh_token"] == before["refresh_token"]


async def test_a_token_that_the_server_rejects_is_renewed(site: Site, browser: Browser) -> None:
    logins = site.logins()
    await logins.login(site.config, browser)
    site.authority.access.clear()
    assert await site.call(logins) == "3"
    assert site.authority.refreshes == 1


async def test_a_login_that_cannot_be_renewed_ends(site: Site, browser: Browser) -> None:
    logins = site.logins()
    await logins.login(site.config, browser)
    site.authority.revoke_all()
    age(site, 4000)
    with pytest.raises(ServerNeedsLogin):
        await get(site, logins)
    assert logins.state(site.config) == "oauth-required"
    assert "/mcp" not in "".join(site.requests[-1:])  # an expired token is not even sent


async def test_a_token_without_a_refresh_token_ends(site: Site, browser: Browser) -> None:
    site.authority.refreshable = False
    logins = site.logins()
    await logins.login(site.config, browser)
    assert await site.call(logins) == "3"
    age(site, 4000)
    assert logins.state(site.config) == "oauth-expired"
    with pytest.raises(ServerNeedsLogin):
        await get(site, logins)


async def test_a_token_without_an_end_has_none(site: Site, browser: Browser) -> None:
    site.authority.lifetime_s = None
    logins = site.logins()
    await logins.login(site.config, browser)
    age(site, 1e9)
    assert await site.call(logins) == "3"
    assert site.authority.refreshes == 0


async def test_an_authority_that_is_busy_does_not_end_the_login(
    site: Site, browser: Browser
) -> None:
    logins = site.logins()
    await logins.login(site.config, browser)
    site.authority.failing_refreshes = 1
    age(site, 4000)
    with pytest.raises(ServerUnreachable) as caught:
        await get(site, logins)
    assert caught.value.unsent
    assert logins.state(site.config) == "oauth-authorized"
    assert await site.call(logins) == "3"


async def test_a_busy_authority_does_not_matter_while_the_token_is_good(
    site: Site, browser: Browser
) -> None:
    logins = site.logins()
    await logins.login(site.config, browser)
    site.authority.failing_refreshes = 100
    age(site, 3600 - 60)
    assert await site.call(logins) == "3"
    assert site.authority.failing_refreshes == 99  # not tried again with each request


async def test_requests_at_once_renew_once(site: Site, browser: Browser) -> None:
    logins = site.logins()
    await logins.login(site.config, browser)
    site.authority.refresh_takes_s = 0.2
    age(site, 4000)
    await asyncio.gather(*(get(site, logins) for _ in range(10)))
    assert (site.authority.refreshes, site.authority.replays) == (1, 0)


async def test_processes_at_once_renew_once(site: Site, browser: Browser) -> None:
    """A refresh token that is used twice would end the login."""
    await site.logins().login(site.config, browser)
    site.authority.refresh_takes_s = 0.3
    age(site, 4000)
    arguments = (sys.executable, "-c", OTHER_PROCESS, str(site.state_folder), site.config.url)
    pipe = asyncio.subprocess.PIPE
    others = [
        await asyncio.create_subprocess_exec(*arguments, stdin=pipe, stdout=pipe) for _ in range(3)
    ]
    for other in others:
        assert other.stdout is not None
        assert await other.stdout.readline() == b"ready\n"
    outputs = await asyncio.gather(*(other.communicate(b"\n") for other in others))
    for out, _ in outputs:
        assert b"401" not in out and len(out.split()) == 3
    assert (site.authority.refreshes, site.authority.replays) == (1, 0)


async def test_a_cancelled_call_does_not_lose_the_new_token(site: Site, browser: Browser) -> None:
    logins = site.logins()
    await logins.login(site.config, browser)
    site.authority.refresh_takes_s = 0.3
    age(site, 4000)
    call = asyncio.create_task(get(site, logins))
    await renewal_under_way(site)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    await logins.aclose()
    assert site.authority.refreshes == 1
    assert await site.call(site.logins()) == "3"
    assert (site.authority.refreshes, site.authority.replays) == (1, 0)


async def test_a_logout_during_a_renewal_wins(site: Site, browser: Browser) -> None:
    logins = site.logins()
    await logins.login(site.config, browser)
    site.authority.refresh_takes_s = 0.3
    age(site, 4000)
    call = asyncio.create_task(get(site, logins))
    await renewal_under_way(site)
    assert site.logins().forget(site.config)
    with pytest.raises(ServerNeedsLogin):
        await call
    assert logins.state(site.config) == "oauth-required"
    assert not any(t in logins.file(site.config).read_text() for t in site.authority.tokens)


async def test_a_login_elsewhere_is_noticed(site: Site, browser: Browser) -> None:
    """Another process has logged in while ours holds on to its connection."""
    logins = site.logins()
    async with httpx2.AsyncClient(auth=logins.auth_for(site.config)) as client:
        with pytest.raises(ServerNeedsLogin):
            await client.get(site.config.url)
        await site.logins().login(site.config, browser)
        assert (await client.get(site.config.url)).status_code != 401


async def test_another_origin_does_not_get_the_token(site: Site, browser: Browser) -> None:
    logins = site.logins()
    await logins.login(site.config, browser)
    seen: list[bytes] = []

    async def listen(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        seen.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        writer.close()

    async with await asyncio.start_server(listen, "127.0.0.1", 0) as other:
        port = other.sockets[0].getsockname()[1]
        async with httpx2.AsyncClient(auth=logins.auth_for(site.config)) as client:
            await client.get(f"http://127.0.0.1:{port}/mcp")
    assert seen and b"authorization" not in seen[0].lower()


@pytest.mark.parametrize(("lifetime", "expired"), [(-5, True), (None, False), ("oops", True)])
def test_odd_lifetimes(lifetime: object, expired: bool) -> None:
    grant = Grant(
        tokens={"access_token": "a", "expires_in": lifetime, "refresh_token": "r"},
        obtained_at=time.time(),
        client={"client_id": "c"},
    )
    assert grant.expired(time.time()) is expired


@given(lifetime=st.integers(1, 10**7), waited=st.floats(0, 1e8))
def test_when_a_grant_is_due(lifetime: int, waited: float) -> None:
    """At the end of its life but two minutes, or in the middle of a short one."""
    document = {"access_token": "a", "expires_in": lifetime, "refresh_token": "r"}
    grant = Grant(tokens=document, obtained_at=1000.0, client={"client_id": "c"})
    now = 1000.0 + waited
    assert grant.due(now) == (now >= 1000.0 + max(lifetime - 120, lifetime / 2))
    assert grant.due(now) or not grant.expired(now)


def test_another_url_is_another_login(site: Site) -> None:
    logins = site.logins()
    other = ServerConfig(name="notes", transport="http", url=f"{site.url}/other")
    assert logins.file(other) != logins.file(site.config)
    assert logins.file(other).name.startswith("notes-")
