"""Read at the end and in the middle of a file of a gigabyte."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager, AsyncExitStack

import toolcrib
from benchmarks.lab import Lab
from benchmarks.record import Benchmark, Measured
from benchmarks.search import call
from benchmarks.timing import race, run_process
from benchmarks.usage import current_memory, forget_peak, peak_memory

LINES = 100


async def _race(lab: Lab, offset: int, first: int, command: list[str]) -> Measured:
    arguments = {"path": lab.big_file.name, "line_offset": offset, "n_lines": LINES}
    async with AsyncExitStack() as stack:
        # Each Read has a session of its own, which knows nothing of the file yet.
        sessions = [
            await stack.enter_async_context(_session(lab)) for _ in range(lab.sizes.rounds + 2)
        ]

        async def floor() -> None:
            run_process(command)

        async def ours() -> str:
            return await call(sessions.pop(), "Read", arguments)

        pair = await race(floor, ours, rounds=lab.sizes.rounds)
        before = current_memory()
        forget_peak()
        lines = (await ours()).splitlines()
        growth = max(0.0, peak_memory() - before)
    right = len(lines) == LINES and lines[0].split("\t")[1].startswith(f"{first:08} ")
    return Measured(
        floor=pair.floor_s * 1e3,
        ours=pair.ours_s * 1e3,
        unit="ms",
        note=f"peak memory +{growth:.1f} MB",
        failed="" if right else f"{len(lines)} lines came, the first is {lines[:1]}",
    )


def _session(lab: Lab) -> AbstractAsyncContextManager[toolcrib.Session]:
    return toolcrib.open_session(lab.folder, mode="yolo", environ=lab.environment, crib=lab.crib)


async def last_lines(lab: Lab) -> Measured:
    first = lab.sizes.file_lines - LINES + 1
    return await _race(lab, -LINES, first, ["tail", "-n", str(LINES), str(lab.big_file)])


async def middle_lines(lab: Lab) -> Measured:
    first = lab.sizes.file_lines // 2
    last = first + LINES - 1
    command = ["sed", "-n", f"{first},{last}p;{last}q", str(lab.big_file)]
    return await _race(lab, first, first, command)


BENCHMARKS = [
    Benchmark(
        name="read-last",
        what="Read: the last 100 lines of {s.file_mb:,} MB",
        floor="tail -n 100",
        measure=last_lines,
        max_value=5.0,
        peers="kimi-cli 103 s for 106 MB, openhands refuses over 10 MB",
    ),
    Benchmark(
        name="read-middle",
        what="Read: 100 lines in the middle of {s.file_mb:,} MB",
        floor="sed with q",
        measure=middle_lines,
        max_ratio=1.5,
        peers="kimi-cli 9.3 s for 10.6 MB",
    ),
]
