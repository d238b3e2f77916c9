"""WaitFor: what ends a wait, what it tells, and whose ends count as told."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from typing import Any

import pytest

from toolcrib import TaskEnd, Tasks, hookimpl
from toolcrib.testing import ToolHarness

Making = Callable[..., Any]
Opening = Callable[..., ToolHarness]


@pytest.fixture
def harness(open_in: Opening) -> ToolHarness:
    return open_in()


@pytest.fixture
def start(harness: ToolHarness, writing: Making) -> Callable[..., Any]:
    """Starts a task that does as the test says: `work.write(b"...")`, `work.over.set()`."""

    def start_one(**more: Any) -> Any:
        work = writing(**more)
        work.id = tasks_of(harness).start(work, timeout_s=None).task_id
        return work

    return start_one


def tasks_of(harness: ToolHarness) -> Tasks:
    tasks = harness.session.tasks
    assert tasks is not None
    return tasks


async def wait_for(harness: ToolHarness, timeout: int = 20, **more: object) -> str:
    done = await harness.call("WaitFor", {"timeout": timeout, **more})
    assert not done.result.is_error
    assert isinstance(done.result.output, str)
    return done.result.output


def record(text: str) -> dict[str, str]:
    """The record at the head of a result."""
    return dict(re.findall(r"^(\w+): (.*)$", text.partition("\n\n")[0], re.MULTILINE))


def section(text: str, name: str) -> str:
    """What a section of a result holds; empty when there is none."""
    found = re.search(rf"^\[{name}\]\n(.*?)(?=^\[\w+_\w+\]$|\Z)", text, re.MULTILINE | re.DOTALL)
    return found[1] if found else ""


def ids(text: str) -> list[str]:
    return re.findall(r"^task_id: (\S+)$", text, re.MULTILINE)


def told(harness: ToolHarness) -> list[str]:
    """The tasks whose ends the host still hears of."""
    return [message.origin["task_id"] for message in harness.session.context_messages()]


async def test_a_wait_ends_with_the_task_and_shows_its_output(crib: ToolHarness) -> None:
    await crib.call(
        "Bash", command="sleep 0.3; echo fin; exit 3", run_in_background=True, description="job"
    )
    text = await wait_for(crib)
    assert record(text)["wait_status"] == "completed"
    assert "status: failed" in text and "exit_code: 3" in text and text.endswith("[output]\nfin\n")
    assert crib.session.context_messages() == []


async def test_the_first_of_those_that_run_ends_it(harness: ToolHarness, start: Making) -> None:
    works = [start() for _ in range(3)]
    waiting = asyncio.ensure_future(wait_for(harness))
    await asyncio.sleep(0.05)
    works[1].over.set()
    text = await waiting
    assert record(text)["task_id"] == works[1].id
    assert ids(section(text, "still_running")) == [works[0].id, works[2].id]


async def test_others_that_ended_meanwhile_are_listed_and_delivered(
    harness: ToolHarness, start: Making
) -> None:
    first, second, third = start(), start(), start()
    waiting = asyncio.ensure_future(wait_for(harness, task_id=first.id))
    await asyncio.sleep(0.05)
    second.over.set()
    await tasks_of(harness).wait([second.id], timeout_s=10)
    first.over.set()
    text = await waiting
    assert record(text)["task_id"] == first.id
    assert ids(section(text, "completed_during_wait")) == [second.id]
    assert ids(section(text, "still_running")) == [third.id]
    assert told(harness) == []


async def test_a_task_that_starts_during_the_wait_does_not_end_it(
    harness: ToolHarness, start: Making
) -> None:
    start()
    waiting = asyncio.ensure_future(wait_for(harness, timeout=1))
    await asyncio.sleep(0.05)
    later = start()
    later.over.set()
    text = await waiting
    assert record(text)["wait_status"] == "timed_out"
    assert told(harness) == [later.id]


async def test_running_out_of_time_is_no_error_and_delivers_nothing(
    harness: ToolHarness, start: Making
) -> None:
    slow, quick = start(), start()
    waiting = asyncio.ensure_future(wait_for(harness, timeout=1, task_id=slow.id))
    await asyncio.sleep(0.05)
    quick.over.set()
    text = await waiting
    head = record(text)
    assert (head["wait_status"], head["task_id"]) == ("timed_out", slow.id)
    assert head["timeout_ms"] == "1000" and int(head["waited_ms"]) >= 1_000
    assert ids(section(text, "still_running")) == [slow.id]
    assert told(harness) == [quick.id]


async def test_without_tasks_there_is_nothing_to_wait_for(
    harness: ToolHarness, counting: Making
) -> None:
    assert record(await wait_for(harness))["wait_status"] == "no_tasks"
    ended = tasks_of(harness).start(counting(upto=0), timeout_s=None).task_id
    await tasks_of(harness).wait([ended], timeout_s=10)
    text = await wait_for(harness, mode="all")
    assert record(text)["wait_status"] == "no_tasks" and ended in text
    assert told(harness) == [ended]


async def test_an_ended_task_answers_at_once(harness: ToolHarness, start: Making) -> None:
    work = start()
    work.write(b"result\n")
    work.over.set()
    await tasks_of(harness).wait([work.id], timeout_s=10)
    for _ in range(2):
        text = await wait_for(harness, task_id=work.id)
        assert record(text)["wait_status"] == "completed" and text.endswith("result\n")


async def test_all_waits_for_each_and_shows_them_in_the_order_of_their_ends(
    harness: ToolHarness, start: Making
) -> None:
    first, second, other = start(), start(), start()
    waiting = asyncio.ensure_future(
        wait_for(harness, task_ids=[first.id, second.id, first.id], mode="all")
    )
    await asyncio.sleep(0.05)
    second.over.set()
    await asyncio.sleep(0.05)
    assert not waiting.done()
    first.over.set()
    text = await waiting
    assert record(text)["task_ids"] == f"{second.id}, {first.id}"
    assert text.count("[finished]") == 2
    assert ids(section(text, "still_running")) == [other.id]
    assert told(harness) == []


async def test_any_of_several_is_enough(harness: ToolHarness, start: Making) -> None:
    first, second, other = start(), start(), start()
    other.over.set()
    waiting = asyncio.ensure_future(wait_for(harness, task_ids=[first.id, second.id]))
    await asyncio.sleep(0.05)
    assert not waiting.done()
    second.over.set()
    assert record(await waiting)["task_id"] == second.id


async def test_many_ended_tasks_stay_within_the_budget(harness: ToolHarness, start: Making) -> None:
    works = [start(extra={"command": "x" * 5_000}) for _ in range(30)]
    for work in works:
        work.write(b"y" * 50_000)
        work.over.set()
    done = await harness.call(
        "WaitFor", timeout=20, task_ids=[work.id for work in works], mode="all"
    )
    assert not done.result.truncated and told(harness) == []
    assert len(str(done.result.output)) < 65_000


@pytest.mark.parametrize("named", [{"task_id": "bash-zzzzzzzz"}, {"task_ids": ["bash-zzzzzzzz"]}])
async def test_an_unknown_id_is_an_error(
    harness: ToolHarness, start: Making, named: dict[str, Any]
) -> None:
    work = start()
    done = await harness.call("WaitFor", {"timeout": 5, **named})
    text = str(done.result.output)
    assert done.result.is_error and "bash-zzzzzzzz" in text and work.id in text


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"timeout": 0},
        {"timeout": 601},
        {"timeout": 1, "task_ids": []},
        {"timeout": 1, "task_id": "a", "task_ids": ["b"]},
        {"timeout": 1, "mode": "first"},
        {"timeout": 1, "pattern": ""},
    ],
)
async def test_arguments_that_make_no_sense_are_refused(
    harness: ToolHarness, arguments: dict[str, Any]
) -> None:
    done = await harness.call("WaitFor", arguments)
    assert done.result.is_error and done.outcome == "preflight-rejected"


async def test_a_cancelled_wait_touches_no_task(harness: ToolHarness, start: Making) -> None:
    work = start()
    waiting = asyncio.ensure_future(harness.call("WaitFor", timeout=60))
    await asyncio.sleep(0.05)
    waiting.cancel()
    await asyncio.wait([waiting])
    assert [info.task_id for info in tasks_of(harness).list()] == [work.id]
    work.over.set()
    await tasks_of(harness).wait([work.id], timeout_s=10)
    assert told(harness) == [work.id]


async def test_whoever_watches_sees_how_long_it_takes(tmp_path: Any, writing: Making) -> None:
    seen: list[Any] = []

    class Watcher:
        @hookimpl
        def observe(self, event: Any) -> None:
            update = getattr(event, "update", None)
            if update is not None:
                seen.append(update)

    (tmp_path / "ws").mkdir()
    async with ToolHarness(tmp_path / "ws", plugins=[Watcher()]) as harness:
        tasks_of(harness).start(writing(), timeout_s=None)
        await wait_for(harness, timeout=1)
    assert seen and all(update.kind == "status" and update.replace for update in seen)
    assert "1 task" in seen[0].text and "0s" in seen[0].text and "1s" in seen[0].text


async def test_it_covers_what_an_earlier_call_of_the_batch_starts(crib: ToolHarness) -> None:
    bash = {"command": "echo from batch", "run_in_background": True, "description": "job"}
    _, waited, listed = await crib.batch(
        ("Bash", {**bash, "command": "sleep 0.3; echo from batch"}),
        ("WaitFor", {"timeout": 20}),
        ("TaskList", {}),
    )
    assert "from batch" in str(waited.result.output)
    assert "active_background_tasks: 0" in str(listed.result.output)


async def test_a_line_that_was_there_before_is_found(harness: ToolHarness, start: Making) -> None:
    work = start()
    work.write(b"booting\nlistening on port 8080\nrequest 1\n")
    text = await wait_for(harness, task_id=work.id, pattern=r"on port \d+$")
    assert record(text)["wait_status"] == "pattern_matched"
    assert "matched_line: listening on port 8080" in section(text, "matched")
    assert ids(section(text, "still_running")) == [work.id]
    assert told(harness) == []


@pytest.mark.parametrize(
    "pieces",
    [
        [b"server ready\n"],
        [b"server re", b"ady"],
        [b"\xc3", b"\xbc\nserver ready\n"],
        [b"\x1b[3", b"2mserver ready\x1b[0m\n"],
        [b"10%\r", b"50%\r", b"server ready\r\n"],
        [b"x" * 32_760 + b"\nserv", b"er ready"],
        ["ü".encode() * 20_000 + b"\n", b"server ready\n" + b"y" * 100_000],
        [b"a line\n" * 20_000, b"a line\n" * 9 + b"server ready\n" + b"a line\n" * 20_000],
    ],
)
async def test_a_line_that_is_written_piece_by_piece_is_found(
    harness: ToolHarness, start: Making, pieces: list[bytes]
) -> None:
    work = start()
    waiting = asyncio.ensure_future(wait_for(harness, task_id=work.id, pattern="^server ready$"))
    for piece in pieces:
        await asyncio.sleep(0.12)
        assert not waiting.done()
        work.write(piece)
    assert "matched_line: server ready" in await waiting


async def test_a_character_that_is_written_in_two_pieces_is_one(
    harness: ToolHarness, start: Making
) -> None:
    work = start()
    waiting = asyncio.ensure_future(wait_for(harness, pattern="^für alle$"))
    for byte in "für alle\n".encode():
        await asyncio.sleep(0.07)
        work.write(bytes([byte]))
    assert "matched_line: für alle" in await waiting


async def test_a_match_in_output_without_line_ends_is_found(
    harness: ToolHarness, start: Making
) -> None:
    work = start()
    work.write(b"." * 200_000 + b"ready" + b"." * 100_000)
    text = await wait_for(harness, task_id=work.id, pattern="ready")
    assert len(section(text, "matched")) < 1_000


async def test_the_end_of_a_task_ends_the_wait_for_its_line(
    harness: ToolHarness, start: Making
) -> None:
    work = start()
    waiting = asyncio.ensure_future(wait_for(harness, task_id=work.id, pattern="ready"))
    await asyncio.sleep(0.05)
    work.write(b"cannot bind\n")
    work.over.set()
    text = await waiting
    assert record(text)["wait_status"] == "completed"
    assert record(text)["pattern_found"] == "false"
    assert text.endswith("cannot bind\n") and told(harness) == []


async def test_a_last_line_before_the_end_counts(harness: ToolHarness, start: Making) -> None:
    work = start()
    work.write(b"ready")
    work.over.set()
    await tasks_of(harness).wait([work.id], timeout_s=10)
    text = await wait_for(harness, task_id=work.id, pattern="^ready$")
    assert record(text)["wait_status"] == "pattern_matched"
    assert "[finished]" in text and told(harness) == []


async def test_all_wait_for_their_lines(harness: ToolHarness, start: Making) -> None:
    first, second = start(), start()
    waiting = asyncio.ensure_future(wait_for(harness, mode="all", pattern="ready"))
    first.write(b"ready\n")
    await asyncio.sleep(0.2)
    assert not waiting.done()
    second.write(b"ready too\n")
    text = await waiting
    assert record(text)["task_ids"] == f"{first.id}, {second.id}"
    assert text.count("[matched]") == 2


async def test_a_line_that_does_not_come_lets_the_time_run_out(
    harness: ToolHarness, start: Making
) -> None:
    work = start()
    work.write(b"something else\n")
    text = await wait_for(harness, timeout=1, task_id=work.id, pattern="ready")
    assert record(text)["wait_status"] == "timed_out"
    assert record(text)["pattern_found"] == "false"


@pytest.mark.parametrize("pattern", ["(", "a{2,1}", "(?=a)b", r"(a)\1", "a{1000}{1000}", "\ud800"])
async def test_a_pattern_that_cannot_be_used_is_refused(
    harness: ToolHarness, start: Making, pattern: str
) -> None:
    start()
    done = await harness.call("WaitFor", timeout=5, pattern=pattern)
    assert done.result.is_error and "pattern" in str(done.result.output)


@pytest.mark.parametrize("pattern", ["(a+)+$", "(a|aa)+$", "(.*)*b$", "(x+x+)+y", "(a?){50}b"])
async def test_no_pattern_keeps_the_session_from_working(
    harness: ToolHarness, start: Making, pattern: str
) -> None:
    """With backtracking each of these would take longer than the test may."""
    work = start()
    work.write((b"a" * 4_000 + b"!\n") * 50 + b"x" * 4_000 + b"!\n")
    text = await wait_for(harness, timeout=1, task_id=work.id, pattern=pattern)
    assert record(text)["wait_status"] == "timed_out"


async def test_a_real_server_is_waited_for(crib: ToolHarness) -> None:
    await crib.call(
        "Bash",
        command="echo booting; sleep 0.3; echo Serving on 8080; sleep 60",
        run_in_background=True,
        description="server",
    )
    text = await wait_for(crib, pattern="(?i)serving on")
    assert "matched_line: Serving on 8080" in text


async def test_a_failed_task_counts_as_ended(harness: ToolHarness, counting: Making) -> None:
    task = tasks_of(harness).start(
        counting(upto=1, ends=TaskEnd(False, "it broke")), timeout_s=None
    )
    text = await wait_for(harness, task_id=task.task_id)
    assert "status: failed" in text and "stop_reason: it broke" in text


async def test_a_call_that_ends_in_the_foreground_is_waited_for_no_longer(
    open_in: Callable[..., ToolHarness],
) -> None:
    """Its own result tells how it ended; TaskList shows its id while it runs."""
    crib = open_in()
    tasks = crib.session.tasks
    assert tasks is not None
    call = asyncio.ensure_future(crib.call("Bash", command="sleep 1.5; echo done"))
    while not (running := tasks.list()):
        await asyncio.sleep(0.02)
    task_id = running[0].task_id
    waits = (
        crib.call("WaitFor", {"task_id": task_id, "timeout": 60, **more}) for more in ({}, _PATTERN)
    )
    for done in await asyncio.gather(*waits):
        assert "wait_status: completed" in done.result.output
        assert f"task_id: {task_id}" in done.result.output
    assert "done" in (await call).result.output


_PATTERN = {"pattern": "never written"}
