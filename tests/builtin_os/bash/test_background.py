"""Commands in the background: how they start, how they end, and what refuses to start them."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from attrs import evolve

from toolcrib import LocalRuntime, TaskInfo
from toolcrib.testing import ToolHarness

Living = Callable[[], list[str]]
Until = Callable[[str], Awaitable[None]]
TASK_TOOLS = ("TaskList", "TaskOutput", "TaskStop")


async def start(crib: ToolHarness, command: str, **more: object) -> TaskInfo:
    """The task that a command becomes."""
    arguments = {"description": "a job", "run_in_background": True, **more}
    done = await crib.call("Bash", {"command": command, **arguments})
    assert not done.result.is_error, done.result.output
    fields = dict(line.split(": ", 1) for line in str(done.result.output).splitlines())
    assert crib.session.tasks is not None
    info = crib.session.tasks.get(fields["task_id"])
    assert info is not None and str(info.details["pid"]) == fields["pid"]
    return info


async def ended(crib: ToolHarness, task: TaskInfo) -> TaskInfo:
    """What became of a task."""
    tasks = crib.session.tasks
    assert tasks is not None
    await tasks.wait([task.task_id], timeout_s=20)
    info = tasks.get(task.task_id)
    assert info is not None and not info.active
    return info


def output(crib: ToolHarness, task: TaskInfo) -> str:
    assert crib.session.tasks is not None
    read = crib.session.tasks.output(task.task_id)
    assert read is not None
    return read.text


async def test_the_result_comes_at_once_and_tells_what_was_started(
    crib: ToolHarness, workspace: Path
) -> None:
    done = await crib.call(
        "Bash",
        command="echo out; echo err >&2; until [ -e go ]; do sleep 0.02; done; echo end",
        run_in_background=True,
        description="two\nlines  of words",
    )
    assert not done.result.is_error
    names = [line.partition(":")[0] for line in str(done.result.output).splitlines()]
    assert names == [
        "task_id",
        "pid",
        "description",
        "status",
        "timeout_s",
        "automatic_notification",
        "next_step",
        "human_shell_hint",
    ]
    assert "description: two lines of words\n" in str(done.result.output)
    assert "status: running\n" in str(done.result.output)
    assert "automatic_notification: true\n" in str(done.result.output)
    assert "toolcrib tasks list" in str(done.result.output)
    (workspace / "go").touch()
    assert crib.session.tasks is not None
    (task,) = crib.session.tasks.list()
    info = await ended(crib, task)
    assert (info.kind, info.status, info.details["exit_code"]) == ("process", "completed", 0)
    assert output(crib, info) == "out\nerr\nend\n"


@pytest.mark.parametrize(
    ("command", "status", "details"),
    [
        ("true", "completed", {"exit_code": 0}),
        ("exit 3", "failed", {"exit_code": 3}),
        ("kill -SEGV $$", "failed", {"exit_code": 139, "signal": "SIGSEGV"}),
    ],
)
async def test_the_record_tells_how_it_ended(
    crib: ToolHarness, command: str, status: str, details: dict[str, object]
) -> None:
    info = await ended(crib, await start(crib, command))
    assert info.status == status
    assert {**info.details, **details, "command": command} == info.details


async def test_what_it_leaves_running_is_stopped_and_told(
    crib: ToolHarness, living: Living, mark: str
) -> None:
    info = await ended(crib, await start(crib, f"setsid sleep 300.{mark} & sleep 0.2; echo done"))
    assert (info.status, info.details["exit_code"]) == ("completed", 0)
    assert "sleep" in info.details["left_running"]
    assert living() == []


@pytest.mark.parametrize("description", [None, "", "  \n"])
async def test_without_a_description_nothing_is_started(
    crib: ToolHarness, workspace: Path, description: str | None
) -> None:
    done = await crib.call(
        "Bash", command="touch ran", run_in_background=True, description=description
    )
    assert (done.outcome, done.result.is_error) == ("preflight-rejected", True)
    assert "description" in str(done.result.output)
    assert not (workspace / "ran").exists()


@pytest.mark.parametrize("gone", [TASK_TOOLS[:1], TASK_TOOLS[1:], TASK_TOOLS])
async def test_without_all_task_tools_nothing_is_started(
    crib: ToolHarness, workspace: Path, gone: tuple[str, ...]
) -> None:
    """The error names what is missing, and nothing that is there."""
    crib.session.disable_tools(*gone)
    done = await crib.call("Bash", command="touch ran", run_in_background=True, description="x")
    assert done.result.is_error
    assert {name for name in TASK_TOOLS if name in str(done.result.output)} == set(gone)
    assert "300" in str(done.result.output)
    assert not (workspace / "ran").exists()
    crib.session.enable_tools(*gone)
    await start(crib, "true")


async def test_a_full_house_starts_nothing(workspace: Path) -> None:
    config = {"task": {"max_running_tasks": 1}}
    async with ToolHarness(workspace, config=config) as crib:
        await start(crib, "sleep 300")
        done = await crib.call("Bash", command="touch ran", run_in_background=True, description="x")
        assert done.result.is_error
        assert "max_running_tasks" in str(done.result.output)
        assert crib.session.tasks is not None and len(crib.session.tasks.list()) == 1
    assert not (workspace / "ran").exists()


@pytest.mark.parametrize(
    ("arguments", "fact"),
    [
        ({"command": "echo x", "cwd": "gone"}, "'gone'"),
        ({"command": ": " + "x" * 3_000_000}, "3000002"),
    ],
)
async def test_what_cannot_be_started_leaves_no_task(
    crib: ToolHarness, arguments: dict[str, object], fact: str
) -> None:
    done = await crib.call("Bash", {**arguments, "run_in_background": True, "description": "a job"})
    assert (done.outcome, done.result.is_error) == ("executed", True)
    assert fact in str(done.result.output)
    assert crib.session.tasks is not None
    assert crib.session.tasks.list(active_only=False) == ()


@pytest.mark.parametrize(
    ("configured", "arguments", "limit"),
    [
        (600, {}, 600),
        (77, {}, 77),
        (0, {}, None),
        (600, {"timeout": 5_000}, 5_000),
        (600, {"timeout": 999_999}, 86_400),
        (600, {"disable_timeout": True}, None),
        (600, {"disable_timeout": True, "timeout": 5}, None),
    ],
)
async def test_the_time_limit(
    workspace: Path, configured: int, arguments: dict[str, object], limit: int | None
) -> None:
    """In seconds: what is asked for up to a day, else what is configured, where 0 is none."""
    config = {"bash": {"background_timeout_s": configured}}
    async with ToolHarness(workspace, config=config) as crib:
        done = await crib.call(
            "Bash",
            {"command": "sleep 9", "run_in_background": True, "description": "x", **arguments},
        )
        assert crib.session.tasks is not None
        assert crib.session.tasks.list()[0].timeout_s == limit
        assert f"timeout_s: {limit or 'none'}\n" in str(done.result.output)
        cut = arguments.get("timeout") == 999_999
        assert ("86400" in (done.result.note or "")) == cut


async def test_it_is_ended_when_its_time_is_over(
    crib: ToolHarness, living: Living, mark: str
) -> None:
    info = await ended(crib, await start(crib, f"echo early; sleep 300.{mark}", timeout=1))
    assert (info.status, info.details["signal"]) == ("timed_out", "SIGTERM")
    assert output(crib, info) == "early\n"
    assert living() == []


CLEANS_UP = """
import signal, sys, time
def clean(*_):
    time.sleep(1.5)
    sys.exit("cleaned")
