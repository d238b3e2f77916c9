"""What the permission question costs: with every policy active and 100 rules loaded."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

import toolcrib
from benchmarks.echo import GOOD, Tools
from benchmarks.lab import Lab
from benchmarks.record import Benchmark, Measured
from benchmarks.timing import Pair, race

RULES: Mapping[str, Sequence[str]] = {
    "deny": [
        *(f"Bash(program{n}*)" for n in range(40)),
        *(f"Read(secret{n}/**)" for n in range(5)),
        *(f"Write(locked{n}/**)" for n in range(5)),
        *(f"mcp__server{n}__*" for n in range(10)),
    ],
    "ask": [f"Bash(git push{n}*)" for n in range(10)],
    "allow": [*(f"Bash(make target{n} *)" for n in range(28)), "Echo", "Read(src/**)"],
}
SCRIPT = "cd src && grep -rn 'def main' . | head -20 && git log --oneline -5"


@asynccontextmanager
async def _session(lab: Lab, overrides: Mapping[str, Any]) -> AsyncIterator[toolcrib.Session]:
    async with toolcrib.open_session(
        lab.workspace,
        mode="manual",
        plugins=[Tools()],
        autoload=False,
        environ=lab.environment,
        overrides=overrides,
    ) as session:
        yield session


async def _judged(lab: Lab, name: str, arguments: Any) -> tuple[Pair, int]:
    """A call without the permission plugin, and with all of it and 100 rules."""
    count = max(1, lab.sizes.calls // 4)
    call = [{"id": "1", "name": name, "arguments": arguments}]
    async with (
        _session(lab, {"plugins": {"blocked": ["permissions"]}}) as bare,
        _session(lab, {"permission": RULES}) as guarded,
    ):
        for session in (bare, guarded):
            (done,) = [done async for done in session.execute(call)]
            if done.outcome != "executed":
                raise RuntimeError(f"{name} ended as {done.outcome!r}: {done.result.output}")

        async def repeat(session: toolcrib.Session) -> None:
            for _ in range(count):
                async for _done in session.execute(call):
                    pass

        pair = await race(lambda: repeat(bare), lambda: repeat(guarded), rounds=lab.sizes.rounds)
    return pair, count


async def allowed_call(lab: Lab) -> Measured:
    pair, count = await _judged(lab, "Echo", GOOD)
    scale = 1e6 / count
    return Measured(floor=pair.floor_s * scale, ours=pair.ours_s * scale, unit="us")


async def decision(lab: Lab) -> Measured:
    pair, count = await _judged(lab, "Echo", GOOD)
    return Measured(ours=(pair.ours_s - pair.floor_s) * 1e6 / count, unit="us")


async def judged_read(lab: Lab) -> Measured:
    source = lab.workspace / "src"
    source.mkdir(exist_ok=True)
    (source / "a.txt").write_text("text\n", encoding="utf-8")
    pair, count = await _judged(lab, "Read", {"path": "src/a.txt"})
    scale = 1e6 / count
    return Measured(floor=pair.floor_s * scale, ours=pair.ours_s * scale, unit="us")


async def judged_script(lab: Lab) -> Measured:
    """Parsing a script of three commands and judging each of them, without running it."""
    from toolcrib.explain import explain_call

    count = max(1, lab.sizes.calls // 20)
    script = {"name": "Bash", "arguments": {"command": SCRIPT}}
    lone = {"name": "Bash", "arguments": {"command": "true"}}
    async with _session(lab, {"permission": RULES}) as session:

        async def repeat(call: Mapping[str, Any]) -> None:
            for _ in range(count):
                await explain_call(session.main, call)

        pair = await race(lambda: repeat(lone), lambda: repeat(script), rounds=lab.sizes.rounds)
    scale = 1e6 / count
    return Measured(floor=pair.floor_s * scale, ours=pair.ours_s * scale, unit="us")


BENCHMARKS = [
    Benchmark(
        name="permission-call",
        what="one call, every policy and 100 rules",
        floor="the same call without the permission plugin",
        measure=allowed_call,
    ),
    Benchmark(
        name="permission-decision",
        what="what the decision adds to that call",
        floor="none",
        measure=decision,
        max_value=15.0,
    ),
    Benchmark(
        name="permission-read",
        what="reading a small file, every policy and 100 rules",
        floor="the same call without the permission plugin",
        measure=judged_read,
    ),
    Benchmark(
        name="permission-script",
        what="judging a script of four commands, 100 rules",
        floor="judging `true`",
        measure=judged_script,
    ),
]
