"""Keeps of any number of findings those that the wanted page can hold."""

from __future__ import annotations

from typing import Any, Generic, TypeVar

from attrs import define, field

ALL_ENTRIES = 100_000
"""How many entries a page without a limit holds."""
MAX_HELD = 200_000
"""How many entries are held for a page far behind the first."""

T = TypeVar("T", bound=Any)


@define
class Smallest(Generic[T]):
    """The `capacity` smallest of all items added, and how many there were."""

    capacity: int
    total: int = 0
    _held: list[T] = field(factory=list)

    def add(self, items: list[T]) -> None:
        """Take more items."""
        self.total += len(items)
        self._held += items
        if len(self._held) > 2 * self.capacity + 10_000:
            self._shrink()

    def page(self, offset: int, limit: int) -> list[T]:
        """The items from `offset` on, in order."""
        self._shrink()
        return self._held[offset : offset + limit]

    def _shrink(self) -> None:
        self._held.sort()
        del self._held[self.capacity :]


def capacity_for(offset: int, limit: int) -> int:
    """How many items to hold for a page."""
    return min(offset + limit, MAX_HELD)
