"""How a tool says which part of the configuration it reads."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

C = TypeVar("C", bound=type)
SECTION_ATTRIBUTE = "__toolcrib_section__"


def settings(section: str) -> Callable[[C], C]:
    """Mark an attrs class as the description of one table of the configuration.

    A tool, feature or service that names the class in its constructor gets an instance with the
    values of `[section]`; keys that are not there keep their defaults.
    """

    def mark(cls: C) -> C:
        setattr(cls, SECTION_ATTRIBUTE, section)
        return cls

    return mark


def section_of(cls: object) -> str | None:
    """The table that a class describes, or None."""
    return getattr(cls, SECTION_ATTRIBUTE, None) if isinstance(cls, type) else None
