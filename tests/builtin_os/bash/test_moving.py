"""Commands that the model has waited for, and that go on in the background."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from toolcrib import TaskInfo
from toolcrib.pipeline.flight import Completion
from toolcrib.processes import running
from toolcrib.testing import ToolHarness
from toolcrib_os.bash import foreground

Living = Callable[[], list[str]]
Until = Callable[[str], Awaitable[None]]
TASK_TOOLS = ("TaskList", "TaskOutput", "TaskStop")
MOVED = "foreground_output:\n"
HOLD = "until [ -e go ]; do sleep 0.02; done"
"""Goes on until the test lets it."""


async def known(crib: ToolHarness) -> TaskInfo:
    """The one command that the tasks know to be waited for."""
    assert crib.session.tasks is not None
    while not (tasks := crib.session.tasks.list()):
        await asyncio.sleep(0.02)
    assert not tasks[0].detached
    return tasks[0]


async def finished(crib: ToolHarness) -> tuple[TaskInfo, str]:
    """How the one task ended that was held, and all that it wrote."""
    (crib.root / "go").touch()
    tasks = crib.session.tasks
    assert tasks is not None
    (task,) = tasks.list(active_only=False)
    await tasks.wait([task.task_id], timeout_s=20)
    info, output = tasks.get(task.task_id), tasks.output(task.task_id)
    assert info is not None and output is not None
    return info, output.text


def text(done: Completion) -> str:
    return str(done.result.output)


async def test_a_command_that_takes_too_long_goes_on_in_the_background(crib: ToolHarness) -> None:
    """What it wrote before is in the result, what it writes later only in its log, all once."""
    done = await crib.call("Bash", command=f"echo early; {HOLD}; echo late; exit 3", timeout=1)
    assert (done.outcome, done.result.is_error) == ("executed", False)
    fields, _, shown = text(done).partition(f"\n\n{MOVED}")
    assert shown == "early\n"
    assert "description: echo early; until" in fields
    assert "status: running\n" in fields and "timeout_s: 600\n" in fields
    assert "1 s" in fields and "TaskStop" not in fields
    info, output = await finished(crib)
    assert f"task_id: {info.task_id}\n" in fields and f"pid: {info.details['pid']}\n" in fields
    assert (info.status, info.detached, info.timeout_s) == ("failed", True, 600)
    assert info.details["exit_code"] == 3
    assert output == "early\nlate\n"


async def test_the_description_of_the_call_names_the_task(crib: ToolHarness) -> None:
    done = await crib.call(
        "Bash", command=HOLD, timeout=1, description=f"take\n a {'long ' * 20}nap"
    )
    assert f"description: take a {'long ' * 20}nap\n" in text(done)
    assert MOVED not in text(done)


async def test_a_character_cut_by_the_move_is_whole_in_the_log(crib: ToolHarness) -> None:
    done = await crib.call("Bash", command=rf"printf 'a\xc3'; {HOLD}; printf '\xa9b'", timeout=1)
    assert text(done).endswith(f"{MOVED}a\ufffd")
    assert (await finished(crib))[1] == "aéb"


async def test_long_output_so_far_is_saved(crib: ToolHarness) -> None:
    done = await crib.call("Bash", command=f"seq 1 20000; {HOLD}; echo end", timeout=1)
    assert not done.result.is_error and done.result.truncated
    path = text(done).split("output_path: ")[1].split("\n")[0]
    assert Path(path).read_text() == "".join(f"{n}\n" for n in range(1, 20001))
    info, output = await finished(crib)
    assert f"task_id: {info.task_id}\n" in text(done)
    assert output.endswith("20000\nend\n")


async def test_its_time_in_the_background_is_limited_too(
    workspace: Path, mark: str, living: Living
) -> None:
    config = {"bash": {"background_timeout_s": 1}}
    async with ToolHarness(workspace, config=config, environ={"TOOLCRIB_TEST_MARK": mark}) as crib:
        await crib.call("Bash", command="sleep 300", timeout=1)
        assert (await finished(crib))[0].status == "timed_out"
        assert living() == []


@pytest.mark.parametrize("reason", ["switched off", "no tools", "tasks out of order"])
async def test_a_command_that_cannot_be_moved_is_killed(
    workspace: Path, mark: str, living: Living, reason: str
) -> None:
    """The output so far is kept, and no tool is named that there is not."""
    config: dict[str, object] = {}
    if reason == "switched off":
        config = {"bash": {"auto_background_on_timeout": False}}
    environ = {"TOOLCRIB_TEST_MARK": mark}
    async with ToolHarness(workspace, config=config, environ=environ) as crib:
        if reason == "no tools":
            crib.session.disable_tools("TaskOutput")
        if reason == "tasks out of order":
            crib.session.main.scope.add_factory(_tasks(), _out_of_order)
        done = await crib.call("Bash", command="echo early; sleep 300", timeout=1)
        assert done.result.is_error
        assert "early\n" in text(done) and "timed out after 1 s" in text(done)
        assert not any(name in text(done) for name in TASK_TOOLS)
        assert living() == []


def _tasks() -> type[object]:
    from toolcrib import Tasks

    return Tasks


def _out_of_order() -> object:
    from toolcrib import ToolcribError

    raise ToolcribError("out of order")


@pytest.mark.parametrize("tools", [True, False])
async def test_the_host_moves_a_command_that_the_model_waits_for(
    crib: ToolHarness, tools: bool
) -> None:
    """Whatever tools the model has; it is told only of those."""
    if not tools:
        crib.session.disable_tools(*TASK_TOOLS)
    waiting = asyncio.create_task(crib.call("Bash", command=f"echo early; {HOLD}; echo late"))
    task = await known(crib)
    assert crib.session.tasks is not None
    crib.session.tasks.detach(task.task_id)
    done = await waiting
    assert not done.result.is_error and text(done).endswith(f"{MOVED}early\n")
    assert "user" in text(done)
    assert not any(name in text(done) for name in TASK_TOOLS)
    info, output = await finished(crib)
    assert (info.status, output) == ("completed", "early\nlate\n")


async def test_the_host_may_move_it_in_the_moment_its_time_is_over(crib: ToolHarness) -> None:
    """Both are due in the same round of the event loop, the end of its time first."""
    loop, moved = asyncio.get_running_loop(), asyncio.Event()
    waiting = asyncio.create_task(crib.call("Bash", command=f"echo early; {HOLD}", timeout=1))
    task, tasks = await known(crib), crib.session.tasks
    assert tasks is not None

    def detach() -> None:
        tasks.detach(task.task_id)
        moved.set()

    time.sleep(1.1)
    loop.call_later(0, detach)
    done = await waiting
    assert not done.result.is_error and text(done).endswith(f"{MOVED}early\n")
    assert moved.is_set()
    assert (await finished(crib))[0].status == "completed"


async def test_commands_that_end_in_the_foreground_leave_no_task(crib: ToolHarness) -> None:
    """Neither short ones nor long ones, whatever they wrote."""
    for command in ("true", "sleep 0.7; echo x", "seq 1 400000", "sleep 0.7; exit 3"):
        await crib.call("Bash", command=command)
    assert crib.session.tasks is not None
    assert crib.session.tasks.list(active_only=False) == ()
    assert list(crib.session.state_folder.glob("tasks/*/output.log")) == []


SESSION = """
import asyncio, json, sys, toolcrib

