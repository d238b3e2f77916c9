"""From nothing to the first answer: processes that start cold."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from benchmarks.lab import Lab
from benchmarks.record import Benchmark, Measured
from benchmarks.timing import race, run_process


def toolcrib_command() -> list[str]:
    """The console script of this environment, or the module when it is not installed."""
    script = Path(sys.executable).with_name("toolcrib")
    return [str(script)] if script.exists() else [sys.executable, "-m", "toolcrib"]


async def _cold(lab: Lab, floor: list[str], ours: list[str]) -> Measured:
    async def run(command: list[str]) -> None:
        run_process(command, cwd=lab.workspace, env=lab.environment, stdin=subprocess.DEVNULL)

    pair = await race(lambda: run(floor), lambda: run(ours), rounds=lab.sizes.cold_starts)
    return Measured(floor=pair.floor_s * 1e3, ours=pair.ours_s * 1e3, unit="ms")


async def tools(lab: Lab) -> Measured:
    floor = [sys.executable, "-c", "import pluggy, attrs, cattrs"]
    return await _cold(lab, floor, [*toolcrib_command(), "tools", "--json"])


async def run(lab: Lab) -> Measured:
    calls = lab.folder / "one-call.json"
    calls.write_text('{"id": "1", "name": "Glob", "arguments": {"pattern": "*"}}')
    libraries = "import asyncio, pluggy, attrs, cattrs, jsonschema_rs, importlib_metadata, click"
    floor = [sys.executable, "-c", libraries]
    return await _cold(lab, floor, [*toolcrib_command(), "run", str(calls), "--mode", "yolo"])


BENCHMARKS = [
    Benchmark(
        name="cold-tools",
        what="`toolcrib tools --json` from cold, all builtins",
        floor="python -c 'import pluggy, attrs, cattrs'",
        measure=tools,
        max_ratio=3.0,
        peers="toolregistry 182 ms, llm 240, kosong 418, pydantic-ai 547, openhands 5,148",
    ),
    Benchmark(
        name="cold-run",
        what="`toolcrib run` of one Glob from cold",
        floor="python -c 'import' of the libraries that it uses",
        measure=run,
    ),
]
