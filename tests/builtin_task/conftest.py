"""Work of an extension's own kind, and a session whose tasks it becomes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from attrs import define, field

from toolcrib import Session, TaskEnd, TaskLog, Tasks
from toolcrib.testing import ToolHarness


@define(eq=False, slots=False)
class Counting:
    """Counts to a number, a step every so many seconds, and writes each step down.

    `stubborn` work does not listen to a polite stop; `ends` says how it ends by itself.
    """

    upto: int = 3
    step_s: float = 0.01
    ends: TaskEnd = field(factory=lambda: TaskEnd(True))
    description: str = "counting"
    stubborn: bool = False
    kind: str = "counting"
    id_prefix: str = "count"
    begun: int = 0
    killed: bool = False
    left: bool = False
    log: TaskLog | None = None
    stop_wanted: asyncio.Event = field(factory=asyncio.Event)

    def details(self) -> Mapping[str, Any]:
        return {"upto": self.upto}

    def begin(self, log: TaskLog) -> None:
        self.begun += 1
        self.log = log

    async def run(self) -> TaskEnd:
        assert self.log is not None
        for number in range(1, self.upto + 1):
            try:
                async with asyncio.timeout(self.step_s):
                    await self.stop_wanted.wait()
                return TaskEnd(False)
            except TimeoutError:
                self.log.write(f"{number}\n".encode())
        return self.ends

    async def stop(self, grace_s: float) -> None:
        if self.stubborn:
            await asyncio.sleep(grace_s)
            self.kill()
        else:
            self.stop_wanted.set()

    def kill(self) -> None:
        self.killed = True
        self.stop_wanted.set()

    def leave(self) -> None:
        self.left = True


@pytest.fixture
def counting() -> type[Counting]:
    return Counting


@define(eq=False)
class Writing:
    """Writes what the test says, until the test lets it end."""

    kind: str = "writing"
    id_prefix: str = "write"
    description: str = "writing"
    id: str = ""
    ends: TaskEnd = field(factory=lambda: TaskEnd(True))
    extra: dict[str, Any] = field(factory=dict)
    over: asyncio.Event = field(factory=asyncio.Event)
    log: TaskLog | None = None

    def details(self) -> Mapping[str, Any]:
        return self.extra

    def begin(self, log: TaskLog) -> None:
        self.log = log

    async def run(self) -> TaskEnd:
        await self.over.wait()
        return self.ends

    async def stop(self, grace_s: float) -> None:
        self.over.set()

    def kill(self) -> None:
        self.over.set()

    def leave(self) -> None:
        self.over.set()

    def write(self, data: bytes) -> None:
        assert self.log is not None
        self.log.write(data)


@pytest.fixture
def writing() -> type[Writing]:
    return Writing


Opening = Callable[..., ToolHarness]


@pytest.fixture
async def open_in(tmp_path: Path) -> AsyncIterator[Opening]:
    """Opens sessions in one workspace with one state folder, one after the other or at once."""
    opened: list[ToolHarness] = []
    workspace = tmp_path / "workspace"
    workspace.mkdir()

    def open_one(**task: Any) -> ToolHarness:
        harness = ToolHarness(workspace, config={"task": {"kill_grace_period_s": 0.2, **task}})
        opened.append(harness)
        return harness

    yield open_one
    for harness in opened:
        await harness.session.aclose()


def tasks_of(session: Session) -> Tasks:
    tasks = session.tasks
    assert tasks is not None
    return tasks


@pytest.fixture
def tasks(open_in: Opening) -> Tasks:
    """The tasks of a session."""
    return tasks_of(open_in().session)
