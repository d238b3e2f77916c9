"""Fixtures for all tests: a real workspace with real tools in it, and the `toolcrib` command."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Generator, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from attrs import frozen

from toolcrib.testing import ToolHarness

PROGRAM = str(Path(sys.executable).parent / "toolcrib")
SERVER = Path(__file__).with_name("command_server.py")
PACKAGING = "tests/packaging/"
LOCALE = {"LANG": "C.UTF-8"}
COMMAND_TIMEOUT_S = 60
Finished = subprocess.CompletedProcess[bytes]


@pytest.hookimpl(optionalhook=True, wrapper=True)
def pytest_xdist_auto_num_workers() -> Generator[None, int, int]:
    """`-n auto` has three workers for two processors: tests wait for processes and for time."""
    processors = yield
    return processors * 3 // 2


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Give all tests of a folder with environments to one worker, which builds them once.

    Groups by marks would do, but pytest-xdist 3.8 forgets them under pytest 9.2.
    """
    from xdist.scheduler import LoadScopeScheduling  # type: ignore[import-untyped]

    class Scheduling(LoadScopeScheduling):  # type: ignore[misc]
        def _split_scope(self, nodeid: str) -> str:
            return PACKAGING if nodeid.startswith(PACKAGING) else nodeid

    return Scheduling(config, log)


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """An empty workspace folder."""
    root = tmp_path / "ws"
    root.mkdir()
    return root


@pytest.fixture
async def crib(workspace: Path, tmp_path: Path) -> AsyncIterator[ToolHarness]:
    """The builtin tools in the workspace; `await crib.call("Read", path="a.txt")`."""
    home = tmp_path / "home"
    home.mkdir()
    async with ToolHarness(workspace, home=home) as harness:
        yield harness


@frozen
class Toolcrib:
    """Runs the `toolcrib` command, like `subprocess.run`, in a process of its own.

    With a server, the process is forked from one that has imported everything, unless the
    variables say something that an interpreter has to know when it starts.
    """

    address: str | None

    def __call__(
        self, *arguments: str, cwd: Path, env: Mapping[str, str], given: bytes = b""
    ) -> Finished:
        if self.address is None or not _can_be_forked(env):
            return subprocess.run(
                [PROGRAM, *arguments],
                input=given,
                capture_output=True,
                cwd=cwd,
                env=env,
                timeout=COMMAND_TIMEOUT_S,
            )
        with ThreadPoolExecutor(3) as threads, socket.socket(socket.AF_UNIX) as server:
            server.connect(self.address)
            server.settimeout(COMMAND_TIMEOUT_S)
            theirs, ours = zip(*_pipes(), strict=True)
            command = {"arguments": arguments, "cwd": str(cwd), "env": dict(env)}
            socket.send_fds(server, [b" "], theirs)
            for descriptor in theirs:
                os.close(descriptor)
            threads.submit(_write, ours[0], given)
            out, err = (threads.submit(_read, descriptor) for descriptor in ours[1:])
            server.sendall(json.dumps(command).encode())
            server.shutdown(socket.SHUT_WR)
            status = _status(server)
            return Finished(list(arguments), status, out.result(), err.result())


@pytest.fixture(scope="session")
def toolcrib() -> Iterator[Toolcrib]:
    """`toolcrib("tools", "--json", cwd=..., env=...)`.

    `TOOLCRIB_TESTS_COLD` in the environment of the tests has every command start an interpreter.
    """
    if sys.platform == "win32" or "TOOLCRIB_TESTS_COLD" in os.environ:
        yield Toolcrib(None)
        return
    with tempfile.TemporaryDirectory(prefix="toolcrib-") as folder:
        address = f"{folder}/socket"
        with subprocess.Popen(
            [sys.executable, SERVER, PROGRAM, address],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={"PATH": os.environ["PATH"], **LOCALE},
        ) as process:
            assert process.stdin and process.stdout
            assert process.stdout.readline() == b"ready\n"
            yield Toolcrib(address)
            process.stdin.close()


def _can_be_forked(env: Mapping[str, str]) -> bool:
    special = {name for name in env if name.startswith(("PYTHON", "LC_", "LANG"))}
    return special - {"PYTHONPATH"} == LOCALE.keys() and env["LANG"] == LOCALE["LANG"]


def _pipes() -> Iterator[tuple[int, int]]:
    """A pipe for each standard stream of a command: the end of the command, and ours."""
    yield os.pipe()
    for _ in range(2):
        ours, theirs = os.pipe()
        yield theirs, ours


def _write(descriptor: int, given: bytes) -> None:
    with suppress(BrokenPipeError), open(descriptor, "wb") as pipe:
        pipe.write(given)


def _read(descriptor: int) -> bytes:
    with open(descriptor, "rb") as pipe:
        return pipe.read()


def _status(server: socket.socket) -> int:
    """The exit status of a command, which is killed when it takes too long."""
    with server.makefile("r") as told:
        pid = int(told.readline())
        try:
            return int(told.readline())
        except TimeoutError:
            os.kill(pid, signal.SIGKILL)
            raise
