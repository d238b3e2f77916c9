"""`toolcrib mcp` in a home of the test's own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from attrs import field, frozen

PROGRAM = str(Path(sys.executable).parent / "toolcrib")


@frozen
class Ran:
    """What a command left behind."""

    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@frozen
class Home:
    """A user with a workspace; nothing of the developer's own is read or written."""

    folder: Path
    _toolcrib: Callable[..., subprocess.CompletedProcess[bytes]] = field(repr=False)
    variables: dict[str, str] = field(factory=dict)

    @property
    def workspace(self) -> Path:
        return self.folder / "ws"

    @property
    def file(self) -> Path:
        return self.folder / "config" / "toolcrib" / "mcp.json"

    @property
    def entries(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.file.read_text("utf-8"))["mcpServers"]
        return found

    def write(self, name: str, content: object) -> Path:
        """Write a file below the home, as text or as JSON."""
        file = self.folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content if isinstance(content, str) else json.dumps(content), "utf-8")
        return file

    def __call__(self, *arguments: str) -> Ran:
        return self.toolcrib("mcp", *arguments)

    def toolcrib(self, *arguments: str) -> Ran:
        environ = {
            "PATH": f"{Path(PROGRAM).parent}{os.pathsep}{os.environ['PATH']}",
            "HOME": str(self.folder),
            "XDG_CONFIG_HOME": str(self.folder / "config"),
            "XDG_STATE_HOME": str(self.folder / "state"),
            "LANG": "C.UTF-8",
            **self.variables,
        }
        done = self._toolcrib(*arguments, cwd=self.workspace, env=environ)
        return Ran(done.returncode, done.stdout.decode(), done.stderr.decode())


@pytest.fixture
def mcp(tmp_path: Path, toolcrib: Callable[..., subprocess.CompletedProcess[bytes]]) -> Home:
    (tmp_path / "ws").mkdir()
    return Home(tmp_path, toolcrib)
