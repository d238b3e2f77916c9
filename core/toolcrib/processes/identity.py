"""Tells processes apart over time: by their number, and by when they started."""

from __future__ import annotations

import contextlib
import os
import platform
import subprocess
import sys
import time
from functools import cache
from pathlib import Path

_START_FIELD = 19
"""The time of the start in `/proc/PID/stat`, counted behind the name of the program."""
_ENDED = "ZX"
"""The states of a process that waits only for somebody to take note of its end."""


@cache
def this_host() -> str:
    """Within it process numbers mean something: the machine, or the container."""
    space = ""
    with contextlib.suppress(OSError):
        space = os.readlink("/proc/self/ns/pid")
    return f"{platform.node()} {space}".strip()


@cache
def has_own_proc() -> bool:
    """Whether /proc tells of processes by the numbers that they have here.

    It can be missing, or still be that of another container.
    """
    try:
        return os.readlink("/proc/self") == str(os.getpid())
    except OSError:
        return False


def process_started(pid: int) -> str | None:
    """When a process started, as a text to compare; None when none of that id runs.

    One that has ended and that nobody has waited for does not run. Empty when one runs and the
    system does not tell since when.
    """
    if sys.platform != "linux":
        return _started_by_ps(pid)
    ticks = _start_ticks(pid) if has_own_proc() else None
    if ticks is not None:
        return f"{_boot()}:{ticks}"
    return "" if _runs_unseen(pid) else None


def process_age_s(pid: int) -> float | None:
    """For how many seconds a process has run, by a clock that nobody sets.

    None when none of that id runs, and where the system does not tell.
    """
    ticks = _start_ticks(pid) if has_own_proc() else None
    if ticks is None:
        return None
    return max(0.0, time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK"))


def _start_ticks(pid: int) -> int | None:
    """When a process that runs was started, in clock ticks since the machine was."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text("utf-8", "replace")
    except (OSError, ProcessLookupError):
        return None
    # The name is in parentheses, and may hold any of them itself.
    fields = stat.rpartition(")")[2].split()
    return None if fields[0] in _ENDED else int(fields[_START_FIELD])


@cache
def _boot() -> str:
    with contextlib.suppress(OSError):
        return Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()
    return ""


def _runs_unseen(pid: int) -> bool:
    """Whether one runs of which /proc does not tell: if there is none, or it hides other users'."""
    try:
        os.kill(pid, 0)
    except PermissionError:
        return True
    except (ProcessLookupError, OverflowError):
        return False
    return not has_own_proc()


def _started_by_ps(pid: int) -> str | None:
    done = subprocess.run(
        ["ps", "-o", "stat=,lstart=", "-p", str(pid)], capture_output=True, text=True, check=False
    )
    state, _, started = done.stdout.strip().partition(" ")
    return None if state.startswith("Z") else started.strip() or None
