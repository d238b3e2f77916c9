"""Processes that try to get away, or that do not want to end."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

import pytest

DAEMON = """
import os, signal, sys, time
signal.signal(signal.SIGTERM, {on_term})
signal.signal(signal.SIGHUP, signal.SIG_IGN)
for _ in range(2):
    if os.fork():
        os._exit(0)
    os.setsid()
open(sys.argv[1], "w").write(str(os.getpid()))
if {closes}:
    os.closerange(0, 3)
time.sleep(300)
"""


@pytest.fixture
def daemon(tmp_path: Path) -> Any:
    """A command that starts a daemon; it forks twice, and makes a session of its own each time."""

    def command(number: int = 0, *, on_term: str = "SIG_DFL", closes: bool = False) -> str:
        script = tmp_path / f"daemon{number}.py"
        script.write_text(DAEMON.format(on_term=f"signal.{on_term}", closes=closes))
        return f"{sys.executable} {script} {tmp_path}/pid{number}"

    return command


async def wait_for(*files: Path) -> None:
    async with asyncio.timeout(60):
        while not all(file.exists() and file.read_text() for file in files):
            await asyncio.sleep(0.01)


@pytest.mark.parametrize("on_term", ["SIG_DFL", "SIG_IGN"])
@pytest.mark.parametrize("closes", [False, True])
async def test_daemons_end_with_a_task_that_is_stopped(
    chaos: Any, daemon: Any, tmp_path: Path, on_term: str, closes: bool
) -> None:
    host = chaos.open()
    task_id = await host.bash(f"{daemon(on_term=on_term, closes=closes)}; echo up; sleep 300")
    await host.written(task_id, "up")
    await wait_for(tmp_path / "pid0")
    info = await host.tasks.stop(task_id, "enough")
    assert (info.status, info.stop_reason) == ("killed", "enough")
    await chaos.all_gone()


@pytest.mark.parametrize("closes", [False, True])
async def test_daemons_end_with_a_task_that_ends(
    chaos: Any, daemon: Any, tmp_path: Path, closes: bool
) -> None:
    host = chaos.open()
    waits = f"while [ ! -s {tmp_path}/pid0 ]; do sleep 0.01; done"
    task_id = await host.bash(f"{daemon(closes=closes)}; {waits}; echo done; exit 4")
    (info,) = await host.ended(task_id)
    assert (info.status, info.details["exit_code"]) == ("failed", 4)
    assert host.output(task_id).text == "done\n"
    await chaos.all_gone()


async def test_a_command_that_ignores_the_polite_signal_is_killed(chaos: Any) -> None:
    """With children that do the same, in sessions of their own."""
    host = chaos.open()
    task_id = await host.bash(
        "trap '' TERM INT HUP; setsid sleep 300 & (sleep 300 & sleep 300) & echo up; "
        "while :; do sleep 0.05; done"
    )
    await host.written(task_id, "up")
    info = await host.tasks.stop(task_id)
    assert info.status == "killed"
    assert info.details.get("signal") == "SIGKILL"
    await chaos.all_gone()


async def test_time_limits_reach_them_too(chaos: Any, daemon: Any, tmp_path: Path) -> None:
    host = chaos.open()
    task_id = await host.bash(
        f"trap '' TERM; {daemon(on_term='SIG_IGN')}; echo up; while :; do sleep 1; done", timeout=1
    )
    await wait_for(tmp_path / "pid0")
    (info,) = await host.ended(task_id)
    assert info.status == "timed_out"
    await chaos.all_gone()


async def test_a_command_that_forks_without_end_while_it_is_stopped(chaos: Any) -> None:
    """Each child starts its successor and ends, so that there is always one that is new."""
    host = chaos.open()
    script = chaos.workspace / "relay.sh"
    script.write_text('sleep 0.01\nexec setsid -f sh "$0"\n')
    task_id = await host.bash(f"setsid -f sh {script}; echo up; sleep 300")
    await host.written(task_id, "up")
    await asyncio.sleep(0.2)
    await host.tasks.stop(task_id)
    await chaos.all_gone()


async def test_a_task_that_stops_itself_with_a_signal(chaos: Any) -> None:
    host = chaos.open()
    ids = await host.bash_many([f"kill -{name} $$" for name in ("KILL", "TERM", "SEGV")])
    infos = await host.ended(*ids)
    assert [(i.status, i.details["signal"]) for i in infos] == [
        ("failed", "SIGKILL"),
        ("failed", "SIGTERM"),
        ("failed", "SIGSEGV"),
    ]


async def test_a_stopped_process_is_woken_to_be_ended(chaos: Any) -> None:
    host = chaos.open()
    task_id = await host.bash("echo up; kill -STOP $$; sleep 300")
    await host.written(task_id, "up")
    assert (await host.tasks.stop(task_id)).status == "killed"


async def test_a_session_that_is_closed_in_the_middle_of_a_stop(chaos: Any) -> None:
    host = chaos.open(kill_grace_period_s=20)
    task_id = await host.bash("trap '' TERM; echo up; while :; do sleep 0.05; done")
    await host.written(task_id, "up")
    stopping = asyncio.ensure_future(host.tasks.stop(task_id, "enough"))
    await asyncio.sleep(0.1)
    stopping.cancel()
    closing = asyncio.ensure_future(host.harness.aclose())
    await asyncio.sleep(0.1)
    closing.cancel()
    await asyncio.gather(stopping, closing, return_exceptions=True)
    await host.harness.aclose()
    await chaos.all_gone()
