"""Fixtures for all tests: a real workspace with real tools in it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from toolcrib.testing import ToolHarness


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
