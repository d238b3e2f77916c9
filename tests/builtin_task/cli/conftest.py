"""Tasks of `toolcrib run`, and `toolcrib tasks` in a home of the test's own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from attrs import field, frozen

PROGRAM = str(Path(sys.executable).parent / "toolcrib")


@frozen
class Ran:
    """What a command left behind."""

    status: int
    out: bytes
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@frozen
class Home:
    """A user with a workspace; nothing of the developer's own is read or written."""

    folder: Path
    _toolcrib: Callable[..., subprocess.CompletedProcess[bytes]] = field(repr=False)
    runs: list[subprocess.Popen[str]] = field(factory=list)

    @property
    def workspace(self) -> Path:
        return self.folder / "ws"

    @property
    def environ(self) -> dict[str, str]:
        return {
            "PATH": f"{Path(PROGRAM).parent}{os.pathsep}{os.environ['PATH']}",
            "HOME": str(self.folder),
            "XDG_CONFIG_HOME": str(self.folder / "config"),
            "TOOLCRIB_STATE": str(self.folder / "state"),
            "LANG": "C.UTF-8",
            "TERM": "xterm",
        }

    def tasks(self, *arguments: str) -> Ran:
        """Run `toolcrib tasks` with the arguments."""
        done = self._toolcrib("tasks", *arguments, cwd=self.workspace, env=self.environ)
        return Ran(done.returncode, done.stdout, done.stderr.decode())

    def list(self, *options: str) -> list[dict[str, Any]]:
        listed: list[dict[str, Any]] = self.tasks("list", "--json", *options).json
        return listed

    def run(
        self, *commands: str, on_exit: str = "wait", workspace: Path | None = None
    ) -> subprocess.Popen[str]:
        """Start a session with a task for each command, and wait until all of them are known."""
        where = workspace or self.workspace
        known = len(self.list())
        calls = [
            {
                "id": str(number),
                "name": "Bash",
                "arguments": {
                    "command": command,
                    "description": command[:40],
                    "run_in_background": True,
                },
            }
            for number, command in enumerate(commands)
        ]
        file = self.folder / f"calls{len(self.runs)}.json"
        file.write_text(json.dumps({"batches": [calls]}))
        session = subprocess.Popen(
            [PROGRAM, "run", str(file), "--mode", "yolo", "--on-exit", on_exit, "--json"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=where,
            env=self.environ,
            text=True,
        )
        self.runs.append(session)
        while len(self.list()) < known + len(commands):
            assert session.poll() in (None, 0), session.stderr and session.stderr.read()
            time.sleep(0.02)
        return session

    def finish(self, session: subprocess.Popen[str]) -> str:
        """Wait until a session has ended; gives its standard error."""
        return session.communicate(timeout=30)[1]


@pytest.fixture
def home(
    tmp_path: Path, toolcrib: Callable[..., subprocess.CompletedProcess[bytes]]
) -> Iterator[Home]:
    (tmp_path / "ws").mkdir()
    home = Home(tmp_path, toolcrib)
    yield home
    home.tasks("stop", "--all", "--grace", "0")
    for session in home.runs:
        session.kill()
        session.communicate()


@pytest.fixture
def eventually() -> Callable[[Callable[[], bool]], None]:
    """Wait until something holds."""

    def wait(holds: Callable[[], bool]) -> None:
        while not holds():
            time.sleep(0.02)

    return wait
