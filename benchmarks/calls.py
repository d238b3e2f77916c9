"""Calls of a trivial tool: one, a rejected one, many at once, many with files."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import toolcrib
from benchmarks.echo import BAD, GOOD, echo_session
from benchmarks.floor import composed_floor
from benchmarks.lab import Lab
from benchmarks.record import Benchmark, Measured
from benchmarks.timing import Pair, race

Calls = Sequence[dict[str, Any]]


async def run_all(session: toolcrib.Session, calls: Calls) -> None:
    """Run a batch to its end."""
    async for _ in session.execute(calls):
        pass


def _echoes(count: int, arguments: str = GOOD) -> Calls:
    return [{"id": str(n), "name": "Echo", "arguments": arguments} for n in range(count)]


async def _expect(session: toolcrib.Session, calls: Calls, outcome: str) -> None:
    """See that the calls end as they should before anybody times them."""
    ends = [done.outcome async for done in session.execute(calls)]
    if ends != [outcome] * len(calls):
        raise RuntimeError(f"calls ended as {sorted(set(ends))}, not all as {outcome!r}")


def _per_call(pair: Pair, count: int, note: str = "") -> Measured:
    scale = 1e6 / count
    return Measured(floor=pair.floor_s * scale, ours=pair.ours_s * scale, unit="us", note=note)


async def one_call(lab: Lab) -> Measured:
    count, floor_call, call = lab.sizes.calls, composed_floor(), _echoes(1)
    async with echo_session(lab) as session:
        await _expect(session, call, "executed")

        async def floor() -> None:
            for _ in range(count):
                await floor_call(GOOD)

        async def ours() -> None:
            for _ in range(count):
                async for _done in session.execute(call):
                    pass

        return _per_call(await race(floor, ours, rounds=lab.sizes.rounds), count)


async def rejected_call(lab: Lab) -> Measured:
    count, accepted, rejected = lab.sizes.calls, _echoes(1), _echoes(1, BAD)
    async with echo_session(lab) as session:
        await _expect(session, rejected, "preflight-rejected")

        async def repeat(call: Calls) -> None:
            for _ in range(count):
                async for _done in session.execute(call):
                    pass

        pair = await race(
            lambda: repeat(accepted), lambda: repeat(rejected), rounds=lab.sizes.rounds
        )
        return _per_call(pair, count)


async def _batch(lab: Lab, size: int) -> Measured:
    repeats, floor_call, calls = max(1, lab.sizes.calls // size), composed_floor(), _echoes(size)
    async with echo_session(lab) as session:
        await _expect(session, calls, "executed")

        async def floor() -> None:
            for _ in range(repeats):
                await asyncio.gather(*[floor_call(GOOD) for _ in range(size)])

        async def ours() -> None:
            for _ in range(repeats):
                await run_all(session, calls)

        pair = await race(floor, ours, rounds=lab.sizes.rounds)
        return Measured(
            floor=pair.floor_s * 1e3 / repeats, ours=pair.ours_s * 1e3 / repeats, unit="ms"
        )


async def batch_100(lab: Lab) -> Measured:
    return await _batch(lab, 100)


async def batch_1000(lab: Lab) -> Measured:
    return await _batch(lab, 1_000)


async def batch_many(lab: Lab) -> Measured:
    return await _batch(lab, lab.sizes.batch)


def _touches(count: int) -> Calls:
    """Calls that use files in folders of 50, every tenth one a file that was used before."""
    names = [n - n % 10 // 9 * 5 for n in range(count)]
    return [
        {"id": str(n), "name": "Touch", "arguments": {"path": f"dir{name // 50}/file{name}"}}
        for n, name in enumerate(names)
    ]


async def scheduling(lab: Lab) -> Measured:
    big = lab.sizes.batch
    small = big // 10
    few, many = _touches(small), _touches(big)
    async with echo_session(lab) as session:
        await _expect(session, few, "executed")

        async def small_batches() -> None:
            for _ in range(10):
                await run_all(session, few)

        pair = await race(
            small_batches, lambda: run_all(session, many), rounds=max(3, lab.sizes.rounds // 2)
        )
        return _per_call(pair, big, f"{small:,} and {big:,} calls a batch")


BENCHMARKS = [
    Benchmark(
        name="call",
        what="one call through the whole pipeline",
        floor="json.loads + validate + 2 hook calls of 3 + a task",
        measure=one_call,
        max_ratio=2.0,
        peers="kosong 1.4x, pydantic-ai 1.8x, kimi-cli 5.1x, fastmcp 13x, inspect-ai 45x",
    ),
    Benchmark(
        name="reject",
        what="one call with a wrong argument",
        floor="an accepted call of toolcrib",
        measure=rejected_call,
        max_ratio=1.0,
        peers="kosong 1.2x, pydantic-ai 1.5x, fastmcp 7.1x (of their own accepted call)",
    ),
    Benchmark(
        name="batch-100",
        what="100 calls at once",
        floor="100 composed floors at once",
        measure=batch_100,
        max_ratio=1.7,
        peers="kosong 1.7x, llm 1.7x, mcp 2.8x, pydantic-ai 16x, openai-agents 53x",
    ),
    Benchmark(
        name="batch-1000",
        what="1,000 calls at once",
        floor="1,000 composed floors at once",
        measure=batch_1000,
    ),
    Benchmark(
        name="batch-many",
        what="{s.batch:,} calls at once",
        floor="as many composed floors at once",
        measure=batch_many,
    ),
    Benchmark(
        name="scheduling",
        what="a call in a batch of {s.batch:,} that use files",
        floor="the same call in a batch of a tenth",
        measure=scheduling,
        max_ratio=1.3,
    ),
]
