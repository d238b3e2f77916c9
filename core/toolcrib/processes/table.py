"""The processes of the system at one moment, as Linux tells of them in /proc."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterable, Iterator, Mapping

from attrs import define, field, frozen

from toolcrib.processes.identity import has_own_proc

MARKER = "TOOLCRIB_CALL"
"""The environment variable by which descendants are known that left the process group."""
HAS_PROC = sys.platform == "linux" and has_own_proc()


@frozen
class Process:
    pid: int
    name: str
    state: str
    parent: int
    group: int
    session: int
    started: int
    """Clock ticks since the machine started."""

    @property
    def runs(self) -> bool:
        """Whether it does more than wait for somebody to take note of its end."""
        return self.state not in "ZX"


@define
class ProcessTable:
    """Processes by their ids, all of them or some, and never the one that looks.

    `taken_at` is when the look at them began, in seconds of the monotonic clock.
    """

    processes: Mapping[int, Process]
    taken_at: float
    _children: dict[int, set[int]] = field(factory=dict, init=False, repr=False)
    _members: dict[int, set[int]] = field(factory=dict, init=False, repr=False)
    _tokens: dict[int, bytes | None] = field(factory=dict, init=False, repr=False)

    def __attrs_post_init__(self) -> None:
        for pid, process in self.processes.items():
            self._children.setdefault(process.parent, set()).add(pid)
            for leader in {process.group, process.session}:
                self._members.setdefault(leader, set()).add(pid)

    def token(self, pid: int) -> bytes | None:
        """The value of the marker in the environment of a process; None without one."""
        if pid not in self._tokens:
            self._tokens[pid] = read_token(pid)
        return self._tokens[pid]

    def children(self, pid: int) -> set[int]:
        return self._children.get(pid, set())

    def members(self, leader: int) -> set[int]:
        """Those in the group or the session that a process leads."""
        return self._members.get(leader, set())

    def marked(self, token: str) -> set[int]:
        """Those that have the marker in their environment."""
        wanted = token.encode()
        return {pid for pid in self.processes if self.token(pid) == wanted}

    def with_descendants(self, pids: Iterable[int]) -> set[int]:
        found = fresh = set(pids)
        while fresh:
            fresh = {child for pid in fresh for child in self.children(pid)} - found
            found = found | fresh
        return found


def look_at(pids: Iterable[int]) -> ProcessTable:
    """Those of the processes with these ids that there are."""
    taken_at = time.monotonic()
    looked_at = map(look_at_one, pids)
    processes = {process.pid: process for process in looked_at if process is not None}
    processes.pop(os.getpid(), None)
    return ProcessTable(processes, taken_at)


_latest: ProcessTable | None = None


def look_at_all(since: float) -> ProcessTable:
    """All processes as they were at some moment from `since` on; many who ask share one look."""
    global _latest
    if _latest is None or _latest.taken_at < since:
        _latest = look_at(every_pid())
    return _latest


def look_at_one(pid: int) -> Process | None:
    # The name is in parentheses, and may hold any of them itself.
    head, _, rest = _read(pid, "stat").rpartition(b") ")
    values = rest.split()
    if len(values) < 20:
        return None
    name = head.partition(b"(")[2].decode("utf-8", "replace")
    state = values[0].decode("ascii")
    parent, group, session = map(int, values[1:4])
    return Process(pid, name, state, parent, group, session, int(values[19]))


def read_token(pid: int) -> bytes | None:
    """The value of the marker in the environment of a process; None without one."""
    start = f"{MARKER}=".encode()
    for entry in _read(pid, "environ").split(b"\0"):
        if entry.startswith(start):
            return entry[len(start) :]
    return None


def newest_pid() -> int:
    """The process id that was given out last, or 0 where the system does not tell."""
    try:
        return int(_read("loadavg").rsplit(b" ", 1)[1])
    except (IndexError, ValueError):
        return 0


def every_pid() -> Iterator[int]:
    return (int(entry) for entry in os.listdir("/proc") if entry.isdigit())


def _read(*parts: object) -> bytes:
    """A file below /proc; empty when it cannot be read, since processes come and go."""
    data = b""
    try:
        descriptor = os.open("/".join(("/proc", *map(str, parts))), os.O_RDONLY)
    except OSError:
        return data
    try:
        while piece := os.read(descriptor, 1 << 17):
            data += piece
    except OSError:
        return data
    finally:
        os.close(descriptor)
    return data
