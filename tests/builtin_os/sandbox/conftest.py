"""A session in the sandbox, on a machine with secrets, victims and listeners."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import uuid
from collections.abc import AsyncIterator, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from attrs import frozen

import toolcrib


def _why_not() -> str:
    from toolcrib_os.sandbox.bwrap import find_bwrap

    try:
        find_bwrap(os.environ.get("PATH"))
    except toolcrib.RuntimeUnavailable as error:
        return str(error)
    return ""


@frozen
class Machine:
    """What is around the sandbox; `secret` is written in every place it must not be read from."""

    root: Path
    secret: str

    @property
    def workspace(self) -> Path:
        return self.root / "workspace"

    @property
    def home(self) -> Path:
        return self.root / "home"

    @property
    def outside(self) -> Path:
        return self.root / "outside"

    @property
    def environ(self) -> dict[str, str]:
        return {
            "PATH": os.environ["PATH"],
            "HOME": str(self.home),
            "XDG_CONFIG_HOME": str(self.home / ".config"),
            "TOOLCRIB_STATE": str(self.home / ".local/state/toolcrib"),
            "SOME_API_TOKEN": self.secret,
            "DATABASE_URL": f"postgres://me:{self.secret}@localhost/db",
            "SSH_AUTH_SOCK": str(self.root / "agent.sock"),
        }


@frozen
class Inside:
    """A session whose tools act in the sandbox of a machine."""

    machine: Machine
    session: toolcrib.Session

    async def call(self, tool: str, **arguments: Any) -> toolcrib.ToolResult:
        calls = [{"id": "1", "name": tool, "arguments": arguments}]
        (done,) = [done async for done in self.session.execute(calls)]
        result: toolcrib.ToolResult = done.result
        assert self.machine.secret not in str(result.output)
        return result

    async def bash(self, command: str, **arguments: Any) -> str:
        """What a command writes; secrets are never in it."""
        return str((await self.call("Bash", command=command, **arguments)).output)

    async def script(self, text: str) -> str:
        """What a shell script writes, into which no guard of toolcrib looks."""
        script = self.machine.workspace / f"{uuid.uuid4().hex}.sh"
        script.write_text(text, "utf-8")
        return await self.bash(f"sh {script.name}")

    async def python(self, code: str) -> str:
        script = self.machine.workspace / f"{uuid.uuid4().hex}.py"
        script.write_text(code, "utf-8")
        return await self.bash(f"{shutil.which('python3', path='/usr/bin:/bin')} {script.name}")


@pytest.fixture
def machine() -> Iterator[Machine]:
    """A home with secrets, a workspace and a folder beside it, none of them below /tmp."""
    cache = Path.home() / ".cache"
    cache.mkdir(exist_ok=True)
    root = Path(tempfile.mkdtemp(prefix="toolcrib-escapes-", dir=cache))
    found = Machine(root, f"secret-{uuid.uuid4().hex}")
    for folder in (found.workspace, found.outside, found.home / ".ssh", found.home / ".docker"):
        folder.mkdir(parents=True)
    (found.home / ".ssh/id_ed25519").write_text(found.secret)
    (found.home / ".docker/config.json").write_text(found.secret)
    (found.home / ".netrc").write_text(found.secret)
    (found.home / ".profile").write_text("umask 022\n")
    (found.outside / "file.txt").write_text(found.secret)
    state = found.home / ".local/state/toolcrib"
    state.mkdir(parents=True)
    (state / "trusted.txt").write_text(found.secret)
    yield found
    shutil.rmtree(root)


@pytest.fixture
async def inside(machine: Machine) -> AsyncIterator[Inside]:
    """A session in the sandbox with limits that are soon reached."""
    async with open_inside(machine, {}) as session:
        yield Inside(machine, session)


def open_inside(machine: Machine, settings: Mapping[str, Any]) -> toolcrib.Session:
    """A session in the sandbox; `settings` are those of `[sandbox]`."""
    if reason := _why_not():
        pytest.skip(reason)
    tight = {"processes": 100, "memory_mb": 300, "cpu_s": 20, "tmp_mb": 20, "file_size_mb": 40}
    return toolcrib.open_session(
        machine.workspace,
        mode="yolo",
        runtime="sandbox",
        autoload=False,
        environ=machine.environ,
        overrides={
            "sandbox": {**tight, "disk_mb": 150, **settings},
            # The sandbox is tested here, not the questions in front of it.
            "permission": {"dangerous_command_guard": False},
        },
    )


@pytest.fixture
def limited(machine: Machine) -> Any:
    """Opens a session with other settings: `async with limited(cpu_s=1) as inside`."""
    from contextlib import asynccontextmanager

    @asynccontextmanager
    async def opened(**settings: Any) -> AsyncIterator[Inside]:
        async with open_inside(machine, settings) as session:
            yield Inside(machine, session)

    return opened


@pytest.fixture
def victim() -> Iterator[subprocess.Popen[bytes]]:
    """A process of the host, with a secret in its environment, that should live on."""
    process = subprocess.Popen(["sleep", "600"], env={"VICTIM": "victims-own-secret"})
    yield process
    process.kill()
    process.wait()
