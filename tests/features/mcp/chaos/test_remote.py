"""Servers that are reached over the network, real ones and ones that refuse."""

from __future__ import annotations

import asyncio
import json
import socket
import subprocess
import sys
import threading
import time
from collections.abc import AsyncGenerator, Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import httpx2
import pytest
from attrs import define, field

from toolcrib_features.mcp.connection import Connection, connect
from toolcrib_features.mcp.model import (
    ServerConfig,
    ServerError,
    ServerNeedsLogin,
    ServerUnreachable,
)
from toolcrib_features.mcp.server import Server

SERVER = """
import sys
from mcp.server import MCPServer
from mcp.server.mcpserver import Context

server = MCPServer("sdk")
calls = 0

@server.tool()
async def count(context: Context) -> int:
    global calls
    calls += 1
    return calls

@server.tool()
async def grow(context: Context) -> str:
    server.add_tool(count, name="added")
    await context.notify_tools_changed()
    return "grown"

server.run(sys.argv[1], port=int(sys.argv[2]))
"""


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@define
class Sdk:
    """A server made with the SDK, in a process of its own, which can be started anew."""

    transport: str
    port: int = field(factory=free_port)
    process: subprocess.Popen[bytes] | None = None

    @property
    def config(self) -> ServerConfig:
        path = "sse" if self.transport == "sse" else "mcp"
        return ServerConfig(
            name="s",
            transport="sse" if self.transport == "sse" else "http",
            url=f"http://127.0.0.1:{self.port}/{path}",
        )

    def start(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", SERVER, self.transport, str(self.port)],
            stderr=subprocess.DEVNULL,
        )
        deadline = time.monotonic() + 30
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.port)).close()
            except OSError:
                assert time.monotonic() < deadline
                time.sleep(0.02)
            else:
                return

    def stop(self) -> None:
        assert self.process is not None
        self.process.kill()
        self.process.wait()


@pytest.fixture(params=["streamable-http", "sse"])
def sdk(request: pytest.FixtureRequest) -> Iterator[Sdk]:
    server = Sdk(request.param)
    server.start()
    yield server
    server.stop()


async def call(connection: Connection, name: str) -> str:
    answer = await connection.call(name, {}, silence_s=10, ceiling_s=10)
    return str(answer["content"][0]["text"])


async def test_a_server_of_the_sdk(sdk: Sdk) -> None:
    connection = await connect(sdk.config, environ={}, cwd="/")
    told = asyncio.Event()
    connection.on_tools_changed = told.set
    assert [tool.name for tool in (await connection.list_tools()).tools] == ["count", "grow"]
    assert await call(connection, "count") == "1"
    await call(connection, "grow")
    async with asyncio.timeout(10):
        await told.wait()
    assert len((await connection.list_tools()).tools) == 3
    await connection.ping(5)
    await connection.aclose()
    assert connection.closed.is_set()


async def test_a_server_that_was_started_anew(sdk: Sdk) -> None:
    """A call that cannot have reached the old one is made to the new one."""
    states: list[str] = []
    server = Server(
        sdk.config,
        connect=lambda: connect(sdk.config, environ={}, cwd="/"),
        listed=lambda listing: None,
        changed=lambda: states.append(server.state),
        first_pause_s=0.1,
        probe_s=1.0,
    )
    await server.call("count", {}, repeatable=False)
    sdk.stop()
    with pytest.raises(ServerUnreachable):
        await server.call("count", {}, repeatable=False)
    assert server.connection is None
    sdk.start()
    answer = await server.call("count", {}, repeatable=False)
    assert answer["content"][0]["text"] == "1"
    assert server.state == "connected"
    await server.aclose()


Answer = tuple[int, dict[str, str], bytes]


@define
class Stub:
    """A web server that answers as it is told, and remembers what it was asked."""

    answer: Callable[[dict[str, Any]], Answer] = lambda message: (401, {}, b"")
    seen: list[dict[str, str]] = field(factory=list)
    port: int = 0

    def config(self, **more: Any) -> ServerConfig:
        return ServerConfig(
            name="s",
            **{
                "transport": "http",
                "url": f"http://user:hunter2@127.0.0.1:{self.port}/mcp?key=hunter3",
                **more,
            },
        )


@pytest.fixture
def stub() -> Iterator[Stub]:
    told = Stub()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length", 0)))
            told.seen.append({name.lower(): value for name, value in self.headers.items()})
            status, headers, said = told.answer(json.loads(body) if body else {})
            self.send_response(status)
            for name, value in {"content-type": "text/plain", **headers}.items():
                self.send_header(name, value)
            self.send_header("content-length", str(len(said)))
            self.end_headers()
            self.wfile.write(said)

        do_GET = do_DELETE = do_POST

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    told.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    yield told
    server.shutdown()
    thread.join()
    server.server_close()


def rpc(message: dict[str, Any]) -> Answer:
    """The answers of a server without faults."""
    if "id" not in message:
        return 202, {}, b""
    results: dict[str, Any] = {
        "initialize": {
            "protocolVersion": "2025-11-25",
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "stub", "version": "1"},
        },
        "tools/list": {"tools": []},
        "ping": {},
    }
    answer: dict[str, Any] = {"jsonrpc": "2.0", "id": message["id"]}
    if message["method"] in results:
        answer["result"] = results[message["method"]]
    else:
        answer["error"] = {"code": -32601, "message": "method not found"}
    headers = {"content-type": "application/json", "mcp-session-id": "one"}
    return 200, headers, json.dumps(answer).encode()


