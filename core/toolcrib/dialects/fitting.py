"""Judge and tidy arguments by the nodes of a schema, roughly: validation comes later."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from attrs import define

from toolcrib.dialects.node import Document, Node, has_type, is_among, kind_of

MAX_DEPTH = 48
_STEPS = 50_000


@define
class Fitting:
    """What one schema says about one set of arguments.

    Asides, patterns and formats are left out: where they would refuse, a value counts as fitting.
    Work is bounded, so that a hostile schema costs little; past the bounds everything fits.
    """

    _document: Document
    _steps: int = 0

    def fits(self, node: Node, value: Any, depth: int = 0) -> bool:
        """Whether a value may be what a node means."""
        self._steps += 1
        if depth > MAX_DEPTH or self._steps > _STEPS:
            return True
        if not has_type(value, node.types):
            return False
        if node.enum is not None and not is_among(value, node.enum):
            return False
        return (
            self._is_within(node, value)
            and all(self.fits(below, part, depth + 1) for below, part in parts(node, value))
            and all(self.fits(other, value, depth + 1) for other in self._also(node))
            and all(
                any(self.fits(branch, value, depth + 1) for branch in group)
                for group in node.any_of
            )
        )

    def _also(self, node: Node) -> Iterator[Node]:
        if node.ref is not None:
            yield self._document.targets[node.ref]
        yield from node.all_of

    def _is_within(self, node: Node, value: Any) -> bool:
        if isinstance(value, Mapping) and not all(name in value for name in node.required):
            return False
        if not node.limits or isinstance(value, bool) or value is None:
            return True
        if isinstance(value, int | float):
            return _is_between(value, node.limits)
        lowest, highest = _SIZES[kind_of(value)]
        size = len(value)
        return bool(node.limits.get(lowest, 0) <= size <= node.limits.get(highest, size))

    def without_nulls(self, node: Node, value: Any, depth: int = 0) -> Any:
        """Leave out what was given as null only to say that it is not given.

        That is a property that need not be there, or must not, and whose schema refuses null.
        """
        self._steps += 1
        if depth > MAX_DEPTH or self._steps > _STEPS or not isinstance(value, Mapping | list):
            return value
        if isinstance(value, Mapping):
            value = {
                name: part for name, part in value.items() if not self._is_spare(node, name, part)
            }
        tidy = {
            key: self.without_nulls(below, part, depth + 1)
            for key, below, part in keyed_parts(node, value)
            if isinstance(part, Mapping | list)
        }
        if isinstance(value, Mapping):
            value = {**value, **tidy}
        else:
            value = [tidy.get(index, part) for index, part in enumerate(value)]
        for other in self._also(node):
            value = self.without_nulls(other, value, depth + 1)
        for group in node.any_of:
            value = self._of_one(group, value, depth + 1)
        return value

    def _is_spare(self, node: Node, name: str, part: Any) -> bool:
        if part is not None or name in node.required:
            return False
        said = said_of_property(node, name)
        if name in node.properties:
            return not all(self.fits(below, None) for below in said)
        return any(below.is_never for below in said)

    def _of_one(self, group: tuple[Node, ...], value: Any, depth: int) -> Any:
        if any(self.fits(branch, value, depth) for branch in group):
            return value
        for branch in group:
            tidy = self.without_nulls(branch, value, depth)
            if self.fits(branch, tidy, depth):
                return tidy
        return value


def parts(node: Node, value: Any) -> Iterator[tuple[Node, Any]]:
    """What a node itself says about the parts of a value."""
    for _, below, part in keyed_parts(node, value):
        yield below, part


def keyed_parts(node: Node, value: Any) -> Iterator[tuple[Any, Node, Any]]:
    """Like `parts`, with the key or the index of each."""
    if isinstance(value, Mapping):
        for name, part in value.items():
            for below in said_of_property(node, name):
                yield name, below, part
    elif isinstance(value, list | tuple):
        for index, part in enumerate(value):
            said = said_of_item(node, index)
            if said is not None:
                yield index, said, part


def said_of_property(node: Node, name: str) -> list[Node]:
    """The nodes that a property of this name has to fit, apart from combinations."""
    said = [node.properties[name]] if name in node.properties else []
    said += [below for pattern, below in node.patterns.items() if matches(pattern, name)]
    if not said and node.additional is not None:
        said.append(node.additional)
    return said


def said_of_item(node: Node, index: int) -> Node | None:
    """The node that the item at an index has to fit, apart from combinations."""
    return node.prefix[index] if index < len(node.prefix) else node.items


def matches(pattern: str, name: str) -> bool:
    """Whether a pattern finds something in a name; one that Python cannot read finds nothing."""
    try:
        return re.search(pattern, name) is not None
    except (re.error, RecursionError, OverflowError):
        return False


def _is_between(value: float, limits: Mapping[str, Any]) -> bool:
    return (
        value >= limits.get("minimum", value)
        and value <= limits.get("maximum", value)
        and not ("exclusiveMinimum" in limits and value <= limits["exclusiveMinimum"])
        and not ("exclusiveMaximum" in limits and value >= limits["exclusiveMaximum"])
    )


_SIZES = {
    "string": ("minLength", "maxLength"),
    "array": ("minItems", "maxItems"),
    "object": ("minProperties", "maxProperties"),
}
