"""Process care: whatever a command starts and however it ends, nothing of it is left."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from toolcrib import Tasks
from toolcrib.testing import ToolHarness

Living = Callable[[], list[str]]
Until = Callable[[str], Awaitable[None]]

BATTERY = {
    "plain": "sleep {long}",
    "pipeline": "yes | sleep {long}",
    "double fork": "((sleep {long} &) &); sleep {long}",
    "own session": "setsid sleep {long} & wait",
    "own session, closed output": "setsid sleep {long} >/dev/null 2>&1 & sleep {long}",
    "ignores TERM": "trap '' TERM; sleep {long}; sleep {long}",
    "own session, ignores TERM": "setsid sh -c 'trap \"\" TERM; sleep {long}; sleep {long}' & wait",
    "traps TERM and goes on": "trap 'echo caught' TERM; while :; do sleep {long}; done",
    "stopped child": "sh -c 'kill -STOP $$; sleep {long}' & sleep {long}",
    "stopped shell": "sleep {long} & kill -STOP $$",
    "nohup": "nohup sleep {long} & wait",
    "own group": "set -m; sleep {long} & sleep {long}",
    "own environment": "env -i sleep {long}",
    "own environment and session": "env -i setsid sleep {long} & wait",
    "respawns": "sh -c 'while :; do sleep {long}; done' & sleep {long}",
    "flood": "sleep {long} & yes",
}
"""Commands that go on for minutes, and make it hard to end them; `{long}` tells which test."""

LEFT_BEHIND = {
    "holds the pipe": "sleep {long} & echo done",
    "in a subshell": "(sleep {long} &) ; echo done",
    "closed output": "sleep {long} >/dev/null 2>&1 & echo done",
    "own session": "setsid sleep {long} & sleep 0.1; echo done",
    "own session, closed output": "setsid sleep {long} >/dev/null 2>&1 & sleep 0.1; echo done",
    "double fork": "(setsid sh -c 'sleep {long} &' >/dev/null &); sleep 0.2; echo done",
    "nohup": "nohup sleep {long} >/dev/null 2>&1 & echo done",
    "ignores TERM": "sh -c 'trap \"\" TERM; sleep {long}; sleep {long}' & sleep 0.1; echo done",
    "stopped": "sh -c 'kill -STOP $$; sleep {long}' & sleep 0.1; echo done",
    "own environment": "env -i sleep {long} & echo done",
}
"""Commands that end, and leave a process that does not."""


@pytest.mark.parametrize("command", LEFT_BEHIND.values(), ids=LEFT_BEHIND.keys())
async def test_what_a_finished_command_leaves_is_stopped(
    crib: ToolHarness, living: Living, mark: str, command: str
) -> None:
    """The result does not wait for it, the exit code is the shell's, and the note tells."""
    before = time.monotonic()
    done = await crib.call("Bash", command=command.replace("{long}", f"300.{mark}"))
    assert time.monotonic() - before < 10
    assert not done.result.is_error
    assert str(done.result.output).endswith("done\n")
    assert living() == []
    assert done.result.note is not None and "stopped" in done.result.note


async def test_children_that_are_waited_for_are_no_leftovers(crib: ToolHarness) -> None:
    done = await crib.call("Bash", command="sleep 0.3 & wait; diff <(echo a) <(echo a); echo w")
    assert done.result.output == "w\n"
    assert done.result.note is not None and "background" not in done.result.note


async def test_output_of_a_child_that_ends_a_little_later_is_kept(crib: ToolHarness) -> None:
    done = await crib.call("Bash", command="(sleep 0.05; echo late) & echo early")
    assert done.result.output == "early\nlate\n"


@pytest.mark.parametrize("command", BATTERY.values(), ids=BATTERY.keys())
async def test_cancelling_returns_the_output_and_leaves_nothing(
    crib: ToolHarness, living: Living, until: Until, mark: str, command: str
) -> None:
    """Within the grace of the pipeline the tree is gone and the output so far is the result."""

    command = command.replace("{long}", f"300.{mark}")
    running = asyncio.create_task(crib.call("Bash", command=f"echo early; {command}"))
    await until(f"sleep 300.{mark}")
    await asyncio.sleep(0.1)
    crib.session.cancel(by_user=True)
    done = await running
    assert living() == []
    assert (done.outcome, done.result.is_error) == ("executed", True)
    assert "early\n" in str(done.result.output)
    assert "interrupted" in str(done.result.output)


