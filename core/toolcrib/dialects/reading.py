"""Read a schema of any draft into nodes, mending what servers get wrong."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import Any

from toolcrib.dialects.keywords import enum_values, is_text, limits_of, said_of, types_of
from toolcrib.dialects.losses import Losses
from toolcrib.dialects.node import Document, Node
from toolcrib.dialects.references import References
from toolcrib.validation.draft import draft_of

MAX_NODES = 20_000
MAX_DEPTH = 64
_REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")
_ASIDE_SCHEMAS = (
    "not",
    "if",
    "then",
    "else",
    "contains",
    "propertyNames",
    "unevaluatedItems",
    "unevaluatedProperties",
)
_ASIDE_DATA = ("minContains", "maxContains")


def read_schema(schema: Mapping[str, Any], losses: Losses) -> Document:
    """Read a schema and all that its references lead to; nothing is fetched."""
    return _Reader(schema, losses).document()


class _Reader:
    def __init__(self, schema: Mapping[str, Any], losses: Losses) -> None:
        self._schema = schema
        self._losses = losses
        # Up to draft 7 whatever stands beside a $ref has no say.
        self._ref_stands_alone = draft_of(schema) in ("4", "6", "7")
        self._references = References(schema)
        self._pending: deque[str] = deque()
        self._targets: dict[str, Node] = {}
        self._count = 0

    def document(self) -> Document:
        root = self.read(self._schema, "", 0)
        while self._pending:
            pointer = self._pending.popleft()
            if pointer not in self._targets:
                target = self._references.at(pointer)
                self._targets[pointer] = self.read(target, pointer, 0)
        return Document(root, self._targets)

    def read(self, schema: Any, at: str, depth: int) -> Node:
        self._count += 1
        if depth > MAX_DEPTH or self._count > MAX_NODES:
            self._losses.add(at, "schema", "is nested too deep or too large; anything is accepted")
            return Node(at=at)
        if schema is False:
            return Node(at=at, types=frozenset())
        if schema is True:
            return Node(at=at)
        if isinstance(schema, str) and types_of({"type": schema}, at, Losses()):
            self._losses.add(at, "schema", f"the text {schema!r} is read as a type")
            schema = {"type": schema}
        if not isinstance(schema, Mapping):
            self._losses.add(at, "schema", f"{schema!r:.60} is no schema; anything is accepted")
            return Node(at=at)
        return self._read_mapping(schema, at, depth)

    def _read_mapping(self, schema: Mapping[str, Any], at: str, depth: int) -> Node:
        node = Node(at=at, says=said_of(schema), nullable=schema.get("nullable") is True)
        for keyword in _REFERENCES:
            if keyword in schema:
                node.ref = self._reference(schema[keyword], f"{at}/{keyword}", keyword)
                if keyword == "$ref" and self._ref_stands_alone:
                    return node
        node.types = types_of(schema, at, self._losses) or node.types
        node.enum = enum_values(schema, at, self._losses)
        node.limits = limits_of(schema, at, self._losses)
        self._read_object(schema, node, depth + 1)
        self._read_array(schema, node, depth + 1)
        self._read_combinations(schema, node, depth + 1)
        self._read_asides(schema, node, depth + 1)
        return node

    def _reference(self, reference: Any, at: str, keyword: str) -> str | None:
        place = at.removesuffix(f"/{keyword}")
        pointer = self._references.pointer(reference)
        if pointer is None:
            text = f"{reference!r:.120} leads to nothing in this schema; anything is accepted"
            self._losses.add(place, keyword, text)
            return None
        self._pending.append(pointer)
        return pointer

    # Objects and lists

    def _read_object(self, schema: Mapping[str, Any], node: Node, depth: int) -> None:
        properties = self._mapping(schema, "properties", node.at)
        node.properties = self._nodes(properties, f"{node.at}/properties", depth)
        patterns = self._mapping(schema, "patternProperties", node.at)
        node.patterns = self._nodes(patterns, f"{node.at}/patternProperties", depth)
        if "additionalProperties" in schema:
            at = f"{node.at}/additionalProperties"
            node.additional = self.read(schema["additionalProperties"], at, depth)
        node.required = self._required(schema, properties, node.at)

    def _mapping(self, schema: Mapping[str, Any], keyword: str, at: str) -> Mapping[str, Any]:
        value = schema.get(keyword, {})
        if isinstance(value, Mapping):
            return {name: below for name, below in value.items() if is_text(name)}
        named = [item for item in _as_list(value) if isinstance(item, Mapping)]
        found = {item["name"]: item for item in named if is_text(item.get("name"))}
        text = "is no mapping; " + ("read by the names in its items" if found else "dropped")
        if value:
            self._losses.add(at, keyword, text)
        return found

    def _nodes(self, schemas: Mapping[str, Any], at: str, depth: int) -> dict[str, Node]:
        return {name: self.read(s, f"{at}/{escaped(name)}", depth) for name, s in schemas.items()}

    def _required(
        self, schema: Mapping[str, Any], properties: Mapping[str, Any], at: str
    ) -> tuple[str, ...]:
        value = schema.get("required", [])
        names = [name for name in _as_list(value) if is_text(name)]
        # Inside a property draft 3 writes true; there the object reads it, below.
        if not isinstance(value, list | bool) or len(names) < len(_as_list(value)):
            self._losses.add(at, "required", f"{value!r:.60} is no list of names; the names count")
        for name, below in properties.items():
            if isinstance(below, Mapping) and below.get("required") is True:
                place = f"{at}/properties/{escaped(name)}"
                self._losses.add(place, "required", "true is read as in draft 3")
                names.append(name)
        return tuple(dict.fromkeys(names))

    def _read_array(self, schema: Mapping[str, Any], node: Node, depth: int) -> None:
        items, rest = schema.get("items"), "items"
        prefix = schema.get("prefixItems")
        if isinstance(items, list):
            prefix, rest = items, "additionalItems"
            items = schema.get("additionalItems")
        if isinstance(prefix, list):
            below = "prefixItems" if rest == "items" else "items"
            node.prefix = tuple(
                self.read(item, f"{node.at}/{below}/{index}", depth)
                for index, item in enumerate(prefix)
            )
        if items is not None:
            node.items = self.read(items, f"{node.at}/{rest}", depth)

    # What combines schemas

    def _read_combinations(self, schema: Mapping[str, Any], node: Node, depth: int) -> None:
        node.all_of = self._branches(schema, "allOf", node.at, depth)
        groups = [self._branches(schema, keyword, node.at, depth) for keyword in ("anyOf", "oneOf")]
        node.any_of = tuple(group for group in groups if group)
        if groups[1]:
            node.exclusive = frozenset({len(node.any_of) - 1})

    def _branches(
        self, schema: Mapping[str, Any], keyword: str, at: str, depth: int
    ) -> tuple[Node, ...]:
        if keyword not in schema:
            return ()
        value = schema[keyword]
        branches = [item for item in _as_list(value) if isinstance(item, Mapping | bool)]
        if not isinstance(value, list) or len(branches) < len(value) or not branches:
            self._losses.add(at, keyword, "is no list of schemas; what is none is dropped")
        return tuple(
            self.read(branch, f"{at}/{keyword}/{index}", depth)
            for index, branch in enumerate(branches)
        )

    def _read_asides(self, schema: Mapping[str, Any], node: Node, depth: int) -> None:
        for keyword in _ASIDE_SCHEMAS:
            if keyword in schema:
                node.asides[keyword] = self.read(schema[keyword], f"{node.at}/{keyword}", depth)
        for keyword in _ASIDE_DATA:
            if isinstance(schema.get(keyword), int):
                node.asides[keyword] = schema[keyword]
        names, schemas = {}, {}
        for keyword in ("dependencies", "dependentRequired", "dependentSchemas"):
            for name, needed in self._mapping(schema, keyword, node.at).items():
                if isinstance(needed, list):
                    names[name] = [other for other in needed if is_text(other)]
                else:
                    at = f"{node.at}/{keyword}/{escaped(name)}"
                    schemas[name] = self.read(needed, at, depth)
        if names:
            node.asides["dependentRequired"] = names
        if schemas:
            node.asides["dependentSchemas"] = schemas


def escaped(name: str) -> str:
    """A name as a step of a JSON pointer."""
    return name.replace("~", "~0").replace("/", "~1")


def _as_list(value: Any) -> list[Any]:
    if isinstance(value, list | tuple):
        return list(value)
    return [] if isinstance(value, bool) or value is None else [value]
