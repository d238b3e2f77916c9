"""Fixtures for all tests: a real workspace with real tools in it."""

from __future__ import annotations

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
def crib(workspace: Path, tmp_path: Path) -> ToolHarness:
    """The builtin tools in the workspace; `await crib.call("Read", path="a.txt")`."""
    home = tmp_path / "home"
    home.mkdir()
    return ToolHarness(workspace, home=home)
