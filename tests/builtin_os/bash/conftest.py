"""Fixtures for tests of Bash: who finds the processes that a test started."""

from __future__ import annotations

import asyncio
import sys
import time
import uuid
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from toolcrib.testing import ToolHarness

MARK = "TOOLCRIB_TEST_MARK"


@pytest.fixture
def mark() -> str:
    """Digits that every process of this test has in its environment or command line."""
    return str(uuid.uuid4().int)[:12]


@pytest.fixture
async def crib(workspace: Path, tmp_path: Path, mark: str) -> AsyncIterator[ToolHarness]:
    """The builtin tools in the workspace, with the mark in the environment of commands."""
    home = tmp_path / "home"
    home.mkdir()
    async with ToolHarness(workspace, home=home, environ={MARK: mark}) as harness:
        yield harness


@pytest.fixture
def living(mark: str) -> Callable[[], list[str]]:
    """Gives the command lines of the processes of this test that run."""
    if sys.platform != "linux":
        pytest.skip("processes are looked up in /proc")

    def look() -> list[str]:
        found = []
        for process in Path("/proc").glob("[0-9]*"):
            try:
                environment = (process / "environ").read_bytes()
                line = (process / "cmdline").read_text(errors="replace")
            except OSError:
                continue
            if f"{MARK}={mark}".encode() in environment or mark in line:
                found.append(line.replace("\0", " "))
        return found

    return look


@pytest.fixture
def until(living: Callable[[], list[str]]) -> Callable[[str], object]:
    """Waits until a process of this test has a text in its command line."""

    async def wait(text: str) -> None:
        deadline = time.monotonic() + 10
        while not any(text in line for line in living()):
            assert time.monotonic() < deadline, f"no process with {text!r} came up"
            await asyncio.sleep(0.02)

    return wait
