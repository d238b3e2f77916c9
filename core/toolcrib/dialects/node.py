"""A schema as it was understood: one form for all drafts, and for all that servers make of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import Factory, define, evolve, frozen

ANYTHING = frozenset({"null", "boolean", "number", "string", "array", "object"})
"""All types; `integer` stands for itself where only whole numbers are meant."""
NUMBER_LIMITS = ("minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum", "multipleOf")
STRING_LIMITS = ("minLength", "maxLength", "pattern")
ARRAY_LIMITS = ("minItems", "maxItems", "uniqueItems")
OBJECT_LIMITS = ("minProperties", "maxProperties")


@define(kw_only=True, eq=False)
class Node:
    """What one schema says; all parts hold at once.

    Attributes:
        at: JSON pointer of the schema in the original.
        says: title, description, default and examples.
        types: the types a value may have.
        nullable: null is meant to be accepted, but only OpenAPI says so and no validator.
        enum: the only values, or None.
        limits: bounds, pattern and format; they concern values of the fitting type only.
        additional: for properties that neither `properties` nor `patterns` names; None is unsaid.
        prefix: the first items of a list; `items` is for those behind them.
        ref: key of another node of the same document.
        any_of: of each group one must fit; groups in `exclusive` (by index) exactly one.
        asides: keywords with a say only in combination (`not`, `if`, `contains`, ...); their values
            hold nodes where schemas stood.
    """

    at: str = ""
    says: dict[str, Any] = Factory(dict)
    types: frozenset[str] = ANYTHING
    nullable: bool = False
    enum: list[Any] | None = None
    limits: dict[str, Any] = Factory(dict)
    properties: dict[str, Node] = Factory(dict)
    required: tuple[str, ...] = ()
    patterns: dict[str, Node] = Factory(dict)
    additional: Node | None = None
    prefix: tuple[Node, ...] = ()
    items: Node | None = None
    ref: str | None = None
    all_of: tuple[Node, ...] = ()
    any_of: tuple[tuple[Node, ...], ...] = ()
    exclusive: frozenset[int] = frozenset()
    asides: dict[str, Any] = Factory(dict)

    @property
    def is_never(self) -> bool:
        """Whether nothing at all fits."""
        return not self.types and not self.nullable

    @property
    def is_plain(self) -> bool:
        """Whether nothing is said about values, apart from a reference and combinations."""
        return self.types == ANYTHING and self.enum is None and not self.says_of_types()

    def says_of_types(self) -> set[str]:
        """The types whose values the node says more of than that they may be there."""
        said = {
            kind
            for kind, limits in (
                ("number", NUMBER_LIMITS),
                ("string", (*STRING_LIMITS, "format")),
                ("array", ARRAY_LIMITS),
                ("object", OBJECT_LIMITS),
            )
            if any(limit in self.limits for limit in limits)
        }
        if self.properties or self.required or self.patterns or self.additional is not None:
            said.add("object")
        if self.prefix or self.items is not None:
            said.add("array")
        return said

    def own(self) -> Node:
        """The node without its reference and combinations."""
        return evolve(self, ref=None, all_of=(), any_of=(), exclusive=frozenset())

    @property
    def is_combined(self) -> bool:
        """Whether a reference or a combination has a say."""
        return self.ref is not None or bool(self.all_of or self.any_of)


@frozen
class Document:
    """A whole schema: its root, and the nodes that references lead to, by pointer."""

    root: Node
    targets: Mapping[str, Node]


def kind_of(value: Any) -> str:
    """The JSON type of a value; numbers without a fraction are `integer`."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int) or (isinstance(value, float) and value.is_integer()):
        return "integer"
    if isinstance(value, float):
        return "number"
    if isinstance(value, str):
        return "string"
    return "object" if isinstance(value, Mapping) else "array"


def has_type(value: Any, types: frozenset[str]) -> bool:
    """Whether a value has one of the types."""
    kind = kind_of(value)
    return kind in types or (kind == "integer" and "number" in types)


def same(one: Any, other: Any) -> bool:
    """Whether two values are the same in JSON, where true is not 1 but 1.0 is."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(map(same, one, other))
    return bool(one == other)


def is_among(value: Any, values: list[Any]) -> bool:
    """Whether a value is one of the values."""
    return any(same(value, other) for other in values)
