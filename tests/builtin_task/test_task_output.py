"""TaskOutput: how a task is doing and what it has written, at once and piece by piece."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from toolcrib import Tasks
from toolcrib.testing import ToolHarness

Making = Callable[..., Any]
Opening = Callable[..., ToolHarness]


@pytest.fixture
def harness(open_in: Opening) -> ToolHarness:
    return open_in()


@pytest.fixture
async def work(harness: ToolHarness, writing: Making) -> Any:
    """What has been started as the only task of the session: `work.write(b"...")`."""
    work = writing()
    tasks_of(harness).start(work, timeout_s=None)
    return work


def tasks_of(harness: ToolHarness) -> Tasks:
    tasks = harness.session.tasks
    assert tasks is not None
    return tasks


def only_id(harness: ToolHarness) -> str:
    (task,) = tasks_of(harness).list(active_only=False)
    return task.task_id


async def shown(harness: ToolHarness, **arguments: object) -> tuple[dict[str, str], str]:
    """The record and the output."""
    done = await harness.call("TaskOutput", {"task_id": only_id(harness), **arguments})
    text = done.result.output
    assert not done.result.is_error and isinstance(text, str)
    head, _, output = text.partition("\n[output]\n")
    return dict(re.findall(r"^(\w+): (.*)$", head, re.MULTILINE)), output


async def end(harness: ToolHarness, work: Any) -> None:
    work.over.set()
    await tasks_of(harness).wait([only_id(harness)], timeout_s=10)


async def test_a_running_task_is_shown_without_waiting(harness: ToolHarness, work: Any) -> None:
    record, output = await shown(harness)
    assert (record["retrieval_status"], record["status"]) == ("not_ready", "running")
    assert "no output yet" in output
    work.write(b"one\n")
    record, output = await shown(harness)
    assert output == "one\n"
    assert record["output_size_bytes"] == record["next_offset"] == "4"
    assert record["output_truncated"] == "false"


async def test_an_ended_task_is_shown_again_and_again(harness: ToolHarness, work: Any) -> None:
    work.write("é fin\n".encode())
    await end(harness, work)
    first = await shown(harness)
    assert first[0]["retrieval_status"] == "success" and first[1] == "é fin\n"
    again = await shown(harness)
    assert again[1] == first[1] and again[0]["status"] == "completed"
    path = Path(first[0]["output_path"])
    assert path.read_bytes() == "é fin\n".encode()
    assert first[0]["full_output_available"] == "true"
    assert first[0]["full_output_tool"] == "Read"


async def test_reading_an_end_delivers_it(harness: ToolHarness, work: Any) -> None:
    await shown(harness)
    await end(harness, work)
    await shown(harness)
    assert harness.session.context_messages() == []


async def test_reading_before_the_end_leaves_the_news(harness: ToolHarness, work: Any) -> None:
    await shown(harness)
    await end(harness, work)
    assert len(harness.session.context_messages()) == 1


async def test_the_end_of_long_output_is_shown_and_the_file_named(
    harness: ToolHarness, work: Any
) -> None:
    work.write(b"".join(b"line %06d\n" % number for number in range(10_000)))
    record, output = await shown(harness)
    assert record["output_truncated"] == "true"
    assert len(output.encode()) == int(record["output_preview_bytes"]) == 32_768
    assert output.endswith("line 009999\n")
    record, output = await shown(harness, tail_bytes=1_024)
    assert len(output.encode()) == 1_024


@pytest.mark.parametrize("tail_bytes", [1_024, 5_000, 32_768])
async def test_output_can_be_followed_piece_by_piece(
    harness: ToolHarness, work: Any, tail_bytes: int
) -> None:
    """What the pieces show is what was written, however it was cut."""
    written = "".join(f"{number} é€😀\n" for number in range(3_000))
    seen, offset = "", 0
    for start in range(0, len(written), 9_999):
        work.write(written[start : start + 9_999].encode())
        while True:
            record, output = await shown(harness, since_offset=offset, tail_bytes=tail_bytes)
            if int(record["next_offset"]) == offset:
                break
            seen, offset = seen + output, int(record["next_offset"])
    assert seen == written
    _, output = await shown(harness, since_offset=offset)
    assert "no new output" in output


async def test_more_to_come_is_told_with_its_offset(harness: ToolHarness, work: Any) -> None:
    work.write(b"x" * 5_000)
    record, output = await shown(harness, since_offset=1_000, tail_bytes=1_024)
    assert (record["next_offset"], output) == ("2024", "x" * 1_024)
    done = await harness.call(
        "TaskOutput", task_id=only_id(harness), since_offset=0, tail_bytes=1_024
    )
    assert "since_offset=1024" in str(done.result.output)


async def test_an_offset_behind_the_end_says_where_the_end_is(
    harness: ToolHarness, work: Any
) -> None:
    work.write(b"abc")
    record, output = await shown(harness, since_offset=99)
    assert record["next_offset"] == "3" and "99" in output


async def test_binary_output_is_named_so_and_not_sent_to_read(
    harness: ToolHarness, work: Any
) -> None:
    work.write(bytes(range(256)) * 40)
    record, output = await shown(harness)
    assert "full_output_tool" not in record
    assert "binary" in record["full_output_hint"]
    assert "10240" in output and "\ufffd" not in output


async def test_names_between_nul_bytes_are_still_shown(harness: ToolHarness, work: Any) -> None:
    work.write(b"a.txt\0b.txt\0")
    _, output = await shown(harness)
    assert output == "a.txt␀b.txt␀"


async def test_the_result_of_a_long_command_stays_within_the_budget(
    harness: ToolHarness, writing: Making
) -> None:
    work = writing(extra={"command": "echo " + "x" * 100_000})
    tasks_of(harness).start(work, timeout_s=None)
    work.write(b"y" * 100_000)
    done = await harness.call("TaskOutput", task_id=only_id(harness))
    assert len(str(done.result.output)) < 50_000
    assert str(done.result.output).endswith("y" * 1_000)


async def test_an_unknown_id_is_an_error_with_the_known_ones(
    harness: ToolHarness, work: Any
) -> None:
    done = await harness.call("TaskOutput", task_id="bash-zzzzzzzz")
    text = str(done.result.output)
    assert done.result.is_error
    assert "bash-zzzzzzzz" in text and only_id(harness) in text and "TaskList" in text


async def test_the_id_of_an_agent_leads_to_its_task(harness: ToolHarness, writing: Making) -> None:
    tasks_of(harness).start(writing(extra={"agent_id": "agent-7"}), timeout_s=None)
    done = await harness.call("TaskOutput", task_id="agent-7")
    assert done.result.is_error
    assert f"its task is {only_id(harness)}" in str(done.result.output)


@pytest.mark.parametrize("task_id", ["../../etc", "x" * 10_000, "\n---\ntask_id: y"])
async def test_an_id_that_cannot_be_one_is_unknown(harness: ToolHarness, task_id: str) -> None:
    done = await harness.call("TaskOutput", task_id=task_id)
    assert done.result.is_error
    assert len(str(done.result.output)) < 1_000 and "\n" not in str(done.result.output)


async def test_output_of_a_real_command_is_what_it_wrote(crib: ToolHarness) -> None:
    await crib.call(
        "Bash",
        command="printf 'to out\\n'; printf '\\033[31mto err\\033[0m\\n' >&2; exit 4",
        run_in_background=True,
        description="both",
    )
    await tasks_of(crib).wait([only_id(crib)], timeout_s=10)
    record, output = await shown(crib)
    assert output == "to out\nto err\n"
    assert (record["status"], record["exit_code"]) == ("failed", "4")
    assert b"\x1b[31m" in Path(record["output_path"]).read_bytes()


async def test_read_opens_the_file_that_is_named(crib: ToolHarness) -> None:
    await crib.call("Bash", command="seq 500", run_in_background=True, description="numbers")
    await tasks_of(crib).wait([only_id(crib)], timeout_s=10)
    record, _ = await shown(crib)
    done = await crib.call("Read", path=record["output_path"], line_offset=301, n_lines=2)
    assert not done.result.is_error
    assert "301" in str(done.result.output) and "303" not in str(done.result.output)
