"""The peak memory of one call, in a process that has done nothing else: nothing is reused."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import toolcrib
from benchmarks.lab import Lab
from benchmarks.record import Benchmark, Measured
from benchmarks.search import call
from benchmarks.shell import lines, unbroken
from benchmarks.usage import current_memory, forget_peak, peak_memory

MAX_GROWTH_MB = 64.0
"""What the budget allows: ten million characters kept, and the copies made of them on the way."""
ROOT = Path(__file__).resolve().parents[1]
WARM_UP = {"Bash": {"command": "true"}, "Grep": {"pattern": "nothing like this"}}


def peak_growth(lab: Lab, workspace: Path, name: str, arguments: dict[str, Any]) -> float:
    """How many MB a call adds to the memory of a session that has made a small one."""
    command = [sys.executable, "-m", "benchmarks.memory"]
    command += [str(workspace), name, json.dumps(arguments)]
    environment = {**lab.environment, "PYTHONPATH": str(ROOT)}
    return float(subprocess.check_output(command, env=environment, cwd=lab.folder))


async def _measure(workspace: str, name: str, arguments: dict[str, Any]) -> float:
    async with toolcrib.open_session(workspace, mode="yolo", autoload=False) as session:
        await call(session, name, WARM_UP[name])
        before = current_memory()
        forget_peak()
        await call(session, name, arguments)
        return peak_memory() - before


async def _bash(lab: Lab, command: str) -> Measured:
    arguments = {"command": command, "timeout": 300}
    return Measured(ours=peak_growth(lab, lab.workspace, "Bash", arguments), unit="MB")


async def bash_unbroken(lab: Lab) -> Measured:
    return await _bash(lab, unbroken(lab.sizes.flood_mb))


async def bash_lines(lab: Lab) -> Measured:
    return await _bash(lab, lines(lab.sizes.flood_mb))


async def grep(lab: Lab) -> Measured:
    arguments = {"pattern": ".", "output_mode": "content"}
    return Measured(ours=peak_growth(lab, lab.tree, "Grep", arguments), unit="MB")


BENCHMARKS = [
    Benchmark(
        name="bash-memory-unbroken",
        what="Bash: peak memory, {s.flood_mb:,} MB without a newline",
        floor="",
        measure=bash_unbroken,
        max_value=MAX_GROWTH_MB,
        peers="at 200 MB: openhands 263 MB",
    ),
    Benchmark(
        name="bash-memory-lines",
        what="Bash: peak memory, {s.flood_mb:,} MB of lines",
        floor="",
        measure=bash_lines,
        max_value=MAX_GROWTH_MB,
        peers="at 200 MB: kimi-cli 87 MB, openhands 255 MB",
    ),
    Benchmark(
        name="grep-memory",
        what="Grep: peak memory when every line of {s.tree_files:,} files matches",
        floor="",
        measure=grep,
        max_value=96.0,
    ),
]


if __name__ == "__main__":
    print(asyncio.run(_measure(sys.argv[1], sys.argv[2], json.loads(sys.argv[3]))))
