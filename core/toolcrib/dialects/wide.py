"""Compile for providers that accept nearly all of JSON Schema below the root."""

from __future__ import annotations

import re
from collections import deque
from typing import Any

from attrs import define, evolve, field, frozen

from toolcrib.dialects.joining import objects_of
from toolcrib.dialects.losses import Losses
from toolcrib.dialects.merging import Merging
from toolcrib.dialects.names import fitting_name, name_of_target
from toolcrib.dialects.node import ANYTHING, Document, Node
from toolcrib.dialects.plans import AS_IS, Fields, Plan, Property

Schema = dict[str, Any]
_NAMED_IN_ASIDES = ("dependentRequired", "dependentSchemas", "propertyNames", "if", "not")


@frozen
class WideRules:
    """What a provider does not accept.

    Attributes:
        needs_items: each list says what its items are, by `items` alone.
        property_name: the pattern of the names of properties of the root.
        not_at_root: keywords beside those that combine schemas.
    """

    needs_items: bool = False
    property_name: re.Pattern[str] | None = None
    not_at_root: frozenset[str] = frozenset()


@define
class Widening:
    """One compilation of one document."""

    _document: Document
    _rules: WideRules
    _losses: Losses
    _names: dict[str, str] = field(factory=dict, init=False)
    _pending: deque[str] = field(factory=deque, init=False)

    def compile(self) -> tuple[Schema, Plan]:
        """The compiled schema, and how to read what comes back."""
        root = self._root()
        names = self._wire_names(root)
        schema = self._written(root)
        schema["type"] = "object"
        schema["properties"] = {names[n]: s for n, s in schema.get("properties", {}).items()}
        if "required" in schema:
            schema["required"] = [names.get(name, name) for name in schema["required"]]
        definitions = {}
        while self._pending:
            ref = self._pending.popleft()
            definitions[self._names[ref]] = self._written(self._document.targets[ref])
        if definitions:
            schema["$defs"] = dict(sorted(definitions.items()))
        renamed = any(wire != name for name, wire in names.items())
        properties = {wire: Property(name, AS_IS) for name, wire in names.items()}
        return _ordered(schema), Fields(properties) if renamed else AS_IS

    def _root(self) -> Node:
        root = self._document.root
        if root.is_combined or root.enum is not None or root.types != {"object"}:
            root = objects_of(root, Merging(self._document, self._losses), self._losses)
        if root.enum is not None:
            self._losses.add(root.at, "enum", "cannot stand at the root; dropped")
        dropped = [keyword for keyword in root.asides if keyword in self._rules.not_at_root]
        for keyword in dropped:
            self._losses.add(root.at, keyword, "cannot stand at the root; dropped")
        kept = {key: value for key, value in root.asides.items() if key not in dropped}
        return evolve(root, enum=None, nullable=False, asides=kept)

    def _wire_names(self, root: Node) -> dict[str, str]:
        names: dict[str, str] = {}
        taken = set(root.properties)
        for name in root.properties:
            fits = self._rules.property_name is None or self._rules.property_name.fullmatch(name)
            names[name] = name if fits else fitting_name(name, self._rules.property_name, taken)
            taken.add(names[name])
        if any(wire != name for name, wire in names.items()):
            for keyword in [key for key in _NAMED_IN_ASIDES if key in root.asides]:
                self._losses.add(
                    root.at, keyword, "names properties that have other names; dropped"
                )
                del root.asides[keyword]
        return names

    def _written(self, node: Node) -> Schema:
        schema: Schema = dict(node.says)
        if node.ref is not None:
            schema["$ref"] = self._reference(node.ref)
        if node.is_never:
            return {"not": {}}
        if node.types != ANYTHING:
            types = sorted(node.types | {"null"} if node.nullable else node.types)
            schema["type"] = types[0] if len(types) == 1 else types
        if node.enum is not None:
            schema["enum"] = list(node.enum)
            if node.nullable and None not in node.enum:
                schema["enum"].append(None)
        schema |= node.limits
        self._write_object(node, schema)
        self._write_array(node, schema)
        if node.all_of:
            schema["allOf"] = [self._written(other) for other in node.all_of]
        for index, group in enumerate(node.any_of):
            # Null, where it is meant too, would fit several.
            is_one = index in node.exclusive and not any(other.nullable for other in group)
            keyword = "oneOf" if is_one else "anyOf"
            written = {keyword: [self._written(other) for other in group]}
            if keyword in schema:
                schema["allOf"] = [*schema.get("allOf", ()), written]
            else:
                schema |= written
        for keyword, value in node.asides.items():
            schema[keyword] = self._aside(keyword, value)
        return _ordered(schema)

    def _aside(self, keyword: str, value: Any) -> Any:
        if isinstance(value, Node):
            is_never = keyword.startswith("unevaluated") and value.is_never
            return False if is_never else self._written(value)
        if isinstance(value, dict):
            return {name: self._aside(name, below) for name, below in value.items()}
        return value

    def _reference(self, ref: str) -> str:
        if ref not in self._names:
            self._names[ref] = name_of_target(ref, self._names.values())
            self._pending.append(ref)
        return f"#/$defs/{self._names[ref]}"

    def _write_object(self, node: Node, schema: Schema) -> None:
        if node.properties:
            schema["properties"] = {n: self._written(s) for n, s in node.properties.items()}
        if node.required:
            schema["required"] = list(node.required)
        if node.patterns:
            schema["patternProperties"] = {n: self._written(s) for n, s in node.patterns.items()}
        if node.additional is not None:
            never = node.additional.is_never
            written = False if never else self._written(node.additional)
            schema["additionalProperties"] = True if written == {} else written

    def _write_array(self, node: Node, schema: Schema) -> None:
        if node.prefix and self._rules.needs_items:
            self._write_tuple(node, schema)
        elif node.prefix:
            schema["prefixItems"] = [self._written(item) for item in node.prefix]
        if "items" in schema:
            return
        if node.items is not None:
            never = node.items.is_never and not self._rules.needs_items
            schema["items"] = False if never else self._written(node.items)
        elif self._rules.needs_items and "array" in node.types and node.types != ANYTHING:
            schema["items"] = {}

    def _write_tuple(self, node: Node, schema: Schema) -> None:
        text = "which item stands where is not said; the items may be of any of their kinds"
        self._losses.add(node.at, "prefixItems", text)
        kinds = [self._written(item) for item in node.prefix]
        if node.items is not None and node.items.is_never:
            size = len(node.prefix)
            schema["maxItems"] = min(schema.get("maxItems", size), size)
        elif schema.get("maxItems", len(kinds) + 1) > len(kinds):
            kinds.append(self._written(node.items) if node.items is not None else {})
        different = [kind for place, kind in enumerate(kinds) if kind not in kinds[:place]]
        schema["items"] = different[0] if len(different) == 1 else {"anyOf": different}


_ORDER = {
    keyword: place
    for place, keyword in enumerate(
        (
            "$ref", "title", "type", "description", "default", "examples", "enum", "format",
            "pattern", "minLength", "maxLength", "minimum", "exclusiveMinimum", "maximum",
            "exclusiveMaximum", "multipleOf", "properties", "required", "patternProperties",
            "additionalProperties", "minProperties", "maxProperties", "prefixItems", "items",
            "minItems", "maxItems", "uniqueItems", "allOf", "anyOf", "oneOf",
        )
    )
}  # fmt: skip


def _ordered(schema: Schema) -> Schema:
    """The same with its keywords in one order, whatever order the original had."""
    last = len(_ORDER)
    keys = sorted(schema, key=lambda key: (key == "$defs", _ORDER.get(key, last), key))
    return {key: schema[key] for key in keys}
