"""Work of extensions that goes wrong where it should not: every task has an end all the same."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest

from toolcrib import TaskEnd, TaskLog, Tasks, ToolcribError


class Faulty:
    """Runs until it is stopped, and fails in the methods that the test names."""

    kind = "faulty"
    id_prefix = "faulty"
    description = "faulty work"

    def __init__(self, *faults: str) -> None:
        self.faults = faults
        self.over = asyncio.Event()

    def details(self) -> Mapping[str, Any]:
        self._fail("details")
        return {}

    def begin(self, log: TaskLog) -> None:
        log.write(b"begun\n")

    async def run(self) -> TaskEnd:
        await self.over.wait()
        return TaskEnd(True) if "run" not in self.faults else None  # type: ignore[return-value]

    async def stop(self, grace_s: float) -> None:
        self._fail("stop")
        self.over.set()

    def kill(self) -> None:
        self._fail("kill")

    def leave(self) -> None:
        self._fail("leave")

    def _fail(self, method: str) -> None:
        if method in self.faults:
            raise ZeroDivisionError(method)


@pytest.mark.parametrize("faults", [(), ("details",), ("stop",), ("stop", "kill")])
async def test_work_that_cannot_be_stopped_counts_as_stopped(
    tasks: Tasks, faults: tuple[str, ...]
) -> None:
    """What goes wrong in it harms neither the call nor other tasks."""
    info = tasks.start(Faulty(*faults), timeout_s=None)
    assert [each.task_id for each in tasks.list()] == [info.task_id]
    after = await tasks.stop(info.task_id, "enough")
    assert after is not None and (after.status, after.stop_reason) == ("killed", "enough")
    output = tasks.output(info.task_id)
    assert output is not None and output.text == "begun\n"


async def test_work_that_gives_no_end_has_failed(tasks: Tasks) -> None:
    """Instead of running for ever."""
    work = Faulty("run")
    task_id = tasks.start(work, timeout_s=None).task_id
    work.over.set()
    await tasks.wait([task_id], timeout_s=20)
    info = tasks.get(task_id)
    assert info is not None and info.status == "failed" and info.stop_reason is not None


async def test_the_session_closes_whatever_its_work_does(tasks: Tasks) -> None:
    """Each of several tasks is ended."""
    ids = [tasks.start(Faulty("stop", "kill"), timeout_s=None).task_id for _ in range(3)]
    await tasks.aclose()
    infos = [tasks.get(task_id) for task_id in ids]
    assert {info.status for info in infos if info is not None} == {"killed"}


async def test_nothing_is_started_after_the_session(tasks: Tasks) -> None:
    """By somebody who does not know that it is over: nobody would look after it."""
    await tasks.aclose()
    assert tasks.room() is not None
    with pytest.raises(ToolcribError):
        tasks.start(Faulty(), timeout_s=None)
