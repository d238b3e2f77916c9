"""A session with a server that wants a login: from the stand-in to the tools of the server."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import toolcrib

if TYPE_CHECKING:
    from pathlib import Path

    from features.mcp.oauth.conftest import Browser, Site


async def outputs(session: toolcrib.Session, name: str, **arguments: object) -> str:
    calls = [{"id": "1", "name": name, "arguments": arguments}]
    (done,) = [done async for done in session.execute(calls)]
    return str(done.result.output)


async def names(session: toolcrib.Session, wanted: str) -> set[str]:
    """The tools of the server, as soon as the wanted one is among them."""
    async with asyncio.timeout(20):
        while True:
            found = {t.name for t in session.tools() if t.name.startswith("mcp__notes__")}
            if wanted in found:
                return found
            await asyncio.sleep(0.02)


def open_session(site: Site, workspace: Path) -> toolcrib.Session:
    return toolcrib.open_session(
        workspace,
        mode="yolo",
        autoload=False,
        overrides={"mcp": {"servers": {"notes": {"url": site.config.url}}}},
        environ={"HOME": str(workspace), "TOOLCRIB_STATE": str(site.state_folder)},
    )


async def test_the_model_has_the_user_log_in(site: Site, browser: Browser, workspace: Path) -> None:
    async with open_session(site, workspace) as session:

        def listen(event: object) -> None:
            if isinstance(event, toolcrib.ToolProgress) and event.update.kind == "custom":
                browser.visit(event.update.data["authorizationUrl"])

        session.subscribe(listen)
        stand_in = "mcp__notes__authenticate"
        assert await names(session, stand_in) == {stand_in}
        await outputs(session, stand_in)
        assert "mcp__notes__add" in await names(session, "mcp__notes__add")
        assert "3" in await outputs(session, "mcp__notes__add", a=1, b=2)


async def test_a_call_that_wants_more_than_the_login_says_so_and_costs_nothing_else(
    site: Site, browser: Browser, workspace: Path
) -> None:
    await site.logins().login(site.config, browser)
    async with open_session(site, workspace) as session:
        await names(session, "mcp__notes__add")
        site.wanted_scope = "write"
        refused = await outputs(session, "mcp__notes__add", a=1, b=2)
        assert "'write'" in refused and "toolcrib mcp login notes" in refused
        assert "mcp__notes__add" in await names(session, "mcp__notes__add")
        await site.logins().login(site.config, browser)
        assert "3" in await outputs(session, "mcp__notes__add", a=1, b=2)


async def test_a_login_elsewhere_brings_the_tools(
    site: Site, browser: Browser, workspace: Path
) -> None:
    async with open_session(site, workspace) as session:
        await names(session, "mcp__notes__authenticate")
        await site.logins().login(site.config, browser)
        await outputs(session, "mcp__notes__authenticate")
        assert "3" in await outputs(session, "mcp__notes__add", a=1, b=2)
