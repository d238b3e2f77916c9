"""Everything that descends from this process, what became an orphan on the way included.

For programs that are toolcrib through and through: a host that embeds it has children of its own.
"""

from __future__ import annotations

import math
import os
import sys
import time
from collections.abc import Iterable

from attrs import define, field

from toolcrib.processes import table
from toolcrib.processes.running import leaders
from toolcrib.processes.table import Process, ProcessTable
from toolcrib.processes.tree import NOBODY, ProcessTree

_SET_CHILD_SUBREAPER = 36
"""Of prctl(2)."""


def adopt_orphans() -> bool:
    """Become the parent of every descendant whose own parent ends; Linux only.

    Then a daemon that forked twice, made a session of its own and emptied its environment is
    found all the same. Does nothing, and gives False, where that cannot be had, and where this
    process has children already: those that a shell started before it became this program are
    not ours, and what they start would look as if it were.
    """
    if sys.platform != "linux" or _has_children():
        return False
    import ctypes

    return bool(ctypes.CDLL(None).prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0)


def with_followers(leaders: Iterable[int]) -> frozenset[int]:
    """Processes that lead a session, and what belongs to their trees, by process id."""
    found = set(leaders)
    if found:
        everyone = table.look_at_all(time.monotonic())
        for leader in tuple(found):
            token = table.read_token(leader)
            marked = set() if token is None else everyone.marked(token.decode("utf-8", "replace"))
            found |= everyone.members(leader) | marked
        found = everyone.with_descendants(found)
    return frozenset(found)


@define
class Descendants(ProcessTree):
    """What descends from this process, but for the children in `spared` and their descendants."""

    root: int = field(default=NOBODY, init=False)
    token: str = field(default="", init=False)
    spared: frozenset[int] = frozenset()

    def __attrs_post_init__(self) -> None:
        super().__attrs_post_init__()
        self._started_at = -math.inf

    def alive(self, since: float = math.inf) -> dict[int, str]:
        # All orphans are children now; without any, there is nothing to look for.
        return super().alive(since) if _has_children() else {}

    def _owned(self, everyone: ProcessTable) -> set[int]:
        return everyone.children(os.getpid()) - self.spared

    def _reap(self, found: Iterable[Process]) -> None:
        # Whoever started a program waits for it, and would not learn how it ended.
        started = leaders()
        super()._reap(process for process in found if process.pid not in started)


def _has_children() -> bool:
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return False
    return True
