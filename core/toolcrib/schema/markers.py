"""Markers for `Annotated[...]` that say how a field of an input class looks in JSON."""

from __future__ import annotations

from attrs import frozen


@frozen
class Alias:
    """The JSON property name of a field when it is no Python identifier, like `-i`."""

    name: str


@frozen
class Nullable:
    """Accept an explicit null for a field of type `X | None` whose default is None.

    Without it such a property may be left out, and null is refused.
    """
