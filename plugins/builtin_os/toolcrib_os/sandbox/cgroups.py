"""Control groups of Linux, where this process may make one: a bound that no fork bomb outruns."""

from __future__ import annotations

import os
import secrets
from contextlib import suppress

_PREFIX = "toolcrib-"


def make_group(processes: int) -> str | None:
    """A group for at most so many processes and threads, or None where none can be made."""
    parent = _parent()
    if parent is None:
        return None
    _remove_abandoned(parent)
    group = os.path.join(parent, f"{_PREFIX}{os.getpid()}-{secrets.token_hex(4)}")
    try:
        os.mkdir(group)
        with open(os.path.join(group, "pids.max"), "w") as file:
            file.write(str(processes))
    except OSError:
        remove_group(group)
        return None
    return group


def remove_group(group: str) -> None:
    with suppress(OSError):
        os.rmdir(group)


def _parent() -> str | None:
    """The group of this process that counts processes, if groups can be made in it."""
    try:
        with open("/proc/self/cgroup") as file:
            lines = [line.rstrip("\n").split(":", 2) for line in file]
    except OSError:
        return None
    for _, controllers, path in lines:
        if controllers == "pids":
            folder = f"/sys/fs/cgroup/pids{path}".rstrip("/")
            return folder if os.access(folder, os.W_OK) else None
    for _, controllers, path in lines:
        folder = f"/sys/fs/cgroup{path}".rstrip("/")
        if not controllers and os.access(folder, os.W_OK):
            with suppress(OSError), open(f"{folder}/cgroup.subtree_control") as file:
                return folder if "pids" in file.read().split() else None
    return None


def _remove_abandoned(parent: str) -> None:
    """Remove what processes left behind that were killed."""
    with suppress(OSError):
        for name in os.listdir(parent):
            owner = name.removeprefix(_PREFIX).partition("-")[0]
            if name.startswith(_PREFIX) and owner.isdecimal() and not _runs(int(owner)):
                remove_group(os.path.join(parent, name))


def _runs(pid: int) -> bool:
    return os.path.exists(f"/proc/{pid}")
