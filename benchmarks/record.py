"""A benchmark is a function with a description; a measurement is what it returns."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Literal

from attrs import frozen

from benchmarks.lab import Lab

Unit = Literal["us", "ms", "MB"]


@frozen(kw_only=True)
class Measured:
    """Two figures of the same job in the same unit; without a floor only the own one counts.

    `failed` names a fact that does not hold, which no figure can make up for.
    """

    ours: float
    unit: Unit
    floor: float | None = None
    note: str = ""
    failed: str = ""


@frozen(kw_only=True)
class Benchmark:
    """One row of the table.

    Attributes:
        name: selects the row on the command line.
        what: the job, in words; `{s.tree_files}` stands for one of the sizes `s` of the lab.
        floor: what the floor does.
        max_ratio: the target, as a multiple of the floor.
        max_value: the target, in the unit of the measurement.
        max_more: the target, as so much more than the floor, in the same unit.
        peers: published figures of other frameworks, measured earlier on a machine of their own.
    """

    name: str
    what: str
    floor: str
    measure: Callable[[Lab], Coroutine[None, None, Measured]]
    max_ratio: float | None = None
    max_value: float | None = None
    max_more: float | None = None
    peers: str = ""


@frozen(kw_only=True)
class Row:
    """A benchmark and what came of it."""

    benchmark: Benchmark
    measured: Measured
    what: str

    @property
    def ratio(self) -> float | None:
        floor = self.measured.floor
        return self.measured.ours / floor if floor else None

    @property
    def met(self) -> bool | None:
        """Whether the target is met; None without a target."""
        target, ratio = self.benchmark, self.ratio
        if self.measured.failed:
            return False
        verdicts = []
        if target.max_ratio is not None and ratio is not None:
            verdicts.append(ratio <= target.max_ratio)
        if target.max_value is not None:
            verdicts.append(self.measured.ours <= target.max_value)
        if target.max_more is not None and self.measured.floor is not None:
            verdicts.append(self.measured.ours - self.measured.floor <= target.max_more)
        return all(verdicts) if verdicts else None
