"""A real `toolcrib serve` in a process of its own, with tools of a plugin to try it with."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx2
import psutil
import pytest
from attrs import Factory, define
from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import Implementation

Connect = Callable[..., contextlib.AbstractAsyncContextManager[Client]]
TOKEN = "a-token-that-nobody-guesses"
HELLO = {
    "protocolVersion": "2025-06-18",
    "capabilities": {"elicitation": {}},
    "clientInfo": {"name": "by hand", "version": "1"},
}
ACCEPT = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
NPM = {"@modelcontextprotocol/sdk": "^1.20", "@modelcontextprotocol/inspector": "^2.12"}

PLUGIN = Path(__file__).with_name("probe_tools.py")
LAUNCHER = Path(__file__).with_name("launcher.py")


@define
class Site:
    """A workspace and a home with a plugin installed.

    `program` is what an interpreter is given to become `toolcrib`.
    """

    folder: Path
    program: tuple[str, ...]
    served: list[subprocess.Popen[str]] = Factory(list)
    shared: dict[tuple[str, ...], Http] = Factory(dict)

    @property
    def workspace(self) -> Path:
        return self.folder / "ws"

    @property
    def environ(self) -> dict[str, str]:
        return {
            "HOME": str(self.folder),
            "PATH": os.environ["PATH"],
            "PYTHONPATH": str(self.folder / "site"),
            "TOOLCRIB_STATE": str(self.folder / "state"),
            "TOKEN": TOKEN,
        }

    def configure(self, text: str) -> None:
        """Write the user's configuration."""
        file = self.folder / ".config" / "toolcrib" / "toolcrib.toml"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def arguments(self, *more: str, mode: str = "yolo") -> list[str]:
        """What follows the interpreter on the command line of the server."""
        return [*self.program, "serve", "--workspace", str(self.workspace), "--mode", mode, *more]

    def stdio(self, *more: str, mode: str = "yolo") -> StdioServerParameters:
        return StdioServerParameters(
            command=sys.executable, args=self.arguments(*more, mode=mode), env=self.environ
        )

    def start(self, *more: str, mode: str = "yolo", **streams: Any) -> subprocess.Popen[str]:
        """Start a server as a process."""
        process = subprocess.Popen(
            [sys.executable, *self.arguments(*more, mode=mode)],
            env=self.environ,
            stderr=subprocess.PIPE,
            text=True,
            **streams,
        )
        self.served.append(process)
        return process

    def http(self, *more: str, mode: str = "yolo") -> Http:
        """Start a server over HTTP on a free port."""
        process = self.start("--http", "0", "--token-env", "TOKEN", *more, mode=mode)
        assert process.stderr is not None
        said = ""
        for line in process.stderr:
            said += line
            if found := re.search(r"http://\S+/mcp", line):
                return Http(process, found[0])
        raise AssertionError(said)

    def shared_http(self, *more: str, mode: str) -> Http:
        """A server over HTTP that was started already, if one was."""
        key = (*more, mode)
        if key not in self.shared:
            self.shared[key] = self.http(*more, mode=mode)
        return self.shared[key]

    def clean(self) -> None:
        """Take away what a test has left."""
        for place in (self.workspace, self.folder / ".config"):
            shutil.rmtree(place, ignore_errors=True)
        self.workspace.mkdir()

    def processes(self) -> list[str]:
        """What runs with our environment."""
        found = []
        for process in psutil.process_iter():
            with contextlib.suppress(psutil.Error):
                if process.environ().get("HOME") == str(self.folder):
                    found.append(" ".join(process.cmdline()))
        return found

    def end(self) -> None:
        for process in self.served:
            if process.poll() is None:
                process.kill()
            process.wait()
            for stream in (process.stdin, process.stdout, process.stderr):
                if stream is not None:
                    stream.close()


@define
class Http:
    """A server over HTTP."""

    process: subprocess.Popen[str]
    url: str

    def stop(self, number: int = signal.SIGTERM) -> str:
        """End it in order; gives what it said on standard error."""
        self.process.send_signal(number)
        _, said = self.process.communicate(timeout=20)
        assert self.process.returncode == 0, said
        return said

    @contextlib.asynccontextmanager
    async def by_hand(self) -> AsyncIterator[Callable[[], Conversation]]:
        """Makes conversations that are written by hand."""
        headers = {"Authorization": f"Bearer {TOKEN}"}
        async with httpx2.AsyncClient(headers=headers, timeout=30, verify=False) as web:
            yield lambda: Conversation(web, self.url)

    @contextlib.asynccontextmanager
    async def client(self, **options: Any) -> AsyncIterator[Client]:
        """A client of the Python SDK."""
        headers = {"Authorization": f"Bearer {TOKEN}"}
        async with httpx2.AsyncClient(headers=headers, timeout=30, verify=False) as http:
            transport = streamable_http_client(self.url, http_client=http)
            async with Client(transport, **options) as client:
                yield client