signal.signal(signal.SIGTERM, clean)
print("up", flush=True)
signal.pause()
"""


async def test_stopping_gives_children_time_too(
    crib: ToolHarness, workspace: Path, living: Living
) -> None:
    """Those of a shell that ends at once have the whole grace, and their last words are kept."""
    (workspace / "child.py").write_text(CLEANS_UP)
    task = await start(crib, f"{sys.executable} child.py & wait")
    tasks = crib.session.tasks
    assert tasks is not None
    while "up" not in output(crib, task):
        await asyncio.sleep(0.02)
    info = await tasks.stop(task.task_id, "enough")
    assert info is not None and (info.status, info.stop_reason) == ("killed", "enough")
    assert "cleaned" in output(crib, task)
    assert living() == []


async def test_stopping_does_not_wait_longer_than_the_grace(
    workspace: Path, mark: str, living: Living
) -> None:
    config = {"task": {"kill_grace_period_s": 0.1}}
    environ = {"TOOLCRIB_TEST_MARK": mark}
    async with ToolHarness(workspace, config=config, environ=environ) as crib:
        task = await start(crib, "trap '' TERM; echo up; while :; do sleep 300; done")
        tasks = crib.session.tasks
        assert tasks is not None
        while "up" not in output(crib, task):
            await asyncio.sleep(0.02)
        info = await tasks.stop(task.task_id)
        assert info is not None and info.details["signal"] == "SIGKILL"
        assert living() == []


async def test_cancelling_the_turn_leaves_it_alone(crib: ToolHarness, until: Until) -> None:
    task = await start(crib, "sleep 0.6; echo end")
    waiting = asyncio.create_task(crib.call("Bash", command="sleep 300"))
    await until("sleep 300")
    crib.session.cancel(by_user=True)
    await waiting
    info = await ended(crib, task)
    assert info.status == "completed"


async def test_closing_the_session_ends_it(
    workspace: Path, mark: str, living: Living, until: Until
) -> None:
    async with ToolHarness(workspace, environ={"TOOLCRIB_TEST_MARK": mark}) as crib:
        await start(crib, f"setsid sleep 300.{mark} & sleep 300")
        await until(f"sleep 300.{mark}")
    assert living() == []


async def test_it_ends_with_its_runtime(workspace: Path, mark: str, living: Living) -> None:
    """One that another takes the place of is closed, with what runs there."""
    environ = {"TOOLCRIB_TEST_MARK": mark}
    async with ToolHarness(workspace, environ=environ) as crib:
        there = LocalRuntime(id="there", environment=crib.environ)
        crib.session.use_runtime(there)
        task = await start(crib, "sleep 300")
        crib.session.use_runtime(evolve(there))
        info = await ended(crib, task)
        assert info.status == "failed"
        assert info.stop_reason is not None and "'there'" in info.stop_reason
        assert living() == []


async def test_leaving_a_runtime_leaves_what_runs_there_alone(workspace: Path) -> None:
    async with ToolHarness(workspace) as crib:
        crib.session.use_runtime(LocalRuntime(id="there", environment=crib.environ))
        task = await start(crib, "sleep 0.3; echo end")
        crib.session.use_runtime("local")
        assert (await ended(crib, task)).status == "completed"


async def test_what_is_kept_writes_by_itself_and_tells_its_end(
    workspace: Path, tmp_path: Path, mark: str, living: Living
) -> None:
    """The session closes, the command goes on, and its exit code is found beside its output."""
    go = tmp_path / "go"
    environ = {"TOOLCRIB_TEST_MARK": mark}
    async with ToolHarness(workspace, environ=environ) as crib:
        assert crib.session.tasks is not None
        crib.session.tasks.keep = True
        task = await start(crib, f"echo one; until [ -e {go} ]; do sleep 0.02; done; exit 5")
        while output(crib, task) != "one\n":
            await asyncio.sleep(0.02)
        folder = Path(crib.session.state_folder) / "tasks" / task.task_id
    assert living()
    go.touch()
    while living():
        await asyncio.sleep(0.02)
    assert (folder / "output.log").read_text() == "one\n"
    assert (folder / "exit").read_text() == "5\n"


async def test_what_is_kept_is_stopped_as_a_whole(crib: ToolHarness, living: Living) -> None:
    assert crib.session.tasks is not None
    crib.session.tasks.keep = True
    task = await start(crib, "sleep 300 & sleep 300")
    info = await crib.session.tasks.stop(task.task_id)
    assert info is not None and info.status == "killed"
    assert living() == []


async def test_a_kept_command_that_ends_in_time_is_like_any_other(crib: ToolHarness) -> None:
    assert crib.session.tasks is not None
    crib.session.tasks.keep = True
    info = await ended(crib, await start(crib, "echo \"'$0' $#\"; exit 4"))
    assert (info.status, info.details["exit_code"]) == ("failed", 4)
    assert output(crib, info) == "'/bin/bash' 0\n"


async def test_only_this_machine_keeps_what_runs(
    workspace: Path, mark: str, living: Living
) -> None:
    """Other runtimes end with the session, so what runs there does too."""
    environ = {"TOOLCRIB_TEST_MARK": mark}
    async with ToolHarness(workspace, environ=environ) as crib:
        crib.session.use_runtime(_Elsewhere(crib.environ))
        assert crib.session.tasks is not None
        crib.session.tasks.keep = True
        await start(crib, "sleep 300")
    while living():
        await asyncio.sleep(0.02)


class _Elsewhere:
    """A runtime that is not this machine, though it looks the same."""

    def __init__(self, environment: dict[str, str]) -> None:
        local = LocalRuntime(id="elsewhere", environment=environment)
        self.id, self.status, self.shell = local.id, local.status, local.shell
        self.capabilities, self.environment = local.capabilities, local.environment
        self.launch, self.confine, self.aclose = local.launch, local.confine, local.aclose


async def test_a_person_who_kills_a_kept_command_ends_all_of_it(
    crib: ToolHarness, living: Living, until: Until
) -> None:
    assert crib.session.tasks is not None
    crib.session.tasks.keep = True
    task = await start(crib, "sleep 300")
    await until("sleep 300")
    os.kill(task.details["pid"], signal.SIGTERM)
    info = await ended(crib, task)
    assert (info.status, info.details["signal"]) == ("failed", "SIGTERM")
    assert living() == []


async def test_a_stop_that_comes_after_the_end_changes_nothing(crib: ToolHarness) -> None:
    """Although what the command had left running is still being ended."""
    command = (
        "(trap '' TERM; while :; do sleep 0.05; done) >/dev/null & sleep 0.2; echo done; exit 3"
    )
    await crib.call("Bash", command=command, run_in_background=True, description="work")
    tasks = crib.session.tasks
    assert tasks is not None
    (info,) = tasks.list()
    while tasks.list()[0].details["exit_code"] is None:
        await asyncio.sleep(0.01)
    after = await tasks.stop(info.task_id, "enough")
    assert after is not None and (after.status, after.details["exit_code"]) == ("failed", 3)
