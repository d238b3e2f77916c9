"""Many installed distributions, many contributions: what costs those who use few of them."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from time import perf_counter
from typing import Any

import toolcrib
from benchmarks.lab import Lab
from benchmarks.record import Benchmark, Measured
from benchmarks.timing import typical

ACTIVE = 20


async def distributions(lab: Lab) -> Measured:
    folder = lab.folder / "site-packages"
    _install(folder, lab.sizes.distributions)
    found = _in_fresh_processes(lab, folder, "find")
    failed = "" if found["plugins"] >= 7 else "the own plugins were not found"
    return Measured(floor=found["floor"], ours=found["ours"], unit="ms", failed=failed)


async def contributions(lab: Lab) -> Measured:
    folder = lab.folder / "many"
    _write_tools(folder, lab.sizes.contributions)
    found = _in_fresh_processes(lab, folder, "activate", str(lab.sizes.contributions))
    failed = "" if found["imported"] == found["active"] == ACTIVE else f"imported: {found}"
    return Measured(floor=found["floor"], ours=found["ours"], unit="ms", failed=failed)


def _in_fresh_processes(lab: Lab, folder: Path, *arguments: str) -> dict[str, Any]:
    """Run this module some times as a program; what `_find` or `_activate` typically measure."""
    roots = [str(folder), str(Path(__file__).resolve().parents[1])]
    environment = {**lab.environment, "PYTHONPATH": os.pathsep.join(roots)}
    command = [sys.executable, "-m", "benchmarks.discovery", *arguments]
    answers = []
    for _ in range(lab.sizes.cold_starts + 1):
        output = subprocess.run(
            command, check=True, env=environment, cwd=lab.workspace, stdout=subprocess.PIPE
        ).stdout
        answers.append(json.loads(output))
    times = {key: typical([a[key] for a in answers[1:]]) * 1e3 for key in ("floor", "ours")}
    return {**answers[-1], **times}


def _install(site: Path, count: int) -> None:
    """Distributions as pip leaves them, each third with entry points of other groups."""
    for number in range(count):
        folder = site / f"bench_dist_{number:03}-1.{number}.dist-info"
        folder.mkdir(parents=True)
        head = f"Metadata-Version: 2.4\nName: bench-dist-{number:03}\nVersion: 1.{number}\n"
        requires = "".join(f"Requires-Dist: other{n}>=1.{n}\n" for n in range(12))
        (folder / "METADATA").write_text(f"{head}{requires}\n" + "About this package. " * 150)
        (folder / "RECORD").write_text("")
        if number % 3 == 0:
            points = f"[console_scripts]\nbench{number} = bench:main\n"
            (folder / "entry_points.txt").write_text(points)


def _write_tools(folder: Path, count: int) -> None:
    """A module for each tool, as plugins have it."""
    package = folder / "many_tools"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    for number in range(count):
        (package / f"tool{number}.py").write_text(_TOOL.format(number=number))


_TOOL = """
from attrs import frozen
import toolcrib

@frozen(kw_only=True)
class Input:
    text: str
    times: int = 1

class Tool(toolcrib.Tool[Input]):
    name = "Tool{number}"
    description = "One of many."

    def resolve_execution(self, args):
        return toolcrib.ToolResult(args.text)
"""


def _find() -> dict[str, Any]:
    """Time the search for plugins, and the mere reading of all entry points."""
    from toolcrib.plugins.entry_points import find_plugins

    started = perf_counter()
    _read_entry_points()
    middle = perf_counter()
    plugins = find_plugins()
    return {"floor": middle - started, "ours": perf_counter() - middle, "plugins": len(plugins)}


def _read_entry_points() -> None:
    for root in filter(os.path.isdir, sys.path):
        for entry in os.scandir(root):
            if entry.name.endswith(".dist-info"):
                path = Path(entry.path, "entry_points.txt")
                if path.exists():
                    path.read_text(encoding="utf-8")


class _Many:
    """A plugin with many tools, of which a predicate lets some through."""

    def __init__(self, count: int) -> None:
        self._count = count

    @toolcrib.hookimpl
    def contribute_tool(self) -> list[toolcrib.ToolContribution]:
        every = self._count // ACTIVE
        return [
            toolcrib.ToolContribution(
                name=f"Tool{n}",
                factory=f"many_tools.tool{n}:Tool",
                domain="bench",
                when=lambda context, n=n: n % every == 0,  # type: ignore[misc]
            )
            for n in range(self._count)
        ]


async def _activate(count: int) -> dict[str, Any]:
    """Time the activation, after the import of the modules that it needs."""
    async with toolcrib.open_session(autoload=False) as session:
        before = len(session.tools())
        started = perf_counter()
        for n in range(0, count, count // ACTIVE):
            import_module(f"many_tools.tool{n}")
        middle = perf_counter()
        session.crib.plugins.register(_Many(count))
        ended = perf_counter()
        active = len(session.tools()) - before
    return {
        "floor": middle - started,
        "ours": ended - middle,
        "active": active,
        "imported": sum(name.startswith("many_tools.tool") for name in sys.modules),
    }


BENCHMARKS = [
    Benchmark(
        name="discovery",
        what="finding the plugins among {s.distributions} distributions",
        floor="reading every entry_points.txt",
        measure=distributions,
        max_value=15.0,
        peers="importlib_metadata alone 12 ms, pluggy's loader 25 ms",
    ),
    Benchmark(
        name="activation",
        what="{s.contributions:,} contributions, 20 active",
        floor="importing the modules of the 20",
        measure=contributions,
        max_value=10.0,
    ),
]


if __name__ == "__main__":
    print(
        json.dumps(_find() if sys.argv[1] == "find" else asyncio.run(_activate(int(sys.argv[2]))))
    )
