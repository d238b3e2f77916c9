"""The page that the browser comes back to."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from urllib.parse import urlencode, urlsplit

import pytest

from toolcrib_features.mcp.model import ServerNeedsLogin
from toolcrib_features.mcp.oauth.callback import Callback


@pytest.fixture
async def callback() -> AsyncIterator[Callback]:
    callback = Callback("notes")
    yield callback
    await callback.aclose()


async def send(uri: str, head: str) -> bytes:
    parts = urlsplit(uri)
    reader, writer = await asyncio.open_connection(parts.hostname, parts.port)
    writer.write(head.encode())
    try:
        async with asyncio.timeout(10):
            return await reader.read()
    finally:
        writer.close()


async def get(uri: str, **query: str) -> bytes:
    target = f"/callback?{urlencode(query)}"
    return await send(uri, f"GET {target} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")


async def test_the_answer_is_kept_until_somebody_waits(callback: Callback) -> None:
    uri = await callback.open()
    callback.expect("s")
    assert (await get(uri, code="c", state="s", iss="https://a")).startswith(b"HTTP/1.1 200 ")
    answer = await callback.answer()
    assert (answer.code, answer.state, answer.issuer) == ("c", "s", "https://a")
    assert "'c'" not in repr(answer)


async def test_the_first_answer_counts(callback: Callback) -> None:
    uri = await callback.open()
    callback.expect("s")
    await get(uri, code="first", state="s")
    assert (await get(uri, code="second", state="s")).startswith(b"HTTP/1.1 200 ")
    assert (await callback.answer()).code == "first"


@pytest.mark.parametrize(
    "line",
    [
        "GET / HTTP/1.1",
        "GET /favicon.ico HTTP/1.1",
        "POST /callback?code=c&state=s HTTP/1.1",
        "HEAD /callback?code=c&state=s HTTP/1.1",
        "GET /callback?code=c HTTP/1.1",
        "GET /callback?code=c&state= HTTP/1.1",
        "GET /callback?code=c&state=t HTTP/1.1",
        "GET /callback?state=s HTTP/1.1",
        "GET /callback/x?code=c&state=s HTTP/1.1",
        "GET /callback?code=c&state=%ff HTTP/1.1",
        "nonsense",
    ],
)
async def test_everything_else_is_not_found(callback: Callback, line: str) -> None:
    uri = await callback.open()
    callback.expect("s")
    assert (await send(uri, f"{line}\r\n\r\n")).startswith(b"HTTP/1.1 404 ")
    await get(uri, code="c", state="s")
    assert (await callback.answer()).code == "c"


async def test_nothing_counts_before_the_state_is_known(callback: Callback) -> None:
    uri = await callback.open()
    assert (await get(uri, code="c", state="")).startswith(b"HTTP/1.1 404 ")


async def test_a_request_without_end_is_dropped(callback: Callback) -> None:
    uri = await callback.open()
    callback.expect("s")
    assert await send(uri, "GET /callback?" + 40_000 * "x") == b""
    await get(uri, code="c", state="s")
    assert (await callback.answer()).code == "c"


async def test_an_error_ends_the_login(callback: Callback) -> None:
    uri = await callback.open()
    callback.expect("s")
    page = await get(uri, error="access_denied", error_description="no\r\n<b>", state="s")
    assert page.startswith(b"HTTP/1.1 200 ") and b"<b>" not in page
    with pytest.raises(ServerNeedsLogin, match="access_denied"):
        await callback.answer()


async def test_it_listens_on_loopback_only_and_another_port_will_do(callback: Callback) -> None:
    holding = await asyncio.start_server(lambda *_: None, "127.0.0.1", 0)
    port = holding.sockets[0].getsockname()[1]
    uri = await callback.open(port)
    holding.close()
    assert uri.startswith("http://127.0.0.1:") and f":{port}/" not in uri


@pytest.mark.parametrize(
    ("pasted", "taken"),
    [
        ("http://127.0.0.1:1/callback?code=c&state=s", True),
        ("  http://127.0.0.1:1/callback?state=s&code=c  \n", True),
        ("code=c&state=s", True),
        ("c", True),
        ("http://127.0.0.1:1/callback?code=c&state=t", False),
        ("http://127.0.0.1:1/callback?code=c", False),
        ("https://login.example/authorize?client_id=x", False),
        ("", False),
        ("two words", False),
    ],
)
async def test_pasting(callback: Callback, pasted: str, taken: bool) -> None:
    callback.expect("s")
    assert (callback.paste(pasted) is None) is taken
    if taken:
        assert (await callback.answer()).code == "c"
