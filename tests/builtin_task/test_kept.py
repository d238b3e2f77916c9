"""What tasks leave behind that go on after their session."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from toolcrib import TaskInfo, Tasks
from toolcrib.testing import ToolHarness

Opening = Callable[..., ToolHarness]
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes are found in /proc")


def tasks_of(harness: ToolHarness) -> Tasks:
    tasks = harness.session.tasks
    assert tasks is not None
    return tasks


async def leave(open_in: Opening, command: str) -> TaskInfo:
    """A task that runs on when its session has been closed."""
    harness = open_in(keep_alive_on_exit=True)
    done = await harness.call("Bash", command=command, run_in_background=True, description="work")
    assert not done.result.is_error
    (info,) = tasks_of(harness).list()
    await harness.session.aclose()
    return info


def living(text: str) -> list[int]:
    """The processes with a text in their command line that run."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            line = (process / "cmdline").read_bytes().replace(b"\0", b" ").decode()
            state = (process / "stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            continue
        if text in line and state not in "ZX":
            found.append(int(process.name))
    return found


async def until(condition: Callable[[], object]) -> None:
    async with asyncio.timeout(20):
        while not condition():
            await asyncio.sleep(0.05)


async def test_what_a_task_left_running_is_stopped_by_the_next_session(open_in: Opening) -> None:
    """A command is over when its shell is, whether somebody looks after it or not."""
    mark = f"77{os.getpid()}1"
    info = await leave(open_in, f"(sleep {mark} &); exit 3")
    await until(lambda: not Path(f"/proc/{info.details['pid']}").exists())
    assert living(f"sleep {mark}")
    after = tasks_of(open_in()).get(info.task_id)
    assert after is not None and (after.status, after.details["exit_code"]) == ("failed", 3)
    await until(lambda: not living(f"sleep {mark}"))


async def test_nothing_goes_on_when_the_shell_of_a_task_is_killed(open_in: Opening) -> None:
    """By somebody who knows only its process id."""
    mark = f"77{os.getpid()}2"
    info = await leave(open_in, f"sleep {mark}; true")
    await until(lambda: living(f"sleep {mark}"))
    later = open_in()
    assert [each.task_id for each in tasks_of(later).list()] == [info.task_id]
    os.kill(info.details["pid"], 15)
    await tasks_of(later).wait([info.task_id], timeout_s=20)
    after = tasks_of(later).get(info.task_id)
    assert after is not None and after.status == "lost"
    assert not living(f"sleep {mark}")


async def test_a_file_that_a_task_writes_by_itself_stays_within_the_limit(
    open_in: Opening,
) -> None:
    """Also what it writes while it is being stopped."""
    harness = open_in(keep_alive_on_exit=True, output_limit_bytes=100_000)
    command = "trap '' TERM; while :; do head -c 20000 /dev/zero; sleep 0.01; done"
    await harness.call("Bash", command=command, run_in_background=True, description="a flood")
    (info,) = tasks_of(harness).list()
    await tasks_of(harness).wait([info.task_id], timeout_s=20)
    after, output = tasks_of(harness).get(info.task_id), tasks_of(harness).output(info.task_id)
    assert after is not None and after.status == "killed"
    assert output is not None and output.path is not None and output.problem
    assert output.kept_bytes == os.stat(output.path).st_size == 100_000 < output.total_bytes


async def test_a_task_that_has_ended_takes_no_room(open_in: Opening) -> None:
    """Even if nobody has asked for it since the session that started it."""
    await leave(open_in, "sleep 1")
    tasks = tasks_of(open_in(max_running_tasks=1))
    assert tasks.room() is not None
    await until(lambda: tasks.room() is None)


async def test_a_changed_configuration_holds_for_the_tasks_to_come(
    tmp_path: Path, open_in: Opening
) -> None:
    """Without a new session."""
    harness = open_in()
    assert tasks_of(harness).room() is None and not tasks_of(harness).keep
    file = tmp_path / "config" / "toolcrib" / "toolcrib.toml"
    file.parent.mkdir(parents=True)
    file.write_text("[task]\nmax_running_tasks = 1\nkeep_alive_on_exit = true\n")
    harness.session.reload()
    done = await harness.call("Bash", command="sleep 9", run_in_background=True, description="work")
    assert not done.result.is_error
    assert tasks_of(harness).room() is not None and tasks_of(harness).keep
    (info,) = tasks_of(harness).list()
    await tasks_of(harness).stop(info.task_id)


async def test_what_nobody_would_find_again_is_not_kept(open_in: Opening, tmp_path: Path) -> None:
    mark = f"77{os.getpid()}9"
    harness = open_in(keep_alive_on_exit=True)
    command = f"exec sleep {mark}"
    await harness.call("Bash", command=command, run_in_background=True, description="work")
    (info,) = tasks_of(harness).list()
    for file in tmp_path.glob("state/tasks/tasks.db*"):
        file.unlink()
    (tmp_path / "state/tasks/tasks.db").mkdir()
    await harness.session.aclose()
    after = tasks_of(harness).get(info.task_id)
    assert after is not None and after.status == "killed"
    assert after.stop_reason is not None and "written down" in after.stop_reason
    assert not living(f"sleep {mark}")
