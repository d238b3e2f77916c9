"""Processes that write a file by themselves, and that may be left to themselves."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from toolcrib import Launch, process_started, start_process
from toolcrib.processes.running import RunningProcess

HOST = """
import asyncio, os, sys
from toolcrib import Launch, start_process

async def main():
    descriptor = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    script = "trap '' HUP; echo ready; sleep 0.5; echo $$ > " + sys.argv[1] + ".pid; exec sleep 300"
    process = start_process(
        Launch(("/bin/sh", "-c", script), "/", os.environ), on_output=print, output_file=descriptor
    )
    {end}

asyncio.run(main())
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "output"


@pytest.fixture
def descriptor(file: Path) -> Iterator[int]:
    opened = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC)
    yield opened
    os.close(opened)


def shell(script: str, descriptor: int) -> tuple[RunningProcess, list[bytes]]:
    output: list[bytes] = []
    launch = Launch(("/bin/sh", "-c", script), "/", os.environ)
    return start_process(launch, on_output=output.append, output_file=descriptor), output


async def until_gone(pid: int) -> None:
    async with asyncio.timeout(10):
        while process_started(pid) is not None:
            await asyncio.sleep(0.01)


async def test_both_streams_go_to_the_file_and_nowhere_else(file: Path, descriptor: int) -> None:
    process, output = shell("printf out; printf err >&2; exit 3", descriptor)
    assert await process.wait() == 3
    assert (await process.stop()).stopped == {}
    assert file.read_bytes() == b"outerr"
    assert output == []


async def test_the_file_stays_open_for_whoever_opened_it(file: Path, descriptor: int) -> None:
    process, _ = shell("printf one", descriptor)
    await process.wait()
    await process.stop()
    os.write(descriptor, b"two")
    assert file.read_bytes() == b"onetwo"


async def test_stopping_ends_it_with_what_it_started(file: Path, descriptor: int) -> None:
    process, _ = shell("trap '' TERM; sleep 300 & echo ready; sleep 300; sleep 300", descriptor)
    async with asyncio.timeout(10):
        while not file.read_bytes():
            await asyncio.sleep(0.01)
    waiting = asyncio.create_task(process.wait())
    remains = await process.stop(0.05)
    assert len(remains.stopped) >= 2 and remains.survivors == {}
    async with asyncio.timeout(10):
        assert await waiting == -9


async def test_waiting_ends_when_it_is_stopped(descriptor: int) -> None:
    """Whichever notices the end first."""
    for _ in range(20):
        process, _ = shell("exec sleep 300", descriptor)
        waiting = asyncio.create_task(process.wait())
        await process.stop(5)
        async with asyncio.timeout(10):
            assert await waiting == -15


async def test_what_is_killed_is_noticed(descriptor: int) -> None:
    process, _ = shell("trap '' TERM; sleep 300; sleep 300", descriptor)
    process.kill()
    async with asyncio.timeout(10):
        assert await process.wait() == -9
    await process.stop()


async def test_one_that_was_left_goes_on_and_leaves_no_zombie(file: Path, descriptor: int) -> None:
    before = len(os.listdir("/dev/fd"))
    process, _ = shell("sleep 0.3; echo done", descriptor)
    process.leave()
    assert len(os.listdir("/dev/fd")) == before
    assert process_started(process.pid) is not None
    await until_gone(process.pid)
    assert file.read_text() == "done\n"
    process.leave()
    assert (await process.stop()).stopped == {}


async def test_one_with_a_pipe_may_be_left_too(tmp_path: Path) -> None:
    """Nobody reads what it writes from then on."""
    output: list[bytes] = []
    file = tmp_path / "file"
    script = f"echo ready; sleep 0.3; trap '' PIPE; echo lost; echo on > {file}"
    process = start_process(
        Launch(("/bin/sh", "-c", script), "/", os.environ), on_output=output.append
    )
    async with asyncio.timeout(10):
        while not output:
            await asyncio.sleep(0.01)
        process.leave()
        while not file.exists():
            await asyncio.sleep(0.01)
    await until_gone(process.pid)
    assert output == [b"ready\n"]


async def test_a_program_that_is_missing_leaves_the_file_open(file: Path, descriptor: int) -> None:
    before = len(os.listdir("/dev/fd"))
    with pytest.raises(FileNotFoundError):
        start_process(
            Launch(("/no/such/program",), "/", {}), on_output=print, output_file=descriptor
        )
    assert len(os.listdir("/dev/fd")) == before
    os.write(descriptor, b"x")
    assert file.read_bytes() == b"x"


@pytest.mark.parametrize("end", ["return", "process.leave()", "sys.exit(3)", "os.kill(0, 9)"])
def test_it_outlives_the_host_whatever_ends_that(tmp_path: Path, end: str) -> None:
    file = tmp_path / "output"
    subprocess.run(
        [sys.executable, "-W", "error", "-c", HOST.format(end=end), file],
        start_new_session=True,
        stderr=subprocess.DEVNULL,
    )
    pid_file = tmp_path / "output.pid"
    deadline = time.monotonic() + 20
    while not (pid_file.exists() and pid_file.read_text().strip()):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    pid = int(pid_file.read_text())
    try:
        assert process_started(pid) is not None
        assert file.read_text() == "ready\n"
    finally:
        os.kill(pid, 9)
