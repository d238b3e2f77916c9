"""The tools without the guard that asks for a Read first."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from toolcrib.testing import ToolHarness


@pytest.fixture
async def crib(workspace: Path) -> AsyncIterator[ToolHarness]:
    """The builtin tools in the workspace; files may be changed without having been read."""
    async with ToolHarness(workspace, config={"stale_guard": {"mode": "off"}}) as harness:
        yield harness
