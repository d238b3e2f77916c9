"""The descendants of a process, also when all that is known of them is their marker."""

from __future__ import annotations

import os
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from toolcrib import Launch, ProcessTree, process_started, start_process
from toolcrib.processes.table import MARKER

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")

DAEMON = """
import os, signal, sys, time
{before}
for _ in range(2):
    if os.fork():
        os._exit(0)
    os.setsid()
with open(sys.argv[1] + ".part", "w") as file:
    file.write(str(os.getpid()))
os.rename(sys.argv[1] + ".part", sys.argv[1])
time.sleep(300)
"""
IGNORING = "signal.signal(signal.SIGTERM, signal.SIG_IGN)"


@pytest.fixture
def started() -> Iterator[list[int]]:
    """Process ids to kill after the test, should they still run."""
    pids: list[int] = []
    yield pids
    for pid in pids:
        try:
            os.kill(pid, 9)
        except ProcessLookupError:
            continue


@pytest.fixture
def daemon(tmp_path: Path, started: list[int]) -> Callable[..., int]:
    """Starts a daemon that forked twice, each time into a session of its own."""

    def start(token: str, before: str = "") -> int:
        file = tmp_path / f"pid{len(started)}"
        subprocess.run(
            [sys.executable, "-c", DAEMON.format(before=before), file],
            env={**os.environ, MARKER: token},
            check=True,
        )
        pid = int(wait_for_text(file))
        started.append(pid)
        return pid

    return start


def wait_for_text(file: Path) -> str:
    deadline = time.monotonic() + 20
    while not file.exists():
        assert time.monotonic() < deadline
        time.sleep(0.01)
    return file.read_text()


@pytest.fixture
def token() -> str:
    """A marker that no other test has, which may run at the same time."""
    return uuid.uuid4().hex


async def test_a_marker_alone_finds_daemons_and_ends_them(
    daemon: Callable[..., int], token: str
) -> None:
    mine, other = daemon(token), daemon(f"{token}-other")
    tree = ProcessTree.marked(token)
    assert list(tree.alive()) == [mine]
    stopped, survivors = await tree.end(5)
    assert (list(stopped), survivors) == ([mine], {})
    assert process_started(mine) is None
    assert process_started(other) is not None
    assert tree.alive() == {}


async def test_one_that_ignores_the_polite_signal_is_killed(
    daemon: Callable[..., int], token: str
) -> None:
    pid = daemon(token, IGNORING)
    stopped, survivors = await ProcessTree.marked(token).end(0.05)
    assert (list(stopped), survivors) == ([pid], {})
    assert process_started(pid) is None


def test_killing_does_not_wait(daemon: Callable[..., int], token: str) -> None:
    pid = daemon(token, IGNORING)
    ProcessTree.marked(token).kill()
    deadline = time.monotonic() + 10
    while process_started(pid) is not None:
        assert time.monotonic() < deadline
        time.sleep(0.01)


async def test_a_marker_that_nobody_has_finds_nothing(
    daemon: Callable[..., int], token: str
) -> None:
    """Nor one that is the beginning of another, or empty."""
    pid = daemon(f"{token}-and-more")
    for other in (token, "", f"{token[2:]}-and-more", f"{token}-AND-MORE"):
        tree = ProcessTree.marked(other)
        assert tree.alive() == {}
        assert await tree.end() == ({}, {})
        tree.kill()
    assert process_started(pid) is not None


async def test_a_process_never_ends_itself(token: str) -> None:
    """Not even when its marker is its own, as that of a host which runs inside a call."""
    code = (
        "import os; from toolcrib import ProcessTree; "
        f"tree = ProcessTree.marked(os.environ['{MARKER}']); "
        "print(tree.alive()); tree.kill()"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, MARKER: token},
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stdout.strip()) == (0, "{}")


async def test_the_marker_of_a_running_process_finds_what_left_it(
    tmp_path: Path, started: list[int]
) -> None:
    """As another program does that finds the marker written down."""
    file = tmp_path / "pid"
    script = DAEMON.format(before="")
    process = start_process(
        Launch((sys.executable, "-c", script, str(file)), "/", os.environ), on_output=print
    )
    pid = int(wait_for_text(file))
    started.append(pid)
    await process.wait()
    process.leave()
    assert list(ProcessTree.marked(process.token).alive()) == [pid]
    stopped, survivors = await ProcessTree.marked(process.token).end(5)
    assert (list(stopped), survivors) == ([pid], {})
