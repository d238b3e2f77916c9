"""Tasks from start to end: how they can end, what is told of it, and what stays."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from toolcrib import Session, TaskEnd, TaskInfo, Tasks, ToolcribError
from toolcrib.errors import ConfigError
from toolcrib.testing import ToolHarness

Opening = Callable[..., ToolHarness]
Making = Callable[..., Any]
LONG = 10_000


def tasks_of(harness: ToolHarness) -> Tasks:
    tasks = harness.session.tasks
    assert tasks is not None
    return tasks


def info(tasks: Tasks, task_id: str) -> TaskInfo:
    found = tasks.get(task_id)
    assert found is not None
    return found


def text(tasks: Tasks, task_id: str) -> str:
    output = tasks.output(task_id)
    assert output is not None
    return output.text


async def ended(tasks: Tasks, task_id: str) -> TaskInfo:
    await tasks.wait([task_id], timeout_s=20)
    return info(tasks, task_id)


async def test_a_task_runs_by_itself_and_ends(tasks: Tasks, counting: Making) -> None:
    started = tasks.start(counting(), timeout_s=None)
    assert started.status == "running" and started.detached
    assert started.task_id.startswith("count-")
    assert tasks.list() == (started,)
    done = await ended(tasks, started.task_id)
    assert (done.status, done.stop_reason) == ("completed", None)
    assert done.ended_at is not None and done.ended_at >= done.started_at
    assert text(tasks, started.task_id) == "1\n2\n3\n"
    assert tasks.list() == ()
    assert tasks.list(active_only=False) == (done,)


@pytest.mark.parametrize(
    ("end", "status", "reason"),
    [
        (TaskEnd(True), "completed", None),
        (TaskEnd(False), "failed", None),
        (TaskEnd(False, "the stream broke"), "failed", "the stream broke"),
        (TaskEnd(False, "nobody looked", unseen=True), "lost", "nobody looked"),
    ],
)
async def test_a_natural_end_is_told_as_it_was(
    tasks: Tasks, counting: Making, end: TaskEnd, status: str, reason: str | None
) -> None:
    done = await ended(tasks, tasks.start(counting(ends=end), timeout_s=None).task_id)
    assert (done.status, done.stop_reason) == (status, reason)


@pytest.mark.parametrize("stubborn", [False, True])
async def test_a_stopped_task_is_killed_for_the_reason_that_was_given(
    tasks: Tasks, counting: Making, stubborn: bool
) -> None:
    work = counting(LONG, stubborn=stubborn)
    task_id = tasks.start(work, timeout_s=None).task_id
    stopped = await tasks.stop(task_id, "  not needed  ")
    assert stopped == info(tasks, task_id)
    assert (stopped.status, stopped.stop_reason) == ("killed", "not needed")
    assert work.killed is stubborn
    again = await tasks.stop(task_id, "another reason")
    assert again == stopped


async def test_a_blank_reason_is_none(tasks: Tasks, counting: Making) -> None:
    task_id = tasks.start(counting(LONG), timeout_s=None).task_id
    stopped = await tasks.stop(task_id, " ")
    assert stopped is not None and stopped.stop_reason is None


@pytest.mark.parametrize("stubborn", [False, True])
async def test_a_deadline_ends_a_task_as_timed_out(
    tasks: Tasks, counting: Making, stubborn: bool
) -> None:
    done = await ended(
        tasks, tasks.start(counting(LONG, stubborn=stubborn), timeout_s=0.05).task_id
    )
    assert (done.status, done.stop_reason) == ("timed_out", None)


async def test_a_task_that_finishes_in_spite_of_a_stop_counts(
    tasks: Tasks, counting: Making
) -> None:
    work = counting(5, step_s=0.02, ends=TaskEnd(True, despite_stop=True))

    async def deaf(grace_s: float) -> None:
        await asyncio.sleep(0)

    work_id = tasks.start(_with_stop(work, deaf), timeout_s=None).task_id
    stopped = await tasks.stop(work_id)
    assert stopped is not None and stopped.status == "completed"


def _with_stop(work: Any, stop: Callable[[float], Any]) -> Any:
    class Stopped(type(work)):  # type: ignore[misc]
        async def stop(self, grace_s: float) -> None:
            await stop(grace_s)

    work.__class__ = Stopped
    return work


async def test_work_that_raises_fails_with_its_text(tasks: Tasks, counting: Making) -> None:
    work = counting(-1)

    async def broken() -> TaskEnd:
        raise RuntimeError("out of paper")

    class Broken(counting):  # type: ignore[misc, valid-type]
        async def run(self) -> TaskEnd:
            return await broken()

    work.__class__ = Broken
    done = await ended(tasks, tasks.start(work, timeout_s=None).task_id)
    assert done.status == "failed"
    assert done.stop_reason is not None and "out of paper" in done.stop_reason


async def test_work_that_does_not_even_stop_is_given_up(tasks: Tasks, counting: Making) -> None:
    class Stuck(counting):  # type: ignore[misc, valid-type]
        async def run(self) -> TaskEnd:
            await asyncio.sleep(3600)
            return TaskEnd(True)

        async def stop(self, grace_s: float) -> None:
            await asyncio.sleep(3600)

    work = Stuck()
    task_id = tasks.start(work, timeout_s=None).task_id
    stopped = await tasks.stop(task_id, "enough")
    assert stopped is not None and (stopped.status, stopped.stop_reason) == ("killed", "enough")
    assert work.killed


async def test_what_cannot_begin_leaves_nothing(
    open_in: Opening, counting: Making, tmp_path: Path
) -> None:
    class Unable(counting):  # type: ignore[misc, valid-type]
        def begin(self, log: object) -> None:
            raise OSError("no such program")

    harness = open_in()
    tasks = tasks_of(harness)
    with pytest.raises(OSError, match="no such program"):
        tasks.start(Unable(), timeout_s=None)
    assert tasks.list(active_only=False) == ()
    assert not list(tmp_path.glob("state/tasks/*/output.log"))


async def test_only_so_many_tasks_run_at_once(open_in: Opening, counting: Making) -> None:
    tasks = tasks_of(open_in(max_running_tasks=1))
    assert tasks.room() is None
    first = tasks.start(counting(LONG), timeout_s=None)
    problem = tasks.room()
    assert problem is not None and "max_running_tasks" in problem
    with pytest.raises(ToolcribError, match="max_running_tasks"):
        tasks.start(counting(), timeout_s=None)
    await tasks.stop(first.task_id)
    assert tasks.room() is None


async def test_a_call_that_was_moved_does_not_count_for_the_limit(
    open_in: Opening, counting: Making
) -> None:
    tasks = tasks_of(open_in(max_running_tasks=1))
    work = counting(LONG)
    call = tasks.foreground(work, on_detach=lambda: None)
    work.begin(call.log)
    call.hand_over(None)
    assert tasks.room() is None


async def test_a_call_in_the_foreground_leaves_nothing_when_it_ends_there(
    tasks: Tasks, counting: Making, tmp_path: Path
) -> None:
    call = tasks.foreground(counting(), on_detach=lambda: None)
    assert [each.task_id for each in tasks.list()] == [call.task_id]
    assert not info(tasks, call.task_id).detached
    call.log.write(b"x" * 3_000_000)
    assert list(tmp_path.glob("state/tasks/*/output.log"))
    call.close()
    call.close()
    assert tasks.list(active_only=False) == () and tasks.get(call.task_id) is None
    assert not list(tmp_path.glob("state/tasks/*/output.log"))


async def test_a_call_is_moved_with_all_that_it_wrote(
    open_in: Opening, counting: Making, tmp_path: Path
) -> None:
    harness = open_in()
    tasks = tasks_of(harness)
    asked: list[bool] = []
    work = counting(2)
    call = tasks.foreground(work, on_detach=lambda: asked.append(True))
    work.begin(call.log)
    call.log.write(b"before\n")
    assert tasks.detach(call.task_id) is not None
    assert tasks.detach(call.task_id) is not None
    assert asked == [True] and call.wanted
    moved = call.hand_over(20)
    assert moved.detached and moved.timeout_s == 20
    call.close()
    done = await ended(tasks, moved.task_id)
    assert done.status == "completed"
    assert text(tasks, moved.task_id) == "before\n1\n2\n"
    (log,) = tmp_path.glob(f"state/tasks/{moved.task_id}/output.log")
    assert log.read_text() == "before\n1\n2\n"
    assert [m.origin["task_id"] for m in harness.session.context_messages()] == [moved.task_id]


async def test_too_much_output_stops_a_task_and_the_log_ends_there(
    open_in: Opening, counting: Making, tmp_path: Path
) -> None:
    tasks = tasks_of(open_in(output_limit_bytes=20))
    done = await ended(tasks, tasks.start(counting(LONG, step_s=0), timeout_s=None).task_id)
    assert done.status == "killed"
    assert done.stop_reason is not None and "20 bytes" in done.stop_reason
    (log,) = tmp_path.glob(f"state/tasks/{done.task_id}/output.log")
    assert log.read_bytes() == b"".join(f"{n}\n".encode() for n in range(1, 100))[:20]


async def test_waiting_ends_with_the_first_or_with_all(tasks: Tasks, counting: Making) -> None:
    quick = tasks.start(counting(1), timeout_s=None).task_id
    slow = tasks.start(counting(20), timeout_s=None).task_id
    await tasks.wait([quick, slow], timeout_s=20)
    assert (info(tasks, quick).active, info(tasks, slow).active) == (False, True)
    await tasks.wait([quick, slow], timeout_s=20, for_all=True)
    assert not info(tasks, slow).active


async def test_waiting_that_runs_out_changes_nothing(tasks: Tasks, counting: Making) -> None:
    task_id = tasks.start(counting(LONG), timeout_s=None).task_id
    await tasks.wait([task_id], timeout_s=0.01)
    await tasks.wait([], timeout_s=1)
    await tasks.wait(["count-zzzzzzzz"], timeout_s=1)
    waiting = asyncio.create_task(tasks.wait([task_id], timeout_s=3600))
    await asyncio.sleep(0)
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    assert info(tasks, task_id).active


async def test_news_is_output_or_the_end(tasks: Tasks, counting: Making) -> None:
    task_id = tasks.start(counting(3, step_s=0.1), timeout_s=None).task_id
    seen = []
    while info(tasks, task_id).active:
        await tasks.news([task_id], timeout_s=20)
        seen.append(text(tasks, task_id))
    assert seen[0] == "1\n" and seen[-1] == "1\n2\n3\n"


async def test_a_stop_goes_on_when_whoever_asked_is_cancelled(
    tasks: Tasks, counting: Making
) -> None:
    task_id = tasks.start(counting(LONG, stubborn=True), timeout_s=None).task_id
    stopping = asyncio.create_task(tasks.stop(task_id, "going"))
    await asyncio.sleep(0.05)
    stopping.cancel()
    assert (await ended(tasks, task_id)).status == "killed"


async def test_closing_stops_what_runs_and_tells_nobody(open_in: Opening, counting: Making) -> None:
    harness = open_in()
    works = [counting(LONG, stubborn=n % 2 == 0) for n in range(6)]
    ids = [tasks_of(harness).start(work, timeout_s=None).task_id for work in works]
    await harness.session.aclose()
    later = tasks_of(open_in())
    assert [info(later, task_id).status for task_id in ids] == ["killed"] * 6
    assert later.list() == ()
    assert _messages(open_in().session) == []


async def test_an_end_is_told_once_even_over_sessions(open_in: Opening, counting: Making) -> None:
    first = open_in()
    task_id = tasks_of(first).start(counting(1), timeout_s=None).task_id
    await ended(tasks_of(first), task_id)
    await first.session.aclose()
    second = open_in()
    (message,) = second.session.context_messages()
    assert message.id == f"task:{task_id}:completed" and not message.wakes
    assert second.session.context_messages() == []
    await second.session.aclose()
    assert _messages(open_in().session) == []


async def test_an_end_that_was_told_otherwise_is_no_message(
    open_in: Opening, counting: Making
) -> None:
    harness = open_in()
    tasks = tasks_of(harness)
    told = tasks.start(counting(1), timeout_s=None).task_id
    stopped = tasks.start(counting(LONG), timeout_s=None).task_id
    open_end = tasks.start(counting(1), timeout_s=None).task_id
    await tasks.wait([told, open_end], timeout_s=20, for_all=True)
    await tasks.stop(stopped, notify=False)
    tasks.mark_delivered([told, "count-zzzzzzzz"])
    assert _messages(harness.session) == [open_end]


async def test_a_message_that_did_not_stay_is_given_again(
    open_in: Opening, counting: Making
) -> None:
    harness = open_in()
    tasks = tasks_of(harness)
    ids = [tasks.start(counting(1), timeout_s=None).task_id for _ in range(8)]
    await tasks.wait(ids, timeout_s=20, for_all=True)
    taken = harness.session.context_messages()
    assert len(taken) == 1
    harness.session.return_messages(taken)
    again = harness.session.context_messages()
    assert [m.id for m in again] == [m.id for m in taken]
    harness.session.return_messages([f"task:{ids[3]}:completed"])
    assert _messages(harness.session) == [ids[3]]


async def test_two_sessions_at_once_keep_to_themselves(open_in: Opening, counting: Making) -> None:
    one, other = open_in(), open_in()
    task_id = tasks_of(one).start(counting(1), timeout_s=None).task_id
    assert tasks_of(other).get(task_id) is None
    await ended(tasks_of(one), task_id)
    assert _messages(other.session) == []
    assert _messages(one.session) == [task_id]


async def test_hosts_hear_of_starts_and_ends(open_in: Opening, counting: Making) -> None:
    harness = open_in()
    heard: list[str] = []
    harness.session.subscribe(lambda event: heard.append(event.type))
    tasks = tasks_of(harness)
    await ended(tasks, tasks.start(counting(1), timeout_s=None).task_id)
    assert heard == ["task.started", "task.ended", "context.messages.ready"]


def _messages(session: Session) -> list[str]:
    return [message.origin["task_id"] for message in session.context_messages()]


def test_a_wrong_setting_is_an_error_when_the_session_opens(open_in: Opening) -> None:
    with pytest.raises(ConfigError, match="max_running_tasks"):
        open_in(max_running_tasks=0)
