"""The process runner where the system offers less than usual, and when the host ends."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest

from toolcrib import Launch
from toolcrib.processes import table
from toolcrib.processes.running import RunningProcess, start_process

HOST = """
import asyncio, os, sys
from toolcrib import Launch
from toolcrib import start_process

async def main():
    start_process(Launch(("sleep", sys.argv[1]), "/", os.environ), on_output=print)
    await asyncio.sleep(0.1)
    {end}

loop = asyncio.new_event_loop()
loop.run_until_complete(main())
"""


@pytest.fixture(params=["all", "no pidfd", "no proc"], autouse=True)
def system(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """What the system offers; macOS has neither of the two."""
    if request.param != "all":
        monkeypatch.delattr(os, "pidfd_open", raising=False)
    if request.param == "no proc":
        monkeypatch.setattr(table, "HAS_PROC", False)
    yield request.param


def shell(script: str, output: list[bytes]) -> RunningProcess:
    return start_process(
        Launch(("/bin/sh", "-c", script), "/", os.environ), on_output=output.append
    )


def exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.parametrize(("script", "code"), [("exit 0", 0), ("exit 9", 9), ("kill -9 $$", -9)])
async def test_exit_code_and_output_arrive(script: str, code: int) -> None:
    output: list[bytes] = []
    process = shell(f"printf out; printf err >&2; {script}", output)
    assert await process.wait() == code
    assert (await process.stop()).stopped == {}
    assert b"".join(output) == b"outerr"


async def test_the_process_leads_its_own_session() -> None:
    process = shell("exec sleep 300", [])
    assert os.getsid(process.pid) == process.pid
    await process.stop()


async def test_stop_ends_what_ignores_the_polite_signal(system: str) -> None:
    output: list[bytes] = []
    process = shell("trap '' TERM; echo ready; sleep 300 & sleep 300; sleep 300", output)
    while not output:
        await asyncio.sleep(0.01)
    remains = await process.stop()
    assert remains.stopped
    if system != "no proc":  # where orphans count until init has buried them
        assert remains.survivors == {}
    assert not exists(process.pid)


THREADS = """
import threading, time
hog = bytearray(1 << 27)
for _ in range(200):
    threading.Thread(target=time.sleep, args=(300,)).start()
print(flush=True)
"""


async def test_a_stopped_process_is_gone_with_all_its_threads() -> None:
    """Its first thread is one that has ended before the others, which cannot be waited for yet."""
    output: list[bytes] = []
    launch = Launch((sys.executable, "-c", THREADS), "/", os.environ)
    process = start_process(launch, on_output=output.append)
    while not output:
        await asyncio.sleep(0.01)
    await process.stop()
    assert process.returncode == -15
    assert not exists(process.pid)


async def test_stop_twice_is_harmless() -> None:
    process = shell("exec sleep 300", [])
    await process.stop()
    assert (await process.stop()).stopped == {}


async def test_cancelling_stop_kills_at_once() -> None:
    """Whoever cannot wait for the polite end gets the other one."""
    output: list[bytes] = []
    process = shell("trap '' TERM; echo ready; sleep 300; sleep 300", output)
    while not output:
        await asyncio.sleep(0.01)
    stopping = asyncio.create_task(process.stop())
    await asyncio.sleep(0.1)
    stopping.cancel()
    with pytest.raises(asyncio.CancelledError):
        await stopping
    deadline = time.monotonic() + 5
    while exists(process.pid) and process.returncode is None:
        process._popen.poll()
        assert time.monotonic() < deadline
        await asyncio.sleep(0.01)


async def test_output_can_be_taken_over_while_it_runs() -> None:
    """Another reader can be put in place, as for a command that moves to the background."""
    first: list[bytes] = []
    second: list[bytes] = []
    process = shell("echo one; sleep 0.3; echo two", first)
    while not first:
        await asyncio.sleep(0.01)
    process.on_output = second.append
    await process.wait()
    await process.stop()
    assert (first, second) == ([b"one\n"], [b"two\n"])


async def test_a_program_that_is_missing_leaves_no_descriptor() -> None:
    before = len(os.listdir("/dev/fd"))
    with pytest.raises(FileNotFoundError):
        start_process(Launch(("/no/such/program",), "/", {}), on_output=print)
    assert len(os.listdir("/dev/fd")) == before


@pytest.mark.parametrize("system", ["all"], indirect=True)
@pytest.mark.parametrize("end", ["return", "sys.exit(3)", "raise KeyboardInterrupt"])
def test_a_host_that_ends_takes_its_processes_along(end: str) -> None:
    """Also one that leaves the loop in the middle of a call."""
    length = f"300.{os.getpid()}{end.count('s')}{len(end)}"
    subprocess.run([sys.executable, "-c", HOST.format(end=end), length], stderr=subprocess.DEVNULL)
    listed = subprocess.run(["ps", "-A", "-o", "args"], capture_output=True, text=True).stdout
    assert f"sleep {length}" not in listed
