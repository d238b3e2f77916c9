"""Everything that descends from one started process: found again, counted and ended."""

from __future__ import annotations

import asyncio
import math
import os
import signal
import time
from collections.abc import Iterable

from attrs import define, field

from toolcrib.processes import table
from toolcrib.processes.table import Process, ProcessTable

TERM_SECONDS = 1.0
"""How long processes may take to react to SIGTERM before they get SIGKILL, by default."""
KILL_SECONDS = 1.0
_EXITING_SECONDS = 0.01
_ONE_ROUND_SECONDS = 0.25
"""In so short a time, process ids do not go once round all possible numbers."""
_ROUND = 1 << 22
"""More than any process id."""
_FEW = 1 << 10
NOBODY = -2
"""In place of the leader of a tree that has none any more; -1 is the group of what just ends."""


@define
class ProcessTree:
    """A process that leads its own session, and all its descendants.

    On Linux they are found in /proc by session, group, parent and the marker in their
    environment, whatever sessions they made for themselves. Elsewhere only the process group is
    known, and counts as one process.

    Attributes:
        root: process id of the leader, which must not have been waited for yet.
        token: the value of the environment variable `table.MARKER` in it.
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
        leader = table.look_at_one(self.root) if table.HAS_PROC else None
        self._earliest = leader.started if leader else 0

    def alive(self, since: float = math.inf) -> dict[int, str]:
        """The processes that still run, with their names.

        `since` says how old a look at them may be that others have taken: from which moment of
        the monotonic clock on. By default, it has to be one of its own.
        """
        if not table.HAS_PROC:
            known = self.root != NOBODY and _send(-self.root, 0)
            return {self.root: "process group"} if known else {}
        everyone = self._look(since)
        owned = self._owned(everyone)
        found = [everyone.processes[pid] for pid in everyone.with_descendants(owned)]
        self._seen.update((process.pid, process) for process in found)
        self._reap(found)
        return {process.pid: process.name for process in found if process.runs}

    async def end(self, grace_s: float = TERM_SECONDS) -> tuple[dict[int, str], dict[int, str]]:
        """Stop all of it: SIGTERM, `grace_s` seconds of patience, SIGKILL.

        Gives the processes that ran at the start, and those that could not be stopped. When this
        is cancelled, whatever is left gets SIGKILL at once.
        """
        try:
            if not await self._alive_after(0):
                return {}, {}
            first = left = await self._alive_after(_EXITING_SECONDS)
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
            alive = await self._alive_after(pause)
            pause = min(pause * 2, 0.05)
        return alive

    async def _alive_after(self, pause: float) -> dict[int, str]:
        """What runs after a pause; trees that are ended together look at the processes once."""
        due = time.monotonic() + pause
        await asyncio.sleep(pause)
        return self.alive(due)

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

    def _look(self, since: float) -> ProcessTable:
        """As few processes as possible that may belong to it, for most commands leave nothing."""
        newest = table.newest_pid()
        if newest and time.monotonic() - self._started_at < _ONE_ROUND_SECONDS:
            if newest == self.root:
                return table.look_at((self.root,))
            # Counted from the leader on, as the numbers start again after the highest one.
            span = (newest - self.root) % _ROUND
            if span < _FEW:
                near = (pid for pid in table.every_pid() if (pid - self.root) % _ROUND <= span)
                return table.look_at(near)
        return table.look_at_all(since)

    def _owned(self, everyone: ProcessTable) -> set[int]:
        """What belongs to it by itself; what descends from that does as well."""
        seen = {
            pid
            for pid, known in self._seen.items()
            if (process := everyone.processes.get(pid)) and process.started == known.started
        }
        found = everyone.members(self.root) | everyone.marked(self.token) | seen
        return {pid for pid in found if everyone.processes[pid].started >= self._earliest}

    def _reap(self, found: Iterable[Process]) -> None:
        """Bury the orphans that this process inherits where it is the first, as in a container."""
        for process in found:
            if process.state == "Z" and process.parent == os.getpid() and process.pid != self.root:
                try:
                    os.waitpid(process.pid, os.WNOHANG)
                except ChildProcessError:
                    continue


def _send(target: int, number: int) -> bool:
    """Signal a process, or a group given as a negative number; tell whether it was there."""
    try:
        os.kill(target, number)
    except (ProcessLookupError, PermissionError):
        return False
    return True
