"""The file of a login, and what becomes of one that cannot be used."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import TYPE_CHECKING

import httpx2
import pytest
from attrs import evolve

from toolcrib import StateError
from toolcrib_features.mcp.model import ServerConfig, ServerNeedsLogin
from toolcrib_features.mcp.oauth.logins import Logins
from toolcrib_features.mcp.oauth.record import Grant
from toolcrib_features.mcp.oauth.store import LoggedOut, LoginFile

if TYPE_CHECKING:
    from features.mcp.oauth.conftest import Browser, Site

CONFIG = ServerConfig(name="no/tes \U0001f4dd", transport="http", url="https://notes.example/mcp")
GRANT = Grant(
    tokens={"access_token": "secret-a", "refresh_token": "secret-r", "expires_in": 60},
    obtained_at=1.5,
    client={"client_id": "me", "client_secret": "secret-c"},
    authority={"token_endpoint": "https://auth.example/token"},
)
DAMAGED = [b"", b"{", b"[]", b'{"epoch": 3}', b"\xff", b"[" * 100_000, b"x" * (2 << 20)]


@pytest.fixture
def file(tmp_path: Path) -> LoginFile:
    return LoginFile(tmp_path, CONFIG)


def test_what_is_stored_is_read_again(file: LoginFile, tmp_path: Path) -> None:
    assert file.read() is None
    epoch = file.begin().epoch
    file.change(epoch, lambda now: evolve(now, grant=GRANT, wanted_scope="w"))
    record = LoginFile(tmp_path, CONFIG).read()
    assert record is not None and record.grant == GRANT and record.wanted_scope == "w"
    assert "secret" not in repr(record)
    assert file.path.parent == tmp_path / "credentials" / "mcp"


def test_a_login_finds_the_record_there_is(file: LoginFile) -> None:
    epoch = file.begin().epoch
    file.change(epoch, lambda now: evolve(now, grant=GRANT))
    assert file.begin().grant == GRANT


def test_after_a_logout_nothing_of_before_is_kept(file: LoginFile) -> None:
    epoch = file.begin().epoch
    file.change(epoch, lambda now: evolve(now, grant=GRANT))
    assert file.clear()
    with pytest.raises(LoggedOut):
        file.change(epoch, lambda now: evolve(now, grant=GRANT))
    assert b"secret" not in file.path.read_bytes()
    assert not file.clear()


def test_the_grant_of_another_process_is_not_replaced(file: LoginFile) -> None:
    epoch = file.begin().epoch
    newer = evolve(GRANT, obtained_at=2.0)
    file.change(epoch, lambda now: evolve(now, grant=newer))
    assert file.replace_grant(epoch, GRANT, None) == newer
    assert file.replace_grant(epoch, newer, GRANT) == GRANT


@pytest.mark.parametrize("content", DAMAGED)
async def test_a_damaged_file_is_a_clear_problem(
    file: LoginFile, tmp_path: Path, content: bytes
) -> None:
    file.begin()
    file.path.write_bytes(content)
    logins = Logins(tmp_path)
    with pytest.raises(StateError, match=r"credentials"):
        file.read()
    assert logins.state(CONFIG) == "oauth-required"
    async with httpx2.AsyncClient(auth=logins.auth_for(CONFIG)) as client:
        with pytest.raises(ServerNeedsLogin, match=r"credentials"):
            await client.get(CONFIG.url)
    assert logins.forget(CONFIG)
    assert file.read() is None


def test_a_link_is_not_followed(file: LoginFile, tmp_path: Path) -> None:
    target = tmp_path / "elsewhere.json"
    target.write_text("{}")
    file.path.parent.mkdir(parents=True)
    file.path.symlink_to(target)
    with pytest.raises(StateError):
        file.read()
    with pytest.raises(StateError):
        file.begin()
    assert target.read_text() == "{}"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_a_file_of_somebody_else_is_not_used(file: LoginFile) -> None:
    file.begin()
    os.chown(file.path, 65534, 65534)
    with pytest.raises(StateError):
        file.read()
    with pytest.raises(StateError):
        file.begin()


async def test_a_damaged_file_is_replaced_by_a_login(site: Site, browser: Browser) -> None:
    logins = site.logins()
    await logins.login(site.config, browser)
    logins.file(site.config).write_bytes(b"{")
    assert await logins.login(site.config, browser) == "authorized"
    assert await site.call(logins) == "3"


async def test_one_renews_at_a_time(file: LoginFile) -> None:
    file.begin()
    inside = 0

    async def renew() -> None:
        nonlocal inside
        async with file.renewing():
            inside += 1
            assert inside == 1
            await asyncio.sleep(0.01)
            inside -= 1

    await asyncio.gather(*(renew() for _ in range(5)))
