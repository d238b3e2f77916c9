"""How a tool says which part of the configuration it reads."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

C = TypeVar("C", bound=type)
SECTION_ATTRIBUTE = "__toolcrib_section__"
ENTRIES_ATTRIBUTE = "__toolcrib_entries__"


def settings(section: str, *, each_needs: Iterable[str] | None = None) -> Callable[[C], C]:
    """Mark an attrs class as the description of one table of the configuration.

    A tool, feature or service that names the class in its constructor gets an instance with the
    values of `[section]`; keys that are not there keep their defaults.

    With `each_needs` the class describes the entries of an array of tables, `[[section]]`, and
    these are the keys that each entry has to have. Those of all sources count, in their order;
    `session.entries(cls)` gives them.
    """

    def mark(cls: C) -> C:
        setattr(cls, SECTION_ATTRIBUTE, section)
        setattr(cls, ENTRIES_ATTRIBUTE, None if each_needs is None else tuple(each_needs))
        return cls

    return mark


def section_of(cls: object) -> str | None:
    """The table that a class describes, or None."""
    return getattr(cls, SECTION_ATTRIBUTE, None) if isinstance(cls, type) else None


def needed_in_entries(cls: object) -> tuple[str, ...] | None:
    """The keys that each entry of an array of tables needs; None for a class of a plain table."""
    return getattr(cls, ENTRIES_ATTRIBUTE, None)
