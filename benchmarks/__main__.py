"""The command: measures the rows that were asked for, one after the other."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks import (
    background,
    calls,
    discovery,
    mcp_scale,
    memory,
    permissions,
    reading,
    search,
    shell,
    soak,
    startup,
)
from benchmarks.lab import FULL, QUICK, Lab, Sizes
from benchmarks.record import Benchmark, Measured, Row
from benchmarks.table import as_json, print_footer, print_heading, print_row

FAMILIES = (
    calls,
    permissions,
    startup,
    discovery,
    search,
    reading,
    shell,
    background,
    mcp_scale,
    memory,
    soak,
)
ALL: list[Benchmark] = [one for family in FAMILIES for one in family.BENCHMARKS]


def main() -> int:
    """Measure and print; status 1 when a target is not met."""
    options = _parser().parse_args()
    if options.list:
        for benchmark in ALL:
            print(f"{benchmark.name:22} {benchmark.what.format(s=_sizes(options.quick))}")
        return 0
    load = os.getloadavg()[0]
    rows = _measure(_chosen(options.names), quick=options.quick)
    if options.json is not None:
        text = json.dumps(as_json(rows, quick=options.quick, load=load), indent=2)
        options.json.write_text(text + "\n", encoding="utf-8")
    print_footer(load)
    missed = [row.benchmark.name for row in rows if row.met is False]
    if missed:
        print(f"not met: {', '.join(missed)}")
    return 1 if missed else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description="Measures toolcrib against the floor of each job, both in the same run. The "
        "full size takes some minutes, 1.5 GB of temporary disk space, and a quiet machine.",
    )
    parser.add_argument("names", nargs="*", help="rows to measure, or how their names begin")
    parser.add_argument("--quick", action="store_true", help="small sizes, to see that it works")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the rows to a file")
    parser.add_argument("--list", action="store_true", help="list the names of the rows")
    return parser


def _chosen(names: Sequence[str]) -> list[Benchmark]:
    """The rows with these names, else those whose names begin so; without names all."""
    chosen: list[Benchmark] = []
    for name in names:
        found = [b for b in ALL if b.name == name] or [b for b in ALL if b.name.startswith(name)]
        if not found:
            sys.exit(f"no row is named {name!r}; see --list")
        chosen += found
    return [b for b in ALL if not names or b in chosen]


def _measure(benchmarks: Sequence[Benchmark], *, quick: bool) -> list[Row]:
    rows = []
    print_heading()
    with tempfile.TemporaryDirectory(prefix="toolcrib-bench-") as folder:
        lab = Lab(_sizes(quick), Path(folder))
        for benchmark in benchmarks:
            if sys.stderr.isatty():
                print(f"measuring {benchmark.name} ...", end="\r", file=sys.stderr, flush=True)
            try:
                measured = asyncio.run(benchmark.measure(lab))
            except (OSError, RuntimeError, subprocess.SubprocessError) as error:
                measured = Measured(ours=0, unit="ms", failed=f"not measured: {error}")
            what = benchmark.what.format(s=lab.sizes)
            row = Row(benchmark=benchmark, measured=measured, what=what)
            print_row(row)
            rows.append(row)
    return rows


def _sizes(quick: bool) -> Sizes:
    return QUICK if quick else FULL


if __name__ == "__main__":
    sys.exit(main())
