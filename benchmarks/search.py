"""Grep and Glob on a big tree, against ripgrep with the same question."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import toolcrib
from benchmarks.lab import Lab
from benchmarks.record import Benchmark, Measured
from benchmarks.timing import race


def ripgrep() -> str:
    """The rg that toolcrib uses too: that of this environment, else that of the path."""
    beside = os.path.join(os.path.dirname(sys.executable), "rg")
    found = beside if os.path.exists(beside) else shutil.which("rg")
    if found is None:
        raise RuntimeError("there is no rg to compare with; install ripgrep")
    return found


async def call(session: toolcrib.Session, name: str, arguments: dict[str, Any]) -> str:
    """The output of one call that must not fail."""
    async for done in session.execute([{"id": "1", "name": name, "arguments": arguments}]):
        if done.result.is_error:
            raise RuntimeError(f"{name} failed: {done.result.output}")
        return str(done.result.output)
    raise RuntimeError("a call without a result")


async def _race(
    lab: Lab, name: str, arguments: dict[str, Any], floor: Callable[[], object]
) -> Measured:
    async with toolcrib.open_session(
        lab.tree, mode="yolo", environ=lab.environment, crib=lab.crib
    ) as session:

        async def run_floor() -> None:
            floor()

        pair = await race(
            run_floor, lambda: call(session, name, arguments), rounds=lab.sizes.rounds
        )
    return Measured(floor=pair.floor_s * 1e3, ours=pair.ours_s * 1e3, unit="ms")


def _rg(lab: Lab, *arguments: str) -> list[str]:
    output = subprocess.run([ripgrep(), *arguments], cwd=lab.tree, stdout=subprocess.PIPE).stdout
    return output.decode().splitlines()


def _newest_first(lab: Lab, names: list[str]) -> list[str]:
    root = str(lab.tree)
    return sorted(names, key=lambda name: -os.stat(os.path.join(root, name)).st_mtime_ns)


async def grep_rare(lab: Lab) -> Measured:
    arguments = {"pattern": "rare_needle", "output_mode": "content"}
    return await _race(lab, "Grep", arguments, lambda: _rg(lab, "-n", "rare_needle", "."))


async def grep_count(lab: Lab) -> Measured:
    pattern = r"import\s+\w+"
    arguments = {"pattern": pattern, "output_mode": "count_matches"}
    return await _race(lab, "Grep", arguments, lambda: _rg(lab, "--count-matches", pattern, "."))


async def grep_files(lab: Lab) -> Measured:
    return await _race(
        lab,
        "Grep",
        {"pattern": "sometimes"},
        lambda: _newest_first(lab, _rg(lab, "-l", "sometimes", ".")),
    )


async def glob_some(lab: Lab) -> Measured:
    return await _race(
        lab,
        "Glob",
        {"pattern": "test_*.py"},
        lambda: _newest_first(lab, _rg(lab, "--files", "-g", "test_*.py")),
    )


async def glob_most(lab: Lab) -> Measured:
    return await _race(
        lab,
        "Glob",
        {"pattern": "**/*.py"},
        lambda: _newest_first(lab, _rg(lab, "--files", "-g", "**/*.py")),
    )


BENCHMARKS = [
    Benchmark(
        name="grep-rare",
        what="Grep: 5 lines in {s.tree_files:,} files",
        floor="rg -n",
        measure=grep_rare,
        max_ratio=1.15,
        peers="kimi-cli 1.1x, openhands 2.6x (file names only)",
    ),
    Benchmark(
        name="grep-count",
        what="Grep: matches of a regex in every file, counted",
        floor="rg --count-matches",
        measure=grep_count,
        max_ratio=1.15,
        peers="kimi-cli 1.5x, openhands 8.3x (without counts)",
    ),
    Benchmark(
        name="grep-files",
        what="Grep: the files with matches, newest first",
        floor="rg -l, sorted by time in Python",
        measure=grep_files,
        max_ratio=1.15,
        peers="kimi-cli 1.2x, openhands 3.8x",
    ),
    Benchmark(
        name="glob-some",
        what="Glob: test_*.py, newest first",
        floor="rg --files -g, sorted by time in Python",
        measure=glob_some,
        max_ratio=1.15,
        peers="openhands 1.7x, kimi-cli 7.1x (of rg unsorted)",
    ),
    Benchmark(
        name="glob-most",
        what="Glob: **/*.py, newest first",
        floor="rg --files -g, sorted by time in Python",
        measure=glob_most,
        max_ratio=1.15,
        peers="openhands 1.8x, kimi-cli 50x (of rg unsorted)",
    ),
]
