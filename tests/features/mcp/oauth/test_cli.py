"""`toolcrib mcp login` and `logout`, in processes of their own."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING

import httpx2
import pexpect  # type: ignore[import-untyped]
import pytest

if TYPE_CHECKING:
    from features.mcp.oauth.conftest import Browser, Site


MAIN = "import sys; from toolcrib.cli.main import main; sys.exit(main())"


@pytest.fixture
def environ(site: Site, tmp_path: Path) -> dict[str, str]:
    """A home with the server configured, and a browser that leaves a trace."""
    opened = tmp_path / "opened"
    tool = tmp_path / "browser"
    tool.write_text(f'#!/bin/sh\necho "$1" >> {opened}\n')
    tool.chmod(0o755)
    config = tmp_path / "config" / "toolcrib" / "toolcrib.toml"
    config.parent.mkdir(parents=True)
    config.write_text(
        f'[mcp.servers.notes]\nurl = "{site.config.url}"\n[mcp.servers.local]\ncommand = "x"\n'
    )
    return {
        "HOME": str(tmp_path),
        "PATH": os.environ["PATH"],
        "XDG_CONFIG_HOME": str(tmp_path / "config"),
        "TOOLCRIB_STATE": str(site.state_folder),
        "BROWSER": str(tool),
    }


@contextlib.asynccontextmanager
async def running(
    environ: dict[str, str], *arguments: str
) -> AsyncIterator[asyncio.subprocess.Process]:
    """The command without a terminal."""
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", MAIN, "mcp", *arguments),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=pipe,
        stderr=pipe,
        env=environ,
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
            await process.communicate()


async def page(process: asyncio.subprocess.Process) -> str:
    assert process.stderr is not None
    async with asyncio.timeout(20):
        async for line in process.stderr:
            if line.startswith(b"http"):
                return line.decode().strip()
    raise AssertionError("no page was shown")


async def test_without_a_terminal_the_page_is_shown_and_no_browser_opened(
    site: Site, browser: Browser, environ: dict[str, str], tmp_path: Path
) -> None:
    async with running(environ, "login", "notes") as login:
        browser.visit(await page(login))
        out, _ = await login.communicate()
    assert login.returncode == 0 and b"notes" in out
    assert not (tmp_path / "opened").exists()
    assert await site.call(site.logins()) == "3"
    async with running(environ, "logout", "notes") as logout:
        await logout.communicate()
    assert logout.returncode == 0
    assert site.logins().state(site.config) == "oauth-required"


async def test_a_login_that_nobody_makes_ends_with_1(environ: dict[str, str]) -> None:
    async with running(environ, "login", "notes", "--timeout", "0.5") as login:
        out, err = await login.communicate()
    assert login.returncode == 1 and not out
    assert b"Traceback" not in err


@pytest.mark.parametrize("name", ["nobody", "local"])
async def test_a_server_without_logins_is_said_to_be_one(
    environ: dict[str, str], name: str
) -> None:
    async with running(environ, "login", name) as login:
        _, err = await login.communicate()
    assert login.returncode == 2 and name.encode() in err


async def in_terminal(environ: dict[str, str], *arguments: str) -> tuple[pexpect.spawn, str]:
    """The command in a terminal, and the page that it shows."""
    terminal = pexpect.spawn(
        sys.executable,
        ["-c", MAIN, "mcp", "login", "notes", *arguments],
        env=environ,
        timeout=20,
        dimensions=(24, 1000),
    )
    await asyncio.to_thread(terminal.expect, re.compile(rb"(http://\S+/authorize\S+)\s"))
    return terminal, terminal.match.group(1).decode()


async def finished(terminal: pexpect.spawn) -> tuple[int, bytes]:
    said = await asyncio.to_thread(terminal.read)
    await asyncio.to_thread(terminal.wait)
    return terminal.exitstatus, said


async def test_in_a_terminal_a_browser_is_opened(
    site: Site, browser: Browser, environ: dict[str, str], tmp_path: Path
) -> None:
    terminal, url = await in_terminal(environ)
    while not (tmp_path / "opened").exists():
        await asyncio.sleep(0.02)
    browser.visit(url)
    status, _ = await finished(terminal)
    assert status == 0
    assert (tmp_path / "opened").read_text().strip() == url


async def test_the_address_is_pasted_where_the_browser_cannot_come_back(
    site: Site, environ: dict[str, str], tmp_path: Path
) -> None:
    terminal, url = await in_terminal(environ, "--no-browser")
    async with httpx2.AsyncClient(follow_redirects=False) as elsewhere:
        response = await elsewhere.get(url)
    await asyncio.to_thread(terminal.sendline, "https://example.org/?code=x&state=y")
    await asyncio.to_thread(terminal.expect, b"another login")
    await asyncio.to_thread(terminal.sendline, response.headers["location"])
    status, _ = await finished(terminal)
    assert status == 0
    assert not (tmp_path / "opened").exists()
    assert site.logins().state(site.config) == "oauth-authorized"


async def test_ctrl_c_ends_it(environ: dict[str, str]) -> None:
    terminal, _ = await in_terminal(environ, "--no-browser")
    terminal.sendintr()
    status, said = await finished(terminal)
    assert status == 130 and b"Traceback" not in said