@pytest.mark.parametrize("transport", ["http", "sse"])
@pytest.mark.parametrize(
    ("more", "kind"),
    [
        ({}, ServerNeedsLogin),
        ({"headers": {"X-Key": "k"}}, ServerError),
        ({"headers": {"X-Key": "k"}, "auth": "oauth"}, ServerNeedsLogin),
        ({"bearer_token_env": "TOKEN"}, ServerError),
    ],
)
async def test_a_server_that_does_not_let_us_in(
    stub: Stub, transport: str, more: dict[str, Any], kind: type[ServerError]
) -> None:
    """A login is offered where it could help."""
    config = stub.config(transport=transport, **more)
    with pytest.raises(ServerError) as caught:
        await connect(config, environ={"TOKEN": "secret-token"}, cwd="/")
    assert type(caught.value) is kind
    assert "hunter" not in str(caught.value)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("transport", ["http", "sse"])
@pytest.mark.parametrize(
    ("status", "kind"), [(500, ServerError), (503, ServerUnreachable), (403, ServerError)]
)
async def test_a_server_that_refuses(
    stub: Stub, transport: str, status: int, kind: type[ServerError]
) -> None:
    stub.answer = lambda message: (status, {}, b"\x1b[31mout of order")
    with pytest.raises(ServerError) as caught:
        await connect(stub.config(transport=transport), environ={}, cwd="/")
    assert type(caught.value) is kind
    assert str(status) in str(caught.value)
    assert "out of order" in str(caught.value)
    assert "\x1b" not in str(caught.value)


@pytest.mark.parametrize("transport", ["http", "sse"])
async def test_nobody_there(transport: str) -> None:
    url = f"http://127.0.0.1:{free_port()}/mcp?key=hunter3"
    config = ServerConfig(name="s", transport=transport, url=url)  # type: ignore[arg-type]
    with pytest.raises(ServerUnreachable) as caught:
        await connect(config, environ={}, cwd="/")
    assert "127.0.0.1" in str(caught.value)
    assert "hunter" not in str(caught.value)


async def test_the_token_takes_the_place_of_a_header(stub: Stub) -> None:
    stub.answer = rpc
    config = stub.config(
        bearer_token_env="TOKEN", headers={"AUTHORIZATION": "Basic x", "X-Key": " k "}
    )
    connection = await connect(config, environ={"TOKEN": "t"}, cwd="/")
    await connection.list_tools()
    await connection.aclose()
    assert {seen["authorization"] for seen in stub.seen} == {"Bearer t"}
    assert {seen["x-key"] for seen in stub.seen} == {"k"}


@pytest.mark.parametrize("environ", [{}, {"TOKEN": ""}, {"TOKEN": "two\nlines"}])
async def test_a_token_that_is_missing_or_none(stub: Stub, environ: dict[str, str]) -> None:
    config = stub.config(bearer_token_env="TOKEN", transport="sse")
    with pytest.raises(ServerError) as caught:
        await connect(config, environ=environ, cwd="/")
    assert type(caught.value) is ServerError
    assert "lines" not in str(caught.value)
    assert not stub.seen


async def test_no_redirect_leads_to_another_host(stub: Stub) -> None:
    elsewhere = {"location": f"http://localhost:{stub.port}/steal"}
    stub.answer = lambda message: (307, elsewhere, b"")
    with pytest.raises(ServerError):
        await connect(stub.config(headers={"X-Key": "k"}), environ={}, cwd="/")
    assert all("localhost" not in seen["host"] for seen in stub.seen)


@pytest.mark.parametrize("status", [404, 400])
async def test_a_session_that_the_server_has_forgotten(stub: Stub, status: int) -> None:
    stub.answer = rpc
    connection = await connect(stub.config(), environ={}, cwd="/")
    error = {"jsonrpc": "2.0", "id": None, "error": {"code": -32000, "message": "No session"}}
    body = json.dumps(error).encode()
    stub.answer = lambda message: (status, {"content-type": "application/json"}, body)
    with pytest.raises(ServerUnreachable) as caught:
        await connection.call("x", {}, silence_s=5, ceiling_s=5)
    assert caught.value.unsent
    await connection.aclose()


async def test_a_login_that_runs_out_in_a_call(stub: Stub) -> None:
    stub.answer = rpc
    states: list[str] = []
    server = Server(
        stub.config(),
        connect=lambda: connect(stub.config(), environ={}, cwd="/"),
        listed=lambda listing: None,
        changed=lambda: states.append(server.state),
    )
    await server.ready()
    stub.answer = lambda message: (401, {}, b"")
    with pytest.raises(ServerNeedsLogin):
        await server.call("x", {}, repeatable=False)
    assert server.state == "needs-auth"
    await server.aclose()


async def test_a_login_is_used(stub: Stub) -> None:
    class Login(httpx2.Auth):
        async def async_auth_flow(
            self, request: httpx2.Request
        ) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
            request.headers["Authorization"] = "Bearer of-the-login"
            response = yield request
            if response.status_code == 401:
                raise ServerNeedsLogin("log in again")

    stub.answer = rpc
    connection = await connect(stub.config(), environ={}, cwd="/", auth=Login())
    assert {seen["authorization"] for seen in stub.seen} == {"Bearer of-the-login"}
    stub.answer = lambda message: (401, {}, b"")
    with pytest.raises(ServerNeedsLogin, match="log in again"):
        await connection.list_tools()
    await connection.aclose()


async def test_an_answer_that_is_no_protocol(stub: Stub) -> None:
    stub.answer = lambda message: (200, {"content-type": "text/html"}, b"<h1>Hello</h1>")
    with pytest.raises(ServerError) as caught:
        await connect(stub.config(startup_timeout_s=5), environ={}, cwd="/")
    assert len(str(caught.value)) < 500
