"""TaskList: which tasks it shows, in which order, and what it says of the others."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from toolcrib import RunnableExecution, TaskEnd, Tasks
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


async def listed(harness: ToolHarness, **arguments: object) -> str:
    done = await harness.call("TaskList", arguments)
    assert not done.result.is_error
    assert isinstance(done.result.output, str)
    return done.result.output


def ids(text: str) -> list[str]:
    return re.findall(r"^task_id: (\S+)$", text, re.MULTILINE)


async def test_nothing_is_found_at_first(harness: ToolHarness) -> None:
    text = await listed(harness)
    assert text.startswith("active_background_tasks: 0\n")
    assert "No background tasks" in text
    assert (await listed(harness, active_only=False)).startswith("background_tasks: 0\n")


async def test_running_tasks_come_in_the_order_of_their_start(
    harness: ToolHarness, counting: Making
) -> None:
    tasks = tasks_of(harness)
    started = [tasks.start(counting(step_s=60), timeout_s=None).task_id for _ in range(3)]
    text = await listed(harness)
    assert text.startswith("active_background_tasks: 3\n")
    assert "total:" not in text
    assert ids(text) == started
    assert text.count("\n---\n") == 2


async def test_ended_ones_are_listed_on_request_newest_first(
    harness: ToolHarness, counting: Making
) -> None:
    tasks = tasks_of(harness)
    ended = tasks.start(counting(upto=0), timeout_s=None).task_id
    await tasks.wait([ended], timeout_s=10)
    running = tasks.start(counting(step_s=60), timeout_s=None).task_id
    assert ids(await listed(harness)) == [running]
    assert ids(await listed(harness, active_only=False)) == [running, ended]
    await tasks.stop(running)
    text = await listed(harness)
    assert ids(text) == []
    assert "2 have ended" in text


async def test_a_limit_tells_how_many_there_are(harness: ToolHarness, counting: Making) -> None:
    tasks = tasks_of(harness)
    started = [tasks.start(counting(step_s=60), timeout_s=None).task_id for _ in range(4)]
    text = await listed(harness, limit=3)
    assert text.startswith("active_background_tasks: 3\ntotal: 4\nnext_step: ")
    assert ids(text) == started[:3]
    assert ids(await listed(harness, limit=1, active_only=False)) == started[-1:]


async def test_status_and_kind_narrow_the_list(harness: ToolHarness, counting: Making) -> None:
    tasks = tasks_of(harness)
    failed = tasks.start(counting(upto=0, ends=TaskEnd(False)), timeout_s=None).task_id
    await tasks.wait([failed], timeout_s=10)
    running = tasks.start(counting(step_s=60, kind="other"), timeout_s=None).task_id
    assert ids(await listed(harness, status="failed")) == [failed]
    assert ids(await listed(harness, status="running", active_only=False)) == [running]
    assert ids(await listed(harness, kind="other")) == [running]
    assert ids(await listed(harness, kind="counting", active_only=False)) == [failed]
    assert ids(await listed(harness, kind="counting")) == []
    assert "total" not in await listed(harness, status="lost")


async def test_a_call_in_the_foreground_is_listed_while_it_runs(
    harness: ToolHarness, counting: Making
) -> None:
    call = tasks_of(harness).foreground(counting(), on_detach=lambda: None)
    assert "detached: false" in await listed(harness)
    call.close()
    assert ids(await listed(harness, active_only=False)) == []


async def test_a_failed_command_shows_its_exit_code(crib: ToolHarness) -> None:
    await crib.call("Bash", command="exit 3", run_in_background=True, description="broken")
    task = tasks_of(crib).list(active_only=False)[0]
    await tasks_of(crib).wait([task.task_id], timeout_s=10)
    text = await listed(crib, active_only=False)
    assert "status: failed" in text and "exit_code: 3" in text and "command: exit 3" in text


async def test_limits_outside_the_range_are_refused(harness: ToolHarness) -> None:
    for limit in (0, 101):
        done = await harness.call("TaskList", limit=limit)
        assert done.result.is_error and done.outcome == "preflight-rejected"


async def test_rules_can_tell_active_tasks_from_all(harness: ToolHarness) -> None:
    entry = harness.session.main.registry.get("TaskList")
    assert entry is not None
    for active, subject, other in ((True, "active", "all"), (False, "all", "active")):
        execution = entry.tool.resolve_execution(entry.tool.Input(active_only=active))  # type: ignore[attr-defined]
        assert isinstance(execution, RunnableExecution) and execution.matches_rule is not None
        assert execution.matches_rule(subject) and not execution.matches_rule(other)
        assert execution.accesses is not None and not execution.accesses
