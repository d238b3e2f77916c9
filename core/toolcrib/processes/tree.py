"""Everything that descends from one started process: found again, counted and ended."""

from __future__ import annotations

import asyncio
import math
import os
import signal
import sys
import time
from collections.abc import Iterable, Iterator

from attrs import define, field, frozen

MARKER = "TOOLCRIB_CALL"
"""The environment variable by which descendants are known that left the process group."""
TERM_SECONDS = 1.0
"""How long processes may take to react to SIGTERM before they get SIGKILL, by default."""
KILL_SECONDS = 1.0
_EXITING_SECONDS = 0.01
_ONE_ROUND_SECONDS = 0.25
"""In so short a time, process ids do not go once round all possible numbers."""
_ROUND = 1 << 22
"""More than any process id."""
NOBODY = -2
"""In place of the leader of a tree that has none any more; -1 is the group of what just ends."""
_HAS_PROC = sys.platform == "linux" and os.path.exists("/proc/self/environ")


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


@define
class ProcessTree:
    """A process that leads its own session, and all its descendants.

    On Linux they are found in /proc by session, group, parent and the marker in their
    environment, whatever sessions they made for themselves. Elsewhere only the process group is
    known, and counts as one process.

    Attributes:
        root: process id of the leader, which must not have been waited for yet.
        token: the value of the environment variable `MARKER` in it.
    """

    root: int
    token: str
    _earliest: int = field(init=False, repr=False)
    _started_at: float = field(factory=time.monotonic, init=False, repr=False)
    _seen: dict[int, Process] = field(factory=dict, init=False, repr=False)

    @classmethod
    def marked(cls, token: str) -> ProcessTree:
        """What is left of a tree that another process started, known by its marker alone.

        Outside Linux nothing can be found so.
        """
        tree = cls(NOBODY, token)
        tree._started_at = -math.inf
        return tree

    def __attrs_post_init__(self) -> None:
        leader = _process(self.root) if _HAS_PROC else None
        self._earliest = leader.started if leader else 0

    def alive(self) -> dict[int, str]:
        """The processes that still run, with their names."""
        if not _HAS_PROC:
            known = self.root != NOBODY and _send(-self.root, 0)
            return {self.root: "process group"} if known else {}
        found = self._find(self._candidates())
        self._seen.update((process.pid, process) for process in found)
        self._reap(found)
        return {process.pid: process.name for process in found if process.state not in "ZX"}

    async def end(self, grace_s: float = TERM_SECONDS) -> tuple[dict[int, str], dict[int, str]]:
        """Stop all of it: SIGTERM, `grace_s` seconds of patience, SIGKILL.

        Gives the processes that ran at the start, and those that could not be stopped. When this
        is cancelled, whatever is left gets SIGKILL at once.
        """
        if not self.alive():
            return {}, {}
        try:
            await asyncio.sleep(_EXITING_SECONDS)  # some may just be on their way out
            first = left = self.alive()
            left = await self._signal_until_gone(signal.SIGTERM, grace_s, left)
            left = await self._signal_until_gone(signal.SIGKILL, KILL_SECONDS, left)
        except BaseException:
            self.kill()
            raise
        return first, left

    def kill(self) -> None:
        """Send SIGKILL to all of it, without waiting; for ways out that cannot wait."""
        for _ in range(10):
            alive = self.alive()
            if not alive:
                return
            self._send_all(alive, signal.SIGKILL)

    async def _signal_until_gone(
        self, number: signal.Signals, patience: float, alive: dict[int, str]
    ) -> dict[int, str]:
        deadline = time.monotonic() + patience
        told: set[int] = set()
        pause = 0.001
        while alive and time.monotonic() < deadline:
            self._send_all(alive.keys() - told, number)
            told |= alive.keys()
            await asyncio.sleep(pause)
            pause = min(pause * 2, 0.05)
            alive = self.alive()
        return alive

    def _send_all(self, pids: Iterable[int], number: signal.Signals) -> None:
        for target in {self._target(pid) for pid in pids}:
            _send(target, number)
            if number == signal.SIGTERM:
                _send(target, signal.SIGCONT)

    def _target(self, pid: int) -> int:
        """Whom to signal: a whole group at once, so that no member slips away by forking."""
        known = self._seen.get(pid)
        group = known.group if known else pid
        return -group if group == self.root or group in self._seen else pid

    def _candidates(self) -> Iterable[int]:
        """The process ids to look at: as few as possible, for most commands leave nothing."""
        newest = _newest_pid()
        if newest and time.monotonic() - self._started_at < _ONE_ROUND_SECONDS:
            if newest == self.root:
                return (self.root,)
            # Counted from the leader on, as the numbers start again after the highest one.
            span = (newest - self.root) % _ROUND
            return (pid for pid in _pids() if (pid - self.root) % _ROUND <= span)
        return _pids()

    def _find(self, candidates: Iterable[int]) -> list[Process]:
        looked_at = map(_process, candidates)
        everyone = {process.pid: process for process in looked_at if process is not None}
        everyone.pop(os.getpid(), None)
        found = fresh = {pid for pid, process in everyone.items() if self._owns(process)}
        while fresh:
            fresh = {p.pid for p in everyone.values() if p.parent in fresh} - found
            found = found | fresh
        return [everyone[pid] for pid in found]

    def _owns(self, process: Process) -> bool:
        if process.started < self._earliest:
            return False
        if process.group == self.root or process.session == self.root:
            return True
        known = self._seen.get(process.pid)
        if known is not None and known.started == process.started:
            return True
        return f"{MARKER}={self.token}".encode() in _read(process.pid, "environ").split(b"\0")

    def _reap(self, found: Iterable[Process]) -> None:
        """Bury the orphans that this process inherits where it is the first, as in a container."""
        for process in found:
            if process.state == "Z" and process.parent == os.getpid() and process.pid != self.root:
                try:
                    os.waitpid(process.pid, os.WNOHANG)
                except ChildProcessError:
                    continue


def _newest_pid() -> int:
    """The process id that was given out last, or 0 where the system does not tell."""
    try:
        return int(_read("loadavg").rsplit(b" ", 1)[1])
    except (IndexError, ValueError):
        return 0


def _pids() -> Iterator[int]:
    return (int(entry) for entry in os.listdir("/proc") if entry.isdigit())


def _process(pid: int) -> Process | None:
    # The name is in parentheses, and may hold any of them itself.
    head, _, rest = _read(pid, "stat").rpartition(b") ")
    values = rest.split()
    if len(values) < 20:
        return None
    name = head.partition(b"(")[2].decode("utf-8", "replace")
    state = values[0].decode("ascii")
    parent, group, session = map(int, values[1:4])
    return Process(pid, name, state, parent, group, session, int(values[19]))


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


def _send(target: int, number: int) -> bool:
    """Signal a process, or a group given as a negative number; tell whether it was there."""
    try:
        os.kill(target, number)
    except (ProcessLookupError, PermissionError):
        return False
    return True
