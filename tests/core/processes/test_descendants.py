"""Everything that descends from a program, orphans included, found and ended."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import psutil
import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")

HEAD = """
import asyncio, os, subprocess, sys, time
from toolcrib.processes.descendants import Descendants, adopt_orphans, with_followers

DAEMON = "env -i setsid bash -c '(setsid sleep 60 & echo $! >> pids) &'"

def daemon():
    before = len(pids())
    subprocess.run(["bash", "-c", DAEMON], check=True)
    while len(pids()) == before:
        time.sleep(0.01)
    return pids()[-1]

def pids():
    if not os.path.exists("pids"):
        return []
    return [int(line) for line in open("pids").read().split()]
"""


def program(folder: Path, code: str) -> str:
    """Run a program that uses the module; gives what it prints."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", HEAD + code],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def gone(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def test_a_daemon_that_left_no_trace_is_found_and_ended(tmp_path: Path) -> None:
    code = """
assert adopt_orphans()
pid = daemon()
assert pid in Descendants().alive()
ended, survivors = asyncio.run(Descendants().end())
assert pid in ended and not survivors
try:
    os.waitpid(-1, os.WNOHANG)
except ChildProcessError:
    print("no child is left, dead or alive")
"""
    assert "no child is left" in program(tmp_path, code)
    assert gone(int((tmp_path / "pids").read_text()))


def test_those_that_are_spared_live_on_with_what_they_started(tmp_path: Path) -> None:
    code = """
assert adopt_orphans()
kept = subprocess.Popen(["bash", "-c", "sleep 60 & wait"], start_new_session=True)
daemon()
while len(with_followers([kept.pid])) < 2:
    time.sleep(0.01)
spared = with_followers([kept.pid])
Descendants(spared).kill()
time.sleep(0.1)
print(*sorted(spared & Descendants().alive().keys()))
Descendants().kill()
"""
    assert len(program(tmp_path, code).split()) == 2
    assert gone(int((tmp_path / "pids").read_text()))


def test_a_program_with_children_of_its_own_adopts_nobody(tmp_path: Path) -> None:
    code = """
child = subprocess.Popen(["sleep", "60"])
print(adopt_orphans())
child.kill()
child.wait()
"""
    assert program(tmp_path, code) == "False\n"