@define
class Conversation:
    """The protocol by hand, over HTTP: in a session, or stateless without one."""

    web: httpx2.AsyncClient
    url: str
    session: str | None = None

    async def open(self) -> Conversation:
        """Shake hands."""
        answered = await self.say(id="hello", method="initialize", params=HELLO)
        self.session = answered.headers["Mcp-Session-Id"]
        await self.say(method="notifications/initialized")
        return self

    def headers(self, method: str = "", name: str = "") -> dict[str, str]:
        if self.session is not None:
            return {"Mcp-Session-Id": self.session}
        return {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": method, "Mcp-Name": name}

    async def say(self, **message: Any) -> httpx2.Response:
        """Send a message and wait for all that comes in return."""
        headers = self.headers() if self.session is not None else {}
        return await self.web.post(
            self.url, json={"jsonrpc": "2.0", **message}, headers={**ACCEPT, **headers}
        )

    @contextlib.asynccontextmanager
    async def call(
        self, number: int | str, name: str, arguments: object, **meta: object
    ) -> AsyncIterator[AsyncIterator[dict[str, Any]]]:
        """Call a tool; gives the messages as they come. Leaving early cuts the connection."""
        params: dict[str, Any] = {"name": name, "arguments": arguments, "_meta": meta}
        if self.session is None:
            params["_meta"] |= {
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientCapabilities": {"elicitation": {"form": {}}},
            }
        message = {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}
        headers = {**ACCEPT, **self.headers("tools/call", name)}
        async with self.web.stream("POST", self.url, json=message, headers=headers) as answering:
            yield _messages(answering)

    @contextlib.asynccontextmanager
    async def listening(self) -> AsyncIterator[None]:
        """Keep the stream of the session open."""
        headers = {"Accept": "text/event-stream", **self.headers()}
        async with self.web.stream("GET", self.url, headers=headers):
            yield


async def _messages(answering: httpx2.Response) -> AsyncIterator[dict[str, Any]]:
    async for line in answering.aiter_lines():
        data = line.removeprefix("data: ")
        if data.startswith("{"):
            yield json.loads(data)


@contextlib.contextmanager
def _site(folder: Path, toolcrib: Any) -> Iterator[Site]:
    program: tuple[str, ...] = ("-m", "toolcrib")
    if toolcrib.address is not None:
        program = ("-I", "-S", str(LAUNCHER), toolcrib.address)
    site = Site(folder, program)
    site.workspace.mkdir()
    info = site.folder / "site" / "probe_tools-1.0.dist-info"
    info.mkdir(parents=True)
    shutil.copy(PLUGIN, site.folder / "site")
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: probe-tools\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[toolcrib]\nprobe = probe_tools\n")
    yield site
    for server in site.shared.values():
        server.stop()
    site.end()
    assert not site.processes(), "a server has left processes behind"


@pytest.fixture(scope="session")
def shared_site(tmp_path_factory: pytest.TempPathFactory, toolcrib: Any) -> Iterator[Site]:
    """A home with a plugin that prints where it should not."""
    with _site(tmp_path_factory.mktemp("home"), toolcrib) as site:
        yield site


@pytest.fixture(scope="module")
def lone_site(tmp_path_factory: pytest.TempPathFactory, toolcrib: Any) -> Iterator[Site]:
    """Another one, in which nothing runs but what the tests of one module start."""
    with _site(tmp_path_factory.mktemp("home"), toolcrib) as site:
        yield site


@pytest.fixture
def site(shared_site: Site) -> Site:
    """The home with nothing but a file in its workspace, and no configuration."""
    shared_site.clean()
    (shared_site.workspace / "a.txt").write_text("hello\n")
    return shared_site


@pytest.fixture(params=["http-auto", "http-legacy"])
def connect(request: pytest.FixtureRequest, site: Site) -> Connect:
    """Connect a client of the Python SDK with each way to open a conversation.

    `auto` is the stateless protocol, `legacy` the handshake. Servers over HTTP serve all tests,
    each with a client of its own; one over the standard streams is started for each test.
    """
    transport, era = request.param.split("-")

    @contextlib.asynccontextmanager
    async def connect(*more: str, mode: str = "yolo", **options: Any) -> AsyncIterator[Client]:
        options = {
            "mode": era,
            "client_info": Implementation(name=uuid4().hex, version="1"),
        } | options
        if transport == "http":
            async with site.shared_http(*more, mode=mode).client(**options) as client:
                yield client
        else:
            streams = stdio_client(site.stdio(*more, mode=mode))
            async with Client(streams, **options) as client:
                yield client

    return connect


@pytest.fixture(scope="session")
def node_modules(npm_install: Callable[[Mapping[str, str]], Path]) -> Path:
    """The folder with the packages of npm."""
    return npm_install(NPM)
