"""Times a floor and a contender in turns, so that whatever slows the machine slows both."""

from __future__ import annotations

import gc
import statistics
import subprocess
from collections.abc import Awaitable, Callable, Sequence
from time import perf_counter
from typing import Any

from attrs import frozen

Work = Callable[[], Awaitable[object]]


def run_process(command: Sequence[str], **options: Any) -> None:
    """Run a command to its end, its output read and dropped; raises when it fails."""
    subprocess.run(command, check=True, stdout=subprocess.PIPE, **options)


@frozen
class Pair:
    """Seconds of the floor and of the contender."""

    floor_s: float
    ours_s: float


async def race(floor: Work, ours: Work, *, rounds: int) -> Pair:
    """Run both `rounds` times in turns, after one run each to warm up."""
    await floor()
    await ours()
    floors, own = [], []
    for _ in range(rounds):
        floors.append(await clock(floor))
        own.append(await clock(ours))
    return Pair(typical(floors), typical(own))


async def clock(work: Work) -> float:
    """The seconds that work takes; the garbage of others is collected before."""
    gc.collect()
    started = perf_counter()
    await work()
    return perf_counter() - started


def typical(samples: Sequence[float]) -> float:
    """The median of the better half: what the work takes when nothing else interferes."""
    ordered = sorted(samples)
    return statistics.median(ordered[: (len(ordered) + 1) // 2])
