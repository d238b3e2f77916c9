"""How long a command may take: what was asked for, and what it gets."""

from __future__ import annotations

from attrs import frozen


@frozen
class TimeLimit:
    """A time limit in seconds: `wanted_s`, but never more than `max_s`."""

    wanted_s: int
    max_s: int

    @property
    def seconds(self) -> int:
        return min(self.wanted_s, self.max_s)

    @property
    def note(self) -> str | None:
        """Says that it was cut; None when it was not."""
        if self.wanted_s <= self.max_s:
            return None
        return f"timeout is in seconds: {self.wanted_s} was cut to the maximum of {self.max_s}"