@pytest.mark.parametrize(
    "name",
    ["plain", "double fork", "own session, ignores TERM", "stopped shell", "flood"],
)
async def test_time_out_keeps_the_output_and_leaves_nothing(
    workspace: Path, living: Living, mark: str, name: str
) -> None:
    """Where a command that takes too long is killed."""
    command = BATTERY[name].replace("{long}", f"300.{mark}")
    config = {"bash": {"auto_background_on_timeout": False}}
    async with ToolHarness(workspace, config=config, environ={"TOOLCRIB_TEST_MARK": mark}) as crib:
        done = await crib.call("Bash", command=f"echo early; {command}", timeout=1)
    assert living() == []
    assert done.result.is_error
    assert "early\n" in str(done.result.output)
    assert "timed out after 1 s" in str(done.result.output)


@pytest.mark.parametrize(("keep", "end"), [(False, "stop"), (True, "stop"), (False, "close")])
async def test_what_runs_in_the_background_leaves_nothing(
    workspace: Path, living: Living, mark: str, keep: bool, end: str
) -> None:
    """All of the battery at once: stopped, also where it would have been kept, or left."""
    config = {"task": {"kill_grace_period_s": 0.5}}
    async with ToolHarness(workspace, config=config, environ={"TOOLCRIB_TEST_MARK": mark}) as crib:
        tasks = crib.session.tasks
        assert tasks is not None
        tasks.keep = keep
        for name, command in BATTERY.items():
            command = f"echo early; {command}".replace("{long}", f"300.{mark}")
            await crib.call("Bash", command=command, run_in_background=True, description=name)
        started = tasks.list(active_only=False)
        assert len(started) == len(BATTERY)
        while not all("early" in _written(tasks, task.task_id) for task in started):
            await asyncio.sleep(0.05)
        await asyncio.sleep(0.2)
        if end == "stop":
            await asyncio.gather(*(tasks.stop(task.task_id) for task in started))
    assert living() == []
    assert {task.status for task in tasks.list(active_only=False)} == {"killed"}


async def test_what_commands_leave_in_the_background_is_stopped(
    crib: ToolHarness, living: Living, mark: str
) -> None:
    """Their own end counts, and their records tell of it."""
    tasks = crib.session.tasks
    assert tasks is not None
    for name, command in LEFT_BEHIND.items():
        command = command.replace("{long}", f"300.{mark}")
        await crib.call("Bash", command=command, run_in_background=True, description=name)
    started = [task.task_id for task in tasks.list(active_only=False)]
    await tasks.wait(started, timeout_s=30, for_all=True)
    assert living() == []
    ended = tasks.list(active_only=False)
    assert {task.status for task in ended} == {"completed"}
    assert all("left_running" in task.details for task in ended)
    assert all(_written(tasks, task.task_id) == "done\n" for task in ended)


def _written(tasks: Tasks, task_id: str) -> str:
    output = tasks.output(task_id, since=0)
    return "" if output is None else output.text


async def test_cancelling_the_one_who_waits_leaves_nothing(
    crib: ToolHarness, living: Living, until: Until
) -> None:
    """Cancelling the task of the host counts as cancelling the call."""
    running = asyncio.create_task(crib.call("Bash", command="sleep 300"))
    await until("sleep 300")
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert living() == []


async def test_closing_the_session_leaves_nothing(
    workspace: Path, mark: str, living: Living, until: Until
) -> None:
    async with ToolHarness(workspace, environ={"TOOLCRIB_TEST_MARK": mark}) as crib:
        running = asyncio.create_task(crib.call("Bash", command="setsid sleep 300 & sleep 300"))
        await until("sleep 300")
    assert living() == []
    running.cancel()
    await asyncio.wait([running])


async def test_many_calls_leave_no_descriptor_and_no_thread(
    crib: ToolHarness, living: Living
) -> None:
    import threading

    async def once(number: int) -> None:
        command = ("true", "echo x; exit 1", "cat", "sleep 300 >/dev/null 2>&1 &")[number % 4]
        await crib.call("Bash", command=command)

    for number in range(8):
        await once(number)
    before = (len(os.listdir("/proc/self/fd")), threading.active_count(), len(asyncio.all_tasks()))
    for number in range(200):
        await once(number)
    after = (len(os.listdir("/proc/self/fd")), threading.active_count(), len(asyncio.all_tasks()))
    assert after == before
    assert living() == []
