"""What a process holds: memory, file descriptors, tasks, children."""

from __future__ import annotations

import asyncio
import os
import resource
import sys
from pathlib import Path

from attrs import frozen

MB = 1024 * 1024
_STATUS = Path("/proc/self/status")


@frozen(kw_only=True)
class Usage:
    """A snapshot; memory in MB."""

    memory: float
    descriptors: int
    tasks: int
    children: int


def usage() -> Usage:
    """What this process holds now. Needs a running event loop."""
    return Usage(
        memory=current_memory(),
        descriptors=len(os.listdir("/dev/fd")),
        tasks=len(asyncio.all_tasks()),
        children=_children(),
    )


def current_memory() -> float:
    """Resident memory in MB; where the system does not tell, the peak so far."""
    return _status("VmRSS") if _STATUS.exists() else peak_memory()


def peak_memory() -> float:
    """The highest resident memory in MB since the last `forget_peak`."""
    if _STATUS.exists():
        return _status("VmHWM")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / MB if sys.platform == "darwin" else peak / 1024


def forget_peak() -> None:
    """Start to measure the peak anew, where the system can do that."""
    try:
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    except OSError:
        return


def _status(key: str) -> float:
    for line in _STATUS.read_text(encoding="ascii").splitlines():
        if line.startswith(key):
            return int(line.split()[1]) / 1024
    return 0.0


def _children() -> int:
    task = Path(f"/proc/self/task/{os.getpid()}/children")
    return len(task.read_text(encoding="ascii").split()) if task.exists() else 0
