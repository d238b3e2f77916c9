"""Servers that do one thing wrong, and what they have left behind."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, Protocol

import pytest
from attrs import evolve, frozen

from toolcrib import process_started
from toolcrib_features.mcp.connection import Connection, connect
from toolcrib_features.mcp.model import Listing, ServerConfig
from toolcrib_features.mcp.server import Server

SCRIPT = str(Path(__file__).with_name("server.py"))


@frozen
class Chaos:
    """One faulty server, as it is configured, and the folder that it writes to."""

    config: ServerConfig
    folder: Path

    def lines(self, name: str) -> list[str]:
        file = self.folder / name
        return file.read_text().splitlines() if file.exists() else []

    def with_(self, **changes: Any) -> Chaos:
        return Chaos(evolve(self.config, **changes), self.folder)

    async def connect(self, **options: Any) -> Connection:
        return await connect(
            self.config, environ=os.environ, cwd=str(self.folder), probe_s=0.5, **options
        )

    def assert_gone(self) -> None:
        """No process that it started is left."""
        for pid in (*self.lines("starts"), *self.lines("child")):
            deadline = time.monotonic() + 5
            while process_started(int(pid)) is not None:
                assert time.monotonic() < deadline, f"{pid} is still there"
                time.sleep(0.01)


class MakeChaos(Protocol):
    def __call__(self, fault: str, number: float = 0) -> Chaos: ...


@pytest.fixture
def chaos(tmp_path: Path) -> MakeChaos:
    def make(fault: str, number: float = 0) -> Chaos:
        folder = tmp_path / fault
        folder.mkdir()
        config = ServerConfig(
            name=fault,
            command=sys.executable,
            args=("-I", SCRIPT, fault, str(folder), str(number)),
            startup_timeout_s=15,
            tool_timeout_s=10,
        )
        return Chaos(config, folder)

    return make


@frozen
class Life:
    """A server, and what it has told."""

    server: Server
    listings: list[Listing]
    states: list[str]

    @property
    def tools(self) -> list[str]:
        return [tool.name for tool in self.listings[-1].tools]


class Start(Protocol):
    def __call__(self, chaos: Chaos, **options: Any) -> Life: ...


@pytest.fixture
async def start() -> AsyncIterator[Start]:
    """Starts the life of a server; all are ended, and nothing is left of them."""
    begun: list[tuple[Chaos, Server]] = []

    def make(chaos: Chaos, **options: Any) -> Life:
        listings: list[Listing] = []
        states: list[str] = []
        server = Server(
            chaos.config,
            connect=chaos.connect,
            listed=listings.append,
            changed=lambda: states.append(server.state),
            **{"first_pause_s": 0.05, "probe_s": 0.5, **options},
        )
        begun.append((chaos, server))
        server.start()
        return Life(server, listings, states)

    yield make
    for _, server in begun:
        await server.aclose()
    for chaos, _ in begun:
        chaos.assert_gone()


class Open(Protocol):
    async def __call__(self, chaos: Chaos, **options: Any) -> Connection: ...


@pytest.fixture
async def opened() -> AsyncIterator[Open]:
    """Connects to a server, and closes the connection in the end."""
    connections: list[tuple[Chaos, Connection]] = []

    async def open_(chaos: Chaos, **options: Any) -> Connection:
        connection = await chaos.connect(**options)
        connections.append((chaos, connection))
        return connection

    yield open_
    for _, connection in connections:
        await connection.aclose()
    for chaos, _ in connections:
        chaos.assert_gone()
