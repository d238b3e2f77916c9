"""Prints rows as a table, or as JSON."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Sequence
from typing import Any

from benchmarks.record import Benchmark, Row
from toolcrib import __version__

COLUMNS = ("what", "floor", "toolcrib", "ratio", "target", "met")
WIDTHS = (64, 10, 10, 8, 18, 4)


def print_heading() -> None:
    """The column names."""
    print(_aligned(COLUMNS))
    print(_aligned(["-" * width for width in WIDTHS]))


def print_row(row: Row) -> None:
    """A row at once when it is measured, what it was compared with below it."""
    measured, ratio = row.measured, row.ratio
    print(
        _aligned(
            (
                row.what,
                _figure(measured.floor, measured.unit),
                _figure(measured.ours, measured.unit),
                "" if ratio is None else f"{ratio:.2f}x",
                target_of(row.benchmark, measured.unit),
                {True: "yes", False: "NO", None: ""}[row.met],
            )
        )
    )
    for label, text in (
        ("floor: ", row.benchmark.floor),
        ("peers: ", row.benchmark.peers),
        ("", measured.note),
        ("FAILED: ", measured.failed),
    ):
        if text:
            print(f"    {label}{text}", flush=True)


def print_footer(load: float) -> None:
    """Where it was measured; a machine that is busy with other things tells little."""
    print(f"\n{_machine()}, load {load:.1f} at the start")


def target_of(benchmark: Benchmark, unit: str) -> str:
    """The target in words."""
    parts = []
    if benchmark.max_ratio is not None:
        parts.append(f"{benchmark.max_ratio:g}x")
    if benchmark.max_value is not None:
        parts.append(f"{benchmark.max_value:g} {unit}")
    if benchmark.max_more is not None:
        parts.append(f"{benchmark.max_more:g} {unit} more")
    return "at most " + ", ".join(parts) if parts else ""


def as_json(rows: Sequence[Row], *, quick: bool, load: float) -> dict[str, Any]:
    """All rows, and the machine on which they were measured."""
    return {
        "machine": _machine(),
        "load": load,
        "date": time.strftime("%Y-%m-%d"),
        "quick": quick,
        "rows": [_row_as_json(row) for row in rows],
    }


def _machine() -> str:
    where = f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores"
    return f"toolcrib {__version__}, Python {platform.python_version()}, {where}"


def _row_as_json(row: Row) -> dict[str, Any]:
    benchmark, measured = row.benchmark, row.measured
    return {
        "name": benchmark.name,
        "what": row.what,
        "unit": measured.unit,
        "floor": measured.floor,
        "toolcrib": measured.ours,
        "ratio": row.ratio,
        "max_ratio": benchmark.max_ratio,
        "max_value": benchmark.max_value,
        "max_more": benchmark.max_more,
        "met": row.met,
        "floor_is": benchmark.floor,
        "peers": benchmark.peers,
        "note": measured.note,
        "failed": measured.failed,
    }


def _figure(value: float | None, unit: str) -> str:
    if value is None:
        return ""
    digits = 0 if value >= 100 else 1 if value >= 10 else 2
    return f"{value:,.{digits}f} {unit}"


def _aligned(cells: Sequence[str]) -> str:
    first, *rest = zip(cells, WIDTHS, strict=True)
    return "  ".join([first[0].ljust(first[1]), *(cell.rjust(width) for cell, width in rest)])
