"""Bash: how fast a command starts, and what a flood of output costs."""

from __future__ import annotations

import asyncio
from contextlib import AbstractAsyncContextManager

import toolcrib
from benchmarks.lab import Lab
from benchmarks.record import Benchmark, Measured
from benchmarks.search import call
from benchmarks.timing import race
from benchmarks.usage import usage

KEPT_BYTES = 25_000


async def start_true(lab: Lab) -> Measured:
    count = lab.sizes.processes
    async with _session(lab) as session:

        async def floor() -> None:
            for _ in range(count):
                process = await _start("true")
                await process.communicate()

        async def ours() -> None:
            for _ in range(count):
                await call(session, "Bash", {"command": "true"})

        pair = await race(floor, ours, rounds=lab.sizes.rounds)
    scale = 1e3 / count
    return Measured(floor=pair.floor_s * scale, ours=pair.ours_s * scale, unit="ms")


async def start_sandboxed(lab: Lab) -> Measured:
    count = lab.sizes.processes
    async with _session(lab) as local, _session(lab, "sandbox") as sandbox:

        async def commands(session: toolcrib.Session) -> None:
            for _ in range(count):
                await call(session, "Bash", {"command": "true"})

        pair = await race(
            lambda: commands(local), lambda: commands(sandbox), rounds=lab.sizes.rounds
        )
    scale = 1e3 / count
    return Measured(floor=pair.floor_s * scale, ours=pair.ours_s * scale, unit="ms")


async def unbroken_output(lab: Lab) -> Measured:
    return await _flood(lab, unbroken(lab.sizes.output_mb))


async def lined_output(lab: Lab) -> Measured:
    return await _flood(lab, lines(lab.sizes.output_mb))


def unbroken(mb: int) -> str:
    """A command that prints so many millions of bytes without a newline."""
    return f"head -c {mb}000000 /dev/zero | tr '\\0' x"


def lines(mb: int) -> str:
    """A command that prints so many millions of bytes in lines of 80."""
    return f"yes {'x' * 79} | head -c {mb}000000"


def _session(lab: Lab, runtime: str = "local") -> AbstractAsyncContextManager[toolcrib.Session]:
    return toolcrib.open_session(
        lab.workspace, mode="yolo", environ=lab.environment, crib=lab.crib, runtime=runtime
    )


async def _start(command: str) -> asyncio.subprocess.Process:
    pipe, null = asyncio.subprocess.PIPE, asyncio.subprocess.DEVNULL
    return await asyncio.create_subprocess_exec(
        "/bin/bash", "-c", command, stdin=null, stdout=pipe, stderr=asyncio.subprocess.STDOUT
    )


async def bounded(command: str) -> None:
    """Read all output and keep its start and its end."""
    process = await _start(command)
    assert process.stdout is not None
    head, tail = bytearray(), bytearray()
    while chunk := await process.stdout.read(65_536):
        if len(head) < KEPT_BYTES:
            head += chunk[: KEPT_BYTES - len(head)]
        tail += chunk
        if len(tail) > 8 * KEPT_BYTES:
            del tail[:-KEPT_BYTES]
    await process.wait()


async def _flood(lab: Lab, command: str) -> Measured:
    async with _session(lab) as session:
        before = usage()
        pair = await race(
            lambda: bounded(command),
            lambda: call(session, "Bash", {"command": command}),
            rounds=max(3, lab.sizes.rounds // 2),
        )
        left = usage().children - before.children
    failed = f"{left} processes left running" if left else ""
    return Measured(floor=pair.floor_s * 1e3, ours=pair.ours_s * 1e3, unit="ms", failed=failed)


BENCHMARKS = [
    Benchmark(
        name="bash-true",
        what="Bash: `true`",
        floor="asyncio with bash -c true",
        measure=start_true,
        max_ratio=2.0,
        peers="kimi-cli 1.0x, openhands 13x to 80x",
    ),
    Benchmark(
        name="bash-sandbox",
        what="Bash: `true` in the runtime sandbox",
        floor="the same in the runtime local",
        measure=start_sandboxed,
    ),
    Benchmark(
        name="bash-unbroken",
        what="Bash: {s.output_mb} MB of output without a newline",
        floor="bounded reading with asyncio",
        measure=unbroken_output,
        max_ratio=1.5,
        peers="openhands 17x, kimi-cli fails and leaves the processes running",
    ),
    Benchmark(
        name="bash-lines",
        what="Bash: {s.output_mb} MB of lines",
        floor="bounded reading with asyncio",
        measure=lined_output,
        max_ratio=1.5,
        peers="kimi-cli 12x, openhands 26x",
    ),
]
