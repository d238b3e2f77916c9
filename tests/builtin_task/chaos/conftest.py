"""Sessions whose processes can all be found, and whose traces must all be gone in the end."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import secrets
import time
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from attrs import define, field

from toolcrib import TaskInfo, TaskOutput, Tasks, process_started
from toolcrib.contract.events import Event
from toolcrib.testing import ToolHarness

MARK = "TOOLCRIB_CHAOS_TEST"
PATIENCE_S = 20
GRACE_S = 0.3


def marked_processes(mark: str) -> list[int]:
    """The running processes that inherited the mark of a test."""
    wanted = f"{MARK}={mark}".encode()
    found = []
    for entry in os.listdir("/proc"):
        if entry.isdigit() and int(entry) != os.getpid():
            try:
                variables = Path(f"/proc/{entry}/environ").read_bytes().split(b"\0")
            except OSError:
                continue
            if wanted in variables and process_started(int(entry)) is not None:
                found.append(int(entry))
    return found


@define
class Host:
    """One session, and short ways to its background tasks."""

    harness: ToolHarness
    events: list[Event] = field(factory=list)

    @property
    def tasks(self) -> Tasks:
        tasks = self.harness.session.tasks
        assert tasks is not None
        return tasks

    async def bash(self, command: str, **arguments: Any) -> str:
        """Start a command in the background; the id of its task."""
        done = await self.harness.call("Bash", {**_background(command), **arguments})
        return task_id_in(str(done.result.output))

    async def bash_many(self, commands: list[str]) -> list[str]:
        """Start all of them by one batch of calls."""
        batch = await self.harness.batch(*(("Bash", _background(one)) for one in commands))
        return [task_id_in(str(done.result.output)) for done in batch]

    async def ended(self, *task_ids: str) -> list[TaskInfo]:
        """Wait for the ends of tasks."""
        await self.tasks.wait(task_ids, timeout_s=PATIENCE_S, for_all=True)
        infos = [self.info(task_id) for task_id in task_ids]
        assert not any(info.active for info in infos), infos
        return infos

    def info(self, task_id: str) -> TaskInfo:
        info = self.tasks.get(task_id)
        assert info is not None
        return info

    def output(self, task_id: str, **which: Any) -> TaskOutput:
        output = self.tasks.output(task_id, **which)
        assert output is not None
        return output

    def log(self, task_id: str) -> Path:
        path = self.output(task_id).path
        assert path is not None
        return Path(path)

    async def written(self, task_id: str, text: str) -> None:
        """Wait until a task has written something."""
        async with asyncio.timeout(PATIENCE_S):
            while text not in self.output(task_id).text:
                assert self.info(task_id).active, self.output(task_id)
                await asyncio.sleep(0.01)

    def told(self) -> list[str]:
        """The ids of the tasks whose ends the model is told of now."""
        ids: list[str] = []
        for message in self.harness.session.context_messages():
            origin = message.origin
            ids += origin.get("task_ids") or [origin["task_id"]]
        return ids


@define
class Chaos:
    """Opens sessions in one workspace with one state folder."""

    workspace: Path
    mark: str = field(factory=lambda: secrets.token_hex(8))
    opened: list[Host] = field(factory=list)

    def open(self, *, environ: Mapping[str, str] | None = None, **task: Any) -> Host:
        harness = ToolHarness(
            self.workspace,
            config={"task": {"kill_grace_period_s": GRACE_S, **task}},
            environ={MARK: self.mark, **(environ or {})},
        )
        host = Host(harness)
        harness.session.subscribe(host.events.append)
        self.opened.append(host)
        return host

    def processes(self) -> list[int]:
        return marked_processes(self.mark)

    async def aclose(self) -> None:
        for host in self.opened:
            await host.harness.aclose()

    async def all_gone(self) -> None:
        """Wait for the last process to be gone; those of a kill need a moment."""
        deadline = time.monotonic() + PATIENCE_S
        while left := self.processes():
            assert time.monotonic() < deadline, [command_line(pid) for pid in left]
            await asyncio.sleep(0.01)

    def open_logs(self) -> list[str]:
        """What is open below the state folder, but for the database.

        SQLite keeps files of that open for a later use as long as another session has it open.
        """
        names = (entry.partition(" ")[2] for entry in open_files())
        state = str(self.workspace.parent / "state")
        return sorted(n for n in names if n.startswith(state) and "tasks.db" not in n)

    def kill_all(self) -> None:
        """Leave nothing to the tests that follow one which failed."""
        for pid in self.processes():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, 9)


def _background(command: str) -> dict[str, Any]:
    return {"command": command, "run_in_background": True, "description": "chaos"}


def command_line(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
    except OSError:
        return ""


def task_id_in(output: str) -> str:
    found = re.search(r"^task_id: (\S+)$", output, re.MULTILINE)
    assert found, output
    return found[1]


def open_files() -> set[str]:
    """What this process has open, by number and name."""
    found = set()
    for number in os.listdir("/proc/self/fd"):
        try:
            found.add(f"{number} {os.readlink(f'/proc/self/fd/{number}')}")
        except OSError:
            continue  # that of the listing itself
    return found


@pytest.fixture
async def chaos(tmp_path: Path) -> AsyncIterator[Chaos]:
    """Afterwards nothing may be left: no process, no open file, no work in the event loop."""
    if not os.path.isdir("/proc/self/fd"):
        pytest.skip("needs /proc to look for what is left")
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    made = Chaos(workspace)
    files = open_files()
    yield made
    try:
        await made.aclose()
        await made.all_gone()
    finally:
        made.kill_all()
    async with asyncio.timeout(PATIENCE_S):  # what was abandoned ends in its own time
        while asyncio.all_tasks() != {asyncio.current_task()}:
            await asyncio.sleep(0.01)
    assert open_files() - files == set()