async def main():
    calls = [{"name": "Bash", "arguments": {"command": "true"}}]
    async with toolcrib.open_session(sys.argv[1], mode="yolo", autoload=False) as session:
        async for done in session.execute(calls):
            assert not done.result.is_error
        print(json.dumps(sorted(sys.modules)))

asyncio.run(main())
"""


def test_a_short_command_costs_nothing_of_the_tasks(workspace: Path, tmp_path: Path) -> None:
    environ = {**os.environ, "HOME": str(tmp_path), "TOOLCRIB_STATE": str(tmp_path / "state")}
    command = [sys.executable, "-c", SESSION, str(workspace)]
    ran = subprocess.run(command, env=environ, capture_output=True, check=True)
    assert {"sqlite3", "svcs", "toolcrib_task.manager"} & set(json.loads(ran.stdout)) == set()


async def test_a_moved_command_ends_with_the_session(
    workspace: Path, mark: str, living: Living
) -> None:
    """Even where tasks are kept: it writes to a pipe that nobody reads then."""
    config = {"task": {"keep_alive_on_exit": True}}
    async with ToolHarness(workspace, config=config, environ={"TOOLCRIB_TEST_MARK": mark}) as crib:
        await crib.call("Bash", command="sleep 300", timeout=1)
        assert living()
    assert living() == []


async def test_an_interrupted_command_goes_nowhere(
    crib: ToolHarness, until: Until, living: Living
) -> None:
    waiting = asyncio.create_task(crib.call("Bash", command="echo early; sleep 300"))
    await known(crib)
    crib.session.cancel(by_user=True)
    done = await waiting
    assert done.result.is_error and "interrupted" in text(done)
    assert crib.session.tasks is not None and crib.session.tasks.list(active_only=False) == ()
    assert living() == []


async def test_the_output_comes_even_when_the_end_takes_long(
    crib: ToolHarness, living: Living, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An interrupted call has its result in time, and its processes are ended all the same."""
    monkeypatch.setattr(foreground, "ENDING_S", 0.1)
    command = "trap '' TERM; echo early; while :; do sleep 0.1; echo more; done"
    waiting = asyncio.create_task(crib.call("Bash", command=command))
    while not living():
        await asyncio.sleep(0.02)
    await asyncio.sleep(0.3)
    crib.session.cancel(by_user=True)
    done = await waiting
    assert done.outcome == "executed"
    assert text(done).startswith("early\n")
    assert living()
    while living():
        await asyncio.sleep(0.05)


