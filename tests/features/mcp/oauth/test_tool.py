"""The tool that stands in for those of a server that needs a login."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from attrs import evolve

import toolcrib
from toolcrib_features.mcp.model import ServerUnreachable
from toolcrib_features.mcp.oauth.authenticate import authenticate_contribution

if TYPE_CHECKING:
    from pathlib import Path

    from features.mcp.oauth.conftest import Browser, Site
    from toolcrib_features.mcp.oauth.logins import Logins

CALL = [{"id": "1", "name": "mcp__notes__authenticate", "arguments": {}}]


class Offering:
    def __init__(self, contribution: toolcrib.ToolContribution) -> None:
        self._contribution = contribution

    @toolcrib.hookimpl
    def contribute_tool(self) -> toolcrib.ToolContribution:
        return self._contribution


class Connection:
    """What the tool is to bring back."""

    def __init__(self, fails: bool = False) -> None:
        self.made = 0
        self.fails = fails

    async def reconnect(self) -> None:
        if self.fails:
            raise ServerUnreachable("it is down")
        self.made += 1


def session_of(
    site: Site, logins: Logins, connection: Connection, workspace: Path
) -> toolcrib.Session:
    contribution = authenticate_contribution(site.config, logins, connection.reconnect)
    contribution = evolve(contribution, feature=None)  # which is another plugin's
    return toolcrib.open_session(
        workspace, mode="yolo", plugins=[Offering(contribution)], autoload=False
    )


def follow(session: toolcrib.Session, browser: Browser | None) -> list[dict[str, Any]]:
    """Gather the pages that the session tells of, and visit them."""
    seen: list[dict[str, Any]] = []

    def listen(event: object) -> None:
        if isinstance(event, toolcrib.ToolProgress) and event.update.kind == "custom":
            seen.append(event.update.data)
            if browser is not None:
                browser.visit(event.update.data["authorizationUrl"])

    session.subscribe(listen)
    return seen


async def test_the_user_logs_in_and_the_server_is_connected(
    site: Site, browser: Browser, workspace: Path
) -> None:
    logins, connection = site.logins(), Connection()
    async with session_of(site, logins, connection, workspace) as session:
        seen = follow(session, browser)
        (done,) = [done async for done in session.execute(CALL)]
    assert not done.result.is_error, done.result.output
    assert connection.made == 1
    (page,) = seen
    assert page["type"] == "mcp.oauth.authorization_url"
    assert page["serverName"] == "notes"
    assert page["authorizationUrl"].startswith(f"{site.url}/authorize?")
    assert page["expiresAt"].endswith("Z")
    assert await site.call(logins) == "3"


async def test_a_good_login_is_only_connected(
    site: Site, browser: Browser, workspace: Path
) -> None:
    logins, connection = site.logins(), Connection()
    await logins.login(site.config, browser)
    async with session_of(site, logins, connection, workspace) as session:
        seen = follow(session, None)
        (done,) = [done async for done in session.execute(CALL)]
    assert (seen, connection.made, done.result.is_error) == ([], 1, False)


async def test_a_refusal_is_an_error_with_the_page(
    site: Site, browser: Browser, workspace: Path
) -> None:
    site.authority.refusing = True
    connection = Connection()
    async with session_of(site, site.logins(), connection, workspace) as session:
        seen = follow(session, browser)
        (done,) = [done async for done in session.execute(CALL)]
    assert done.result.is_error and connection.made == 0
    assert seen[0]["authorizationUrl"] in str(done.result.output)


async def test_a_server_that_stays_away_is_an_error(
    site: Site, browser: Browser, workspace: Path
) -> None:
    async with session_of(site, site.logins(), Connection(fails=True), workspace) as session:
        follow(session, browser)
        (done,) = [done async for done in session.execute(CALL)]
    assert done.result.is_error and "it is down" in str(done.result.output)


async def test_a_cancelled_call_gives_the_login_up(site: Site, workspace: Path) -> None:
    logins = site.logins()
    async with session_of(site, logins, Connection(), workspace) as session:
        seen = follow(session, None)

        async def run() -> list[toolcrib.Completion]:
            return [done async for done in session.execute(CALL)]

        running = asyncio.create_task(run())
        while not seen:
            await asyncio.sleep(0.01)
        running.cancel()
        await asyncio.wait([running])
    await logins.aclose()
    assert logins.state(site.config) == "oauth-required"


async def test_what_the_model_is_told(site: Site, workspace: Path) -> None:
    async with session_of(site, site.logins(), Connection(), workspace) as session:
        (info,) = [tool for tool in session.tools() if tool.name == CALL[0]["name"]]
    assert info.source == "mcp"
    assert info.parameters == {"type": "object", "properties": {}, "additionalProperties": False}
    assert "notes" in info.description and "exactly" in info.description
