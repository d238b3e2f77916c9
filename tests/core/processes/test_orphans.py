"""What calls of a program that was killed have left running, and who must not be taken for it."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from toolcrib import Launch, end_orphans, process_started, start_process
from toolcrib.processes import orphans
from toolcrib.processes.orphans import owned_token
from toolcrib.processes.table import MARKER

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")

HOST = """
import asyncio, os, sys
from toolcrib import Launch, start_process
from toolcrib.processes import orphans

orphans._SPACE = sys.argv[2]

async def main():
    script = "setsid sleep 300 & echo $! > pid.part; mv pid.part pid; sleep 300"
    start_process(Launch(("/bin/sh", "-c", script), sys.argv[1], os.environ), on_output=print)
    await asyncio.sleep(300)

asyncio.run(main())
"""


def written_pid(file: Path) -> int:
    deadline = time.monotonic() + 20
    while not file.exists():
        assert time.monotonic() < deadline
        time.sleep(0.01)
    return int(file.read_text())


def assert_gone(pid: int) -> None:
    deadline = time.monotonic() + 10
    while process_started(pid) is not None:
        assert time.monotonic() < deadline
        time.sleep(0.01)


@pytest.fixture(autouse=True)
def space(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A space for the processes of the test alone: other tests end orphans at the same time."""
    link = tmp_path / "space"
    link.symlink_to(f"pid:[{uuid.uuid4()}]")
    monkeypatch.setattr(orphans, "_SPACE", str(link))
    return link


@pytest.fixture
def host(tmp_path: Path, space: Path) -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen([sys.executable, "-c", HOST, tmp_path, space]) as process:
        yield process
        process.kill()
    end_orphans()


@pytest.fixture
def marked() -> Iterator[Callable[[str], int]]:
    """Starts a process with a marker of the test's choice."""
    started: list[subprocess.Popen[bytes]] = []

    def start(token: str) -> int:
        process = subprocess.Popen(["sleep", "300"], env={**os.environ, MARKER: token})
        started.append(process)
        return process.pid

    yield start
    for process in started:
        process.kill()
        process.wait()


@pytest.fixture
def ending(space: Path) -> str:
    """A command by which another program ends the orphans of the same space."""
    code = f'import toolcrib; from toolcrib.processes import orphans; orphans._SPACE = "{space}"'
    return f"{sys.executable} -c '{code}; toolcrib.end_orphans()'"


def test_they_are_ended_once_their_program_was_killed(
    host: subprocess.Popen[bytes], tmp_path: Path
) -> None:
    pid = written_pid(tmp_path / "pid")
    end_orphans()
    assert process_started(pid) is not None
    host.kill()
    host.wait()
    assert process_started(pid) is not None
    end_orphans()
    assert_gone(pid)


async def test_what_this_process_has_started_is_none(tmp_path: Path) -> None:
    process = start_process(
        Launch(("sleep", "300"), str(tmp_path), os.environ), on_output=lambda data: None
    )
    end_orphans()
    await asyncio.sleep(0.05)
    assert process_started(process.pid) is not None
    await process.stop()


def test_a_number_that_somebody_else_got_is_not_the_program(
    marked: Callable[[str], int],
) -> None:
    space, pid, started, unique = owned_token().split("/")
    theirs = marked(f"{space}/{pid}/{int(started) + 1}/{unique}")
    end_orphans()
    assert_gone(theirs)


@pytest.mark.parametrize(
    "change",
    [
        lambda space, pid, started, unique: f"pid:[1]/999999999/{started}/{unique}",
        lambda space, pid, started, unique: f"{space}/none/{started}/{unique}",
        lambda space, pid, started, unique: f"{space}/999999999",
        lambda space, pid, started, unique: f"{space}/999999999/{started}",
        lambda space, pid, started, unique: "bash-abcdefgh",
        lambda space, pid, started, unique: "",
        lambda space, pid, started, unique: "\udcff/\udcff/\udcff/\udcff",
    ],
    ids=["another container", "no number", "short", "no end", "a task", "empty", "no text"],
)
def test_other_markers_are_let_be(marked: Callable[[str], int], change: Callable[..., str]) -> None:
    pid = marked(change(*owned_token().split("/")))
    end_orphans()
    time.sleep(0.05)
    assert process_started(pid) is not None


def test_a_program_does_not_end_what_it_descends_from(ending: str) -> None:
    """As one that is started by a call of a program that was killed just now."""
    space, _, started, unique = owned_token().split("/")
    script = f"{ending}; echo still here"
    done = subprocess.run(
        ["/bin/sh", "-c", script],
        env={**os.environ, MARKER: f"{space}/999999999/{started}/{unique}"},
        stdout=subprocess.PIPE,
    )
    assert done.stdout == b"still here\n"


def test_nor_what_it_descends_from_over_another_program_that_lives(ending: str) -> None:
    space, _, started, unique = owned_token().split("/")
    end = f"{ending}; echo still here"
    done = subprocess.run(
        ["/bin/sh", "-c", f'{MARKER}={owned_token()} /bin/sh -c "$0"; echo here too', end],
        env={**os.environ, MARKER: f"{space}/999999999/{started}/{unique}"},
        stdout=subprocess.PIPE,
    )
    assert done.stdout == b"still here\nhere too\n"


FORKING_HOST = """
import asyncio, os, sys
from toolcrib import Launch, process_started, start_process

async def main():
    launch = Launch(("sleep", "300"), sys.argv[1], os.environ)
    process = start_process(launch, on_output=print)
    child = os.fork()
    if child:
        os.waitpid(child, 0)
        await asyncio.sleep(0.05)
        print(process_started(process.pid) is not None)
        await process.stop()

try:
    asyncio.run(main())
except OSError:
    pass  # a fork has no event loop of its own
"""


def test_a_fork_that_ends_lets_the_processes_of_its_parent_be(tmp_path: Path) -> None:
    command = [sys.executable, "-c", FORKING_HOST, str(tmp_path)]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    assert done.stdout == b"True\n"