@pytest.mark.parametrize("wait", ["", "; wait"])
async def test_interrupting_the_end_of_a_command_loses_nothing_of_it(
    crib: ToolHarness, until: Until, living: Living, wait: str
) -> None:
    """What it wrote and how it ended are the result, also when what it leaves is hard to end."""
    crib.session.disable_tools(*TASK_TOOLS)
    stubborn = "trap '' TERM; while :; do sleep 300; done"
    command = f'bash -c "{stubborn}" >/dev/null 2>&1 & sleep 0.2; echo done{wait}'
    waiting = asyncio.create_task(crib.call("Bash", command=command, timeout=1))
    await until("sleep 300")
    while not foreground._being_ended:
        await asyncio.sleep(0.02)
    crib.session.cancel(by_user=True)
    done = await waiting
    assert done.outcome == "executed"
    assert text(done).startswith("done\n") and done.result.is_error == bool(wait)
    assert ("timed out" in text(done)) == bool(wait)
    assert done.result.note is not None and "interrupted" in done.result.note
    while living():
        await asyncio.sleep(0.05)


@pytest.mark.parametrize("code", [0, 3])
async def test_output_that_cannot_be_read_is_an_error(crib: ToolHarness, code: int) -> None:
    """Whatever the exit code is."""
    waiting = asyncio.create_task(crib.call("Bash", command=f"sleep 0.3; echo x; exit {code}"))
    while not running._running:
        await asyncio.sleep(0.01)
    (process,) = running._running
    assert process._pipe is not None
    pipe, folder = os.dup(process._pipe), os.open("/", os.O_RDONLY)
    os.dup2(folder, process._pipe)
    done = await waiting
    os.close(pipe)
    os.close(folder)
    assert done.result.is_error
    assert ("could not be read" in text(done)) == (code == 0)


@pytest.mark.parametrize(
    ("config", "disabled", "facts", "absent"),
    [
        ({}, (), ["moved to the background", "TaskStop", "600 s", "86400"], ["is killed"]),
        (
            {"bash": {"auto_background_on_timeout": False, "background_timeout_s": 0}},
            (),
            ["is killed", "TaskStop", "is none then"],
            ["moved to the background"],
        ),
        ({}, ("TaskList",), ["is killed", "not available"], ["moved to", *TASK_TOOLS]),
    ],
)
async def test_the_description_tells_what_there_is(
    workspace: Path,
    config: dict[str, object],
    disabled: tuple[str, ...],
    facts: list[str],
    absent: list[str],
) -> None:
    """Rendered at every listing: what can run in the background, and how."""
    async with ToolHarness(workspace, config=config) as crib:
        crib.session.disable_tools(*disabled)
        (bash,) = (tool for tool in crib.session.tools() if tool.name == "Bash")
    assert all(fact in bash.description for fact in facts)
    assert not any(fact in bash.description for fact in absent)
