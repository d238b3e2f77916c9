"""The real `toolcrib` command, with a home and a workspace of the test's own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import psutil
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

    @property
    def records(self) -> list[dict[str, Any]]:
        """The JSON Lines on standard output."""
        return [json.loads(line) for line in self.out.splitlines()]


@frozen
class Cli:
    """Runs commands in the workspace; nothing of the developer's own is read or written."""

    home: Path
    _toolcrib: Callable[..., subprocess.CompletedProcess[bytes]] = field(repr=False)
    variables: dict[str, str] = field(factory=dict)

    @property
    def program(self) -> str:
        """For commands that are started otherwise than by calling this."""
        return PROGRAM

    @property
    def workspace(self) -> Path:
        return self.home / "ws"

    @property
    def user_file(self) -> Path:
        return self.home / "config" / "toolcrib" / "toolcrib.toml"

    @property
    def environ(self) -> dict[str, str]:
        """The variables of a command: `variables` and what a program needs to start."""
        return {
            "PATH": f"{Path(PROGRAM).parent}{os.pathsep}{os.environ['PATH']}",
            "HOME": str(self.home),
            "XDG_CONFIG_HOME": str(self.home / "config"),
            "XDG_STATE_HOME": str(self.home / "state"),
            "LANG": "C.UTF-8",
            "TERM": "xterm",
            **self.variables,
        }

    def configure(self, text: str) -> Path:
        """Write the user's configuration."""
        self.user_file.parent.mkdir(parents=True, exist_ok=True)
        self.user_file.write_text(text, "utf-8")
        return self.user_file

    def __call__(
        self, *arguments: str, given: str | bytes = "", env: Mapping[str, str] | None = None
    ) -> Ran:
        """Run `toolcrib` with the arguments and something on standard input."""
        done = self._toolcrib(
            *arguments,
            given=given.encode() if isinstance(given, str) else given,
            cwd=self.workspace,
            env={**self.environ, **(env or {})},
        )
        return Ran(done.returncode, done.stdout.decode(), done.stderr.decode())

    def shell(self, script: str) -> Ran:
        """Run a script in bash with `toolcrib` on the path."""
        done = subprocess.run(
            ["bash", "--norc", "-c", script],
            capture_output=True,
            text=True,
            cwd=self.workspace,
            env=self.environ,
            timeout=60,
        )
        return Ran(done.returncode, done.stdout, done.stderr)


@pytest.fixture
def cli(tmp_path: Path, toolcrib: Callable[..., subprocess.CompletedProcess[bytes]]) -> Cli:
    (tmp_path / "ws").mkdir()
    (tmp_path / "ws" / "a.txt").write_text("hello\n")
    return Cli(tmp_path, toolcrib)


@pytest.fixture
def install(cli: Cli, tmp_path: Path) -> Callable[[str, str], None]:
    """Put a distribution with one plugin, given as the text of a module, on the import path."""
    site = tmp_path / "site"
    site.mkdir()
    cli.variables["PYTHONPATH"] = str(site)

    def install(name: str, code: str) -> None:
        module = name.replace("-", "_")
        (site / f"{module}.py").write_text(code, "utf-8")
        info = site / f"{module}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(f"[toolcrib]\n{name} = {module}\n")

    return install


@pytest.fixture
def wait_for_end() -> Callable[[int], None]:
    """Wait until a process has ended; whether its parent has noticed does not matter."""

    def wait(pid: int) -> None:
        try:
            process = psutil.Process(pid)
            while process.status() != psutil.STATUS_ZOMBIE:
                time.sleep(0.01)
        except psutil.NoSuchProcess:
            pass

    return wait
