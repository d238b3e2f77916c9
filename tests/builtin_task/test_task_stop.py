"""TaskStop: what it ends, what it says of the end, and what it must be asked about."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest

from toolcrib import Accesses, ApprovalAnswer, ApprovalRequest, RunnableExecution, TaskEnd, Tasks
from toolcrib.contract.display import TaskStopDisplay
from toolcrib.testing import ToolHarness

Making = Callable[..., Any]
Opening = Callable[..., ToolHarness]


@pytest.fixture
def harness(open_in: Opening) -> ToolHarness:
    return open_in()


def tasks_of(harness: ToolHarness) -> Tasks:
    tasks = harness.session.tasks
    assert tasks is not None
    return tasks


async def stopped(harness: ToolHarness, task_id: str, **more: object) -> dict[str, str]:
    """The record of a stop that was no error; its text is under the key ""."""
    done = await harness.call("TaskStop", {"task_id": task_id, **more})
    text = done.result.output
    assert not done.result.is_error and isinstance(text, str)
    head = text.partition("\n\n")[0]
    return {"": text, **dict(re.findall(r"^(\w+): (.*)$", head, re.MULTILINE))}


async def test_a_command_is_stopped_with_its_children(crib: ToolHarness, workspace: Path) -> None:
    await crib.call(
        "Bash",
        command="seq 30; sleep 300 & echo $! > child; echo ready; wait",
        run_in_background=True,
        description="server",
    )
    (task,) = tasks_of(crib).list()
    await crib.call("WaitFor", timeout=20, task_id=task.task_id, pattern="ready")
    child = int((workspace / "child").read_text())
    record = await stopped(crib, task.task_id, reason="not needed any more")
    assert record["status"] == "killed"
    assert record["reason"] == "not needed any more"
    assert record["exit_code"]
    shown = record[""].partition("]\n")[2].splitlines()
    assert shown == [*map(str, range(22, 31)), "ready"]
    for pid in (child, task.details["pid"]):
        with contextlib.suppress(psutil.NoSuchProcess):
            assert psutil.Process(pid).status() == psutil.STATUS_ZOMBIE, psutil.Process(pid).ppid()


async def test_one_that_listens_to_no_signal_is_killed(open_in: Opening) -> None:
    harness = open_in(kill_grace_period_s=0.1)
    await harness.call(
        "Bash",
        command="trap '' TERM; echo ready; while :; do sleep 0.1; done",
        run_in_background=True,
        description="stubborn",
    )
    (task,) = tasks_of(harness).list()
    await harness.call("WaitFor", timeout=20, pattern="ready")
    record = await stopped(harness, task.task_id)
    assert record["status"] == "killed" and record["reason"]
    with pytest.raises(ProcessLookupError):
        os.kill(task.details["pid"], 0)


async def test_nobody_is_told_of_the_end_again(harness: ToolHarness, counting: Making) -> None:
    task = tasks_of(harness).start(counting(step_s=60), timeout_s=None)
    await stopped(harness, task.task_id)
    assert harness.session.context_messages() == []


@pytest.mark.parametrize("reason", [None, "", " \n"])
async def test_without_a_reason_a_general_one_is_kept(
    harness: ToolHarness, counting: Making, reason: str | None
) -> None:
    task = tasks_of(harness).start(counting(step_s=60), timeout_s=None)
    more = {} if reason is None else {"reason": reason}
    record = await stopped(harness, task.task_id, **more)
    assert "TaskStop" in record["reason"]
    after = tasks_of(harness).get(task.task_id)
    assert after is not None and after.stop_reason == record["reason"]


async def test_an_ended_task_is_left_as_it_is(harness: ToolHarness, counting: Making) -> None:
    tasks = tasks_of(harness)
    task = tasks.start(counting(upto=0, ends=TaskEnd(False)), timeout_s=None)
    await tasks.wait([task.task_id], timeout_s=10)
    before = tasks.get(task.task_id)
    record = await stopped(harness, task.task_id, reason="too late")
    assert record["status"] == "failed" and "already" in record["reason"]
    assert tasks.get(task.task_id) == before
    assert len(harness.session.context_messages()) == 1


async def test_one_that_was_stopped_before_keeps_its_first_reason(
    harness: ToolHarness, counting: Making
) -> None:
    task = tasks_of(harness).start(counting(step_s=60), timeout_s=None)
    await stopped(harness, task.task_id, reason="first")
    record = await stopped(harness, task.task_id, reason="second")
    assert (record["status"], record["reason"]) == ("killed", "first")


async def test_a_natural_end_that_came_first_is_told_as_such(
    harness: ToolHarness, writing: Making
) -> None:
    """Work may find that it had finished when it was told to stop."""

    work = writing(ends=TaskEnd(True, despite_stop=True))
    task = tasks_of(harness).start(work, timeout_s=None)
    record = await stopped(harness, task.task_id, reason="please")
    assert record["status"] == "completed"
    assert "by itself" in record["reason"] and "please" not in record["reason"]


async def test_a_call_in_the_foreground_is_not_stopped(
    harness: ToolHarness, counting: Making
) -> None:
    call = tasks_of(harness).foreground(counting(), on_detach=lambda: None)
    done = await harness.call("TaskStop", task_id=call.task_id)
    assert done.result.is_error and call.task_id in str(done.result.output)
    call.close()


async def test_an_unknown_id_is_an_error_with_the_known_ones(
    harness: ToolHarness, counting: Making
) -> None:
    task = tasks_of(harness).start(counting(step_s=60), timeout_s=None)
    done = await harness.call("TaskStop", task_id="bash-zzzzzzzz")
    assert done.result.is_error
    assert "bash-zzzzzzzz" in str(done.result.output) and task.task_id in str(done.result.output)


async def test_stopping_is_asked_about_and_says_what_is_stopped(
    tmp_path: Path, counting: Making
) -> None:
    asked: list[ApprovalRequest] = []

    async def answer(request: Any) -> ApprovalAnswer:
        asked.append(request)
        return ApprovalAnswer(decision="rejected")

    (tmp_path / "ws").mkdir()
    async with ToolHarness(tmp_path / "ws", mode="manual", interact=answer) as harness:
        task = tasks_of(harness).start(counting(step_s=60), timeout_s=None)
        arguments: dict[str, dict[str, Any]] = {
            "TaskList": {},
            "TaskOutput": {"task_id": task.task_id},
            "WaitFor": {"timeout": 1},
        }
        for name in arguments:
            done = await harness.call(name, arguments[name])
            assert not done.result.is_error
        assert asked == []
        done = await harness.call("TaskStop", task_id=task.task_id)
        assert done.result.is_error and len(asked) == 1
        assert len(tasks_of(harness).list()) == 1


async def test_what_a_person_sees_and_a_rule_covers(harness: ToolHarness, counting: Making) -> None:
    task = tasks_of(harness).start(counting(step_s=60), timeout_s=None)
    entry = harness.session.main.registry.get("TaskStop")
    assert entry is not None
    execution = entry.tool.resolve_execution(entry.tool.Input(task_id=task.task_id))  # type: ignore[attr-defined]
    assert isinstance(execution, RunnableExecution) and execution.matches_rule is not None
    assert execution.display == TaskStopDisplay(task_id=task.task_id, description="counting")
    assert execution.accesses == Accesses.resource(f"task:{task.task_id}")
    assert execution.matches_rule("count-*") and not execution.matches_rule("bash-*")


async def test_a_stop_whose_result_is_lost_is_told_by_a_message(
    open_in: Opening, counting: Making
) -> None:
    """The user cancels the call while the task has its time to end."""
    harness = open_in(kill_grace_period_s=0.5)
    tasks = tasks_of(harness)
    task_id = tasks.start(counting(10_000, stubborn=True), timeout_s=None).task_id
    call = asyncio.ensure_future(harness.call("TaskStop", task_id=task_id))
    await asyncio.sleep(0.1)
    harness.session.cancel(by_user=True)
    assert (await call).outcome == "aborted"
    await tasks.wait([task_id], timeout_s=20)
    (news,) = harness.session.context_messages()
    assert news.id == f"task:{task_id}:killed"


async def test_half_a_surrogate_pair_in_a_reason_harms_no_result(
    harness: ToolHarness, counting: Making
) -> None:
    """Models emit such text, and nobody can encode it."""
    task_id = tasks_of(harness).start(counting(10_000), timeout_s=None).task_id
    record = await stopped(harness, task_id, reason="no \ud800 more")
    listed = await harness.call("TaskList", active_only=False)
    for text in (record[""], listed.result.output):
        assert isinstance(text, str) and text.encode().decode() == text and "more" in text


async def test_judging_a_stop_takes_over_no_tasks(tmp_path: Path) -> None:
    """For a call that is denied must not have done anything."""
    (tmp_path / "workspace").mkdir()
    async with ToolHarness(tmp_path / "workspace", mode="manual") as harness:
        done = await harness.call("TaskStop", task_id="bash-00000000")
        assert done.outcome == "vetoed"
        assert not harness.session.main.scope.made(Tasks)
