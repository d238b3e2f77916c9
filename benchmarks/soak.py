"""Very many calls in one session: nothing may grow."""

from __future__ import annotations

from typing import Any

from benchmarks.echo import BAD, GOOD, echo_session
from benchmarks.lab import Lab
from benchmarks.record import Benchmark, Measured
from benchmarks.usage import usage

BATCH = 100
SETTLED = 0.2
"""The share of calls after which caches are full."""


async def soak(lab: Lab) -> Measured:
    batches = lab.sizes.soak_calls // BATCH
    (lab.workspace / "small.txt").write_text("one\ntwo\n")
    async with echo_session(lab) as session:
        for number in range(batches):
            if number == int(batches * SETTLED):
                before = usage()
            ends = [done.id async for done in session.execute(_mixture(number))]
            if len(ends) != BATCH:
                return Measured(ours=0, unit="MB", failed=f"{len(ends)} results of {BATCH}")
        after = usage()
    grown = [
        f"{name} {was} to {now}"
        for name, was, now in (
            ("descriptors", before.descriptors, after.descriptors),
            ("tasks", before.tasks, after.tasks),
            ("children", before.children, after.children),
        )
        if now > was
    ]
    note = f"{after.descriptors} descriptors, {after.tasks} task, {after.children} children"
    return Measured(
        floor=before.memory, ours=after.memory, unit="MB", note=note, failed=", ".join(grown)
    )


def _mixture(number: int) -> list[dict[str, Any]]:
    """A batch of accepted and rejected calls, calls with files, and a process."""
    kinds: list[tuple[str, Any]] = [
        ("Echo", GOOD),
        ("Echo", BAD),
        ("Nothing", {}),
        ("Touch", {"path": f"file{number}"}),
        ("Read", {"path": "small.txt"}),
    ]
    chosen = [kinds[n % len(kinds)] for n in range(BATCH - 1)]
    chosen.append(("Bash", {"command": "true"}) if number % 20 == 0 else kinds[0])
    return [
        {"id": f"{number}-{n}", "name": name, "arguments": arguments}
        for n, (name, arguments) in enumerate(chosen)
    ]


BENCHMARKS = [
    Benchmark(
        name="soak",
        what="{s.soak_calls:,} calls in one session: memory",
        floor="after the first fifth of them",
        measure=soak,
        max_ratio=1.05,
    ),
]
