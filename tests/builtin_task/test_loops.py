"""Tasks whose event loop comes to its end, or that are looked after in a later one."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any

import pytest

from toolcrib import TaskInfo, Tasks
from toolcrib.testing import ToolHarness

Run = Callable[[Coroutine[Any, Any, Any]], Any]


def _in_a_closed_loop(work: Coroutine[Any, Any, Any]) -> Any:
    """As a host does that closes its loop without cancelling what runs in it."""
    loop = asyncio.new_event_loop()
    try:
        return loop.run_until_complete(work)
    finally:
        loop.close()


@pytest.fixture(params=[asyncio.run, _in_a_closed_loop], ids=["run", "closed"])
def run(request: pytest.FixtureRequest) -> Run:
    """One event loop for one piece of work."""
    return request.param  # type: ignore[no-any-return]


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Callable[..., ToolHarness]]:
    """Opens sessions in one workspace."""
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    harnesses = []

    def open_one(**task: Any) -> ToolHarness:
        config = {"task": {"kill_grace_period_s": 0.2, **task}}
        harnesses.append(ToolHarness(workspace, config=config))
        return harnesses[-1]

    yield open_one
    for harness in harnesses:
        asyncio.run(harness.aclose())


async def started(harness: ToolHarness, command: str, **more: Any) -> TaskInfo:
    """The task of a command."""
    arguments = {"command": command, "run_in_background": True, "description": "work", **more}
    done = await harness.call("Bash", arguments)
    assert not done.result.is_error, done.result.output
    return tasks_of(harness).list(active_only=False)[-1]


def tasks_of(harness: ToolHarness) -> Tasks:
    tasks = harness.session.tasks
    assert tasks is not None
    return tasks


def gone(pid: int) -> bool:
    """Whether a process does not run any more, after a moment."""
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            return True
        if state in "ZX":
            return True
        time.sleep(0.02)
    return False


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="processes are looked up in /proc")
def test_a_task_ends_with_its_event_loop(opened: Callable[..., ToolHarness], run: Run) -> None:
    """Nobody could look after it any more: it is stopped, and that is told in the next loop."""
    harness = opened()
    before = run(started(harness, "sleep 60"))
    done = run(harness.call("WaitFor", task_id=before.task_id, timeout=5))
    assert "status: killed" in done.result.output
    assert gone(before.details["pid"])
    assert run(harness.call("TaskStop", task_id=before.task_id)).result.is_error is False
    assert tasks_of(harness).list() == ()


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="open files are counted in /proc")
def test_event_loops_that_end_leave_no_files_open(opened: Callable[..., ToolHarness]) -> None:
    """However many tasks end with them."""
    harness = opened()
    asyncio.run(started(harness, "sleep 60"))
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(5):
        asyncio.run(started(harness, "sleep 60"))
    assert len(os.listdir("/proc/self/fd")) == before


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_kept_task_goes_on_in_the_next_event_loop(
    opened: Callable[..., ToolHarness], run: Run
) -> None:
    """It writes by itself, and so is looked after again by whoever comes next."""
    harness = opened(keep_alive_on_exit=True)
    task_id = run(started(harness, "echo a; sleep 1; echo b; exit 3")).task_id
    for wanted in ("status: running", "status: failed"):
        done = run(harness.call("TaskOutput", task_id=task_id))
        assert wanted in done.result.output
        if wanted == "status: running":
            run(harness.call("WaitFor", task_id=task_id, timeout=20))
    info, output = tasks_of(harness).get(task_id), tasks_of(harness).output(task_id)
    assert info is not None and info.details["exit_code"] == 3
    assert output is not None and output.text == "a\nb\n"


def test_tasks_can_be_asked_for_without_an_event_loop(
    opened: Callable[..., ToolHarness],
) -> None:
    """What an earlier session has left running is looked after as soon as there is a loop."""
    first = opened(keep_alive_on_exit=True)

    async def leave() -> TaskInfo:
        info = await started(first, "sleep 0.3; exit 3")
        await first.aclose()
        return info

    task_id = asyncio.run(leave()).task_id
    later = opened()
    assert [info.task_id for info in tasks_of(later).list(active_only=False)] == [task_id]
    assert later.session.context_messages() == []
    done = asyncio.run(later.call("WaitFor", task_id=task_id, timeout=20))
    assert "exit_code: 3" in done.result.output


def test_the_end_of_a_kept_task_is_told_to_a_session_that_only_asks_for_news(
    opened: Callable[..., ToolHarness],
) -> None:
    """No tool has to be called for it."""
    first = opened(keep_alive_on_exit=True)

    async def leave() -> str:
        info = await started(first, "sleep 0.3; exit 3")
        await first.aclose()
        return info.task_id

    async def listen(harness: ToolHarness) -> list[str]:
        for _ in range(200):
            if news := harness.session.context_messages():
                return [message.id for message in news]
            await asyncio.sleep(0.05)
        return []

    task_id = asyncio.run(leave())
    assert asyncio.run(listen(opened())) == [f"task:{task_id}:failed"]


def test_a_time_limit_holds_in_a_later_session(opened: Callable[..., ToolHarness]) -> None:
    """From when it is looked after again."""
    first = opened(keep_alive_on_exit=True)

    async def leave() -> str:
        info = await started(first, "sleep 60", timeout=1)
        await first.aclose()
        return info.task_id

    task_id = asyncio.run(leave())
    done = asyncio.run(opened().call("WaitFor", task_id=task_id, timeout=20))
    assert "status: timed_out" in done.result.output and "timeout_ms: 1000" in done.result.output
