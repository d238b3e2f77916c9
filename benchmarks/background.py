"""Background tasks: what it costs to start one, and to keep a flood of output."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Any

from attrs import define, field

import toolcrib
from benchmarks.lab import Lab
from benchmarks.record import Benchmark, Measured
from benchmarks.search import call
from benchmarks.shell import bounded, lines
from benchmarks.timing import clock, race, typical
from benchmarks.usage import usage

ARGV = ("/bin/bash", "-c", "exec sleep 300")
LIMIT_BYTES = 1 << 40


@define(eq=False)
class Command:
    """The smallest work that is a process, as somebody else's plugin might have it."""

    argv: tuple[str, ...]
    kind: str = "process"
    id_prefix: str = "bench"
    description: str = "a benchmark"
    _process: toolcrib.RunningProcess | None = field(default=None, init=False)

    @property
    def process(self) -> toolcrib.RunningProcess:
        assert self._process is not None
        return self._process

    def details(self) -> Mapping[str, Any]:
        return {} if self._process is None else {"pid": self._process.pid}

    def begin(self, log: toolcrib.TaskLog) -> None:
        launch = toolcrib.Launch(self.argv, "/", os.environ)
        self._process = toolcrib.start_process(launch, on_output=log.write, token=log.task_id)

    async def run(self) -> toolcrib.TaskEnd:
        return toolcrib.TaskEnd(await self.process.wait() == 0)

    async def stop(self, grace_s: float) -> None:
        await self.process.stop(grace_s)

    def kill(self) -> None:
        self.process.kill()

    def leave(self) -> None:
        self.process.leave()


async def start_work(lab: Lab) -> Measured:
    async def start(session: toolcrib.Session) -> None:
        _tasks(session).start(Command(ARGV), timeout_s=None)

    return await _start(lab, start)


async def start_bash(lab: Lab) -> Measured:
    arguments = {
        "command": "exec sleep 300",
        "run_in_background": True,
        "description": "a benchmark",
    }

    async def start(session: toolcrib.Session) -> None:
        await call(session, "Bash", arguments)

    return await _start(lab, start)


async def keep_output(lab: Lab) -> Measured:
    command = lines(lab.sizes.output_mb)
    arguments = {"command": command, "run_in_background": True, "description": "a benchmark"}
    async with _session(lab) as session:
        tasks = _tasks(session)

        async def keep() -> None:
            await call(session, "Bash", arguments)
            (info,) = tasks.list()
            await tasks.wait([info.task_id], timeout_s=600)
            output = tasks.output(info.task_id)
            assert output is not None and output.path is not None
            assert output.kept_bytes == lab.sizes.output_mb * 1_000_000
            os.truncate(output.path, 0)

        before = usage()
        pair = await race(lambda: bounded(command), keep, rounds=max(3, lab.sizes.rounds // 2))
        left = usage().children - before.children
    failed = f"{left} processes left running" if left else ""
    return Measured(floor=pair.floor_s * 1e3, ours=pair.ours_s * 1e3, unit="ms", failed=failed)


async def _start(lab: Lab, start: Callable[[toolcrib.Session], Awaitable[object]]) -> Measured:
    """Only the starts are timed; what was started is stopped in between."""
    count = lab.sizes.processes
    floors, own = [], []
    async with _session(lab) as session:

        async def ours() -> None:
            for _ in range(count):
                await start(session)

        for _ in range(lab.sizes.rounds + 1):
            processes: list[asyncio.subprocess.Process] = []
            floors.append(await clock(lambda: _start_plainly(count, processes)))  # noqa: B023
            for process in processes:
                process.kill()
                await process.communicate()
            own.append(await clock(ours))
            tasks = _tasks(session)
            await asyncio.gather(*(tasks.stop(info.task_id) for info in tasks.list()))
    scale = 1e3 / count
    return Measured(floor=typical(floors[1:]) * scale, ours=typical(own[1:]) * scale, unit="ms")


async def _start_plainly(count: int, started: list[asyncio.subprocess.Process]) -> None:
    pipe, null = asyncio.subprocess.PIPE, asyncio.subprocess.DEVNULL
    for _ in range(count):
        started.append(
            await asyncio.create_subprocess_exec(
                *ARGV, stdin=null, stdout=pipe, stderr=asyncio.subprocess.STDOUT
            )
        )


def _session(lab: Lab) -> AbstractAsyncContextManager[toolcrib.Session]:
    return toolcrib.open_session(
        lab.workspace,
        mode="yolo",
        environ=lab.environment,
        crib=lab.crib,
        overrides={"task": {"output_limit_bytes": LIMIT_BYTES}},
    )


def _tasks(session: toolcrib.Session) -> toolcrib.Tasks:
    tasks = session.tasks
    assert tasks is not None
    return tasks


BENCHMARKS = [
    Benchmark(
        name="background-start",
        what="background: start a process as a task",
        floor="asyncio.create_subprocess_exec with the same arguments",
        measure=start_work,
        max_more=3.0,
    ),
    Benchmark(
        name="background-bash",
        what="background: a whole call of Bash that starts it",
        floor="asyncio.create_subprocess_exec with the same arguments",
        measure=start_bash,
        max_more=3.0,
    ),
    Benchmark(
        name="background-output",
        what="background: {s.output_mb} MB of output, all of it kept in a file",
        floor="bounded reading with asyncio, which keeps next to nothing",
        measure=keep_output,
    ),
]
