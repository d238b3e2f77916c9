"""Every search test runs with both engines: what they find has to be the same."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from toolcrib.testing import ToolHarness

Plant = Callable[..., None]


@pytest.fixture(params=["auto", "python"])
async def crib(
    request: pytest.FixtureRequest, workspace: Path, tmp_path: Path
) -> AsyncIterator[ToolHarness]:
    """The tools in the workspace, searching with ripgrep and with Python."""
    home = tmp_path / "home"
    home.mkdir()
    config = {"search": {"engine": request.param}}
    async with ToolHarness(workspace, home=home, config=config) as harness:
        yield harness


@pytest.fixture
def plant(workspace: Path) -> Plant:
    """Writes files in the workspace: `plant({"a.txt": "text", "b.bin": b"bytes"})`."""

    def write(files: dict[str, str | bytes], base: Path = workspace) -> None:
        for name, content in files.items():
            path = base / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content.encode() if isinstance(content, str) else content)

    return write
