"""Compile for providers that accept a small part of JSON Schema and hold the model to it."""

from __future__ import annotations

import re
from typing import Any

from attrs import define, evolve, field

from toolcrib.dialects.fitting import said_of_property
from toolcrib.dialects.joining import objects_of, split
from toolcrib.dialects.losses import Losses
from toolcrib.dialects.merging import Merging
from toolcrib.dialects.names import chars_of_names, fitting_name, name_of_target
from toolcrib.dialects.node import ANYTHING, Document, Node, has_type, kind_of
from toolcrib.dialects.plans import (
    AS_IS,
    Choice,
    Definition,
    Fields,
    Items,
    JsonText,
    OneOf,
    Pairs,
    Plan,
    Property,
    Wrapped,
)
from toolcrib.dialects.rules import Rules
from toolcrib.dialects.wire import Compiled, Schema, are_mixed_up, as_texts
from toolcrib.dialects.words import hints, with_words

_MAX_NODES = 20_000


@define
class Narrowing:
    """One compilation of one document."""

    _document: Document
    _rules: Rules
    _losses: Losses
    definitions: dict[str, Plan] = field(factory=dict, init=False)
    _schemas: dict[str, Schema] = field(factory=dict, init=False)
    _names: dict[str, str] = field(factory=dict, init=False)
    _pending: list[str] = field(factory=list, init=False)
    _count: int = 0
    _properties: int = 0
    _enum_values: int = 0
    _merging: Merging = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._merging = Merging(self._document, self._losses, self._rules.references)

    def compile(self) -> Compiled:
        """Compile the root and the definitions that are left."""
        merging = Merging(self._document, self._losses)
        root = objects_of(self._document.root, merging, self._losses)
        if len(root.properties) <= self._rules.max_properties:
            compiled = self._with_definitions(root)
            if chars_of_names(compiled.schema) <= self._rules.max_chars:
                return compiled
        self._losses.add("", "properties", "is too large; all arguments are one JSON text")
        text = self._json_text(root, "an object with all arguments")
        fields = {"arguments": (text, Property("arguments", AS_IS))}
        schema = self._object_schema(fields, ["arguments"])
        return Compiled(schema, Wrapped("arguments", text.plan))

    def _with_definitions(self, root: Node) -> Compiled:
        opened = self._merging.opened(self._document.root)
        compiled = self._object(root, 0, opened, is_root=True)
        while self._pending:
            ref = self._pending.pop()
            name = self._names[ref]
            made = self._compile(self._document.targets[ref], 1, frozenset())
            self._schemas[name], self.definitions[name] = made.schema, made.plan
        if not self._schemas:
            return compiled
        defs = {name: self._schemas[name] for name in sorted(self._schemas)}
        return evolve(compiled, schema={**compiled.schema, "$defs": defs})

    def _is_full(self, more: int) -> bool:
        return self._properties + more > self._rules.max_properties

    # Any node

    def _compile(self, node: Node, depth: int, opened: frozenset[str]) -> Compiled:
        self._count += 1
        if self._count > _MAX_NODES:
            self._losses.add(node.at, "schema", "is too large; parts are given as JSON text")
            return self._json_text(node, "a value")
        here = self._merging.opened(node)
        if here & opened:
            text = "contains itself; below the first level it is given as JSON text"
            self._losses.add(node.at, "$ref", text)
            return self._json_text(node, "a value of the same kind")
        branches = self._merging.branches(node)
        singles = [single for branch in branches for single in self._parted(branch)]
        values = [single for single in singles if single.types != {"null"}]
        if len(values) > 1:
            values = [single for single in values if self._is_possible(single)] or values
            values = [single for single in values if _is_anything(single)][:1] or values
        options = [(v, self._single(v, depth, opened | here)) for v in values]
        accepts_null = len(values) < len(singles) or any(b.nullable for b in (node, *branches))
        if not options and not accepts_null:
            self._losses.add(node.at, "schema", "accepts nothing; it is given as JSON text")
            return self._json_text(node, "a value")
        words = node.says if len(branches) > 1 or len(options) > 1 else {}
        united = self._union(node, options, words)
        return evolve(united, schema=self._or_null(united.schema)) if accepts_null else united

    def _is_possible(self, node: Node) -> bool:
        """Whether each property that has to be there can have a value."""
        said = [below for name in node.required for below in said_of_property(node, name)]
        return all(self._merging.branches(below) or below.nullable for below in said)

    def _parted(self, branch: Node) -> list[Node]:
        """A branch by type; values that are given as texts stay together, to differ as texts."""
        values = [
            value
            for value in branch.enum or ()
            if value is not None and has_type(value, branch.types)
        ]
        composite = any(isinstance(value, dict | list) for value in values)
        if not values or not (self._rules.text_only or composite):
            return split(branch, self._losses)
        chosen = evolve(branch, enum=values)
        null = Node(at=branch.at, types=frozenset({"null"}))
        return [chosen, null] if None in (branch.enum or ()) else [chosen]

    def _union(
        self, node: Node, options: list[tuple[Node, Compiled]], words: dict[str, Any]
    ) -> Compiled:
        if not options:
            # Only null is left; a provider without that type gets a text that stands for it.
            return self._choice(Node(at=node.at, says=node.says), [None])
        plan = options[0][1].plan
        if len(options) > 1:
            if are_mixed_up([compiled for _, compiled in options]):
                return self._json_text(node, _listed([single for single, _ in options]))
            plan = OneOf(tuple((single, compiled.plan) for single, compiled in options))
            if all(compiled.plan is AS_IS for _, compiled in options):
                plan = AS_IS
        schemas: list[Schema] = []
        for _, compiled in options:
            if compiled.schema not in schemas:
                schemas.append(compiled.schema)
        if len(schemas) == 1:
            return Compiled(with_words(schemas[0], words), plan)
        if self._rules.union_alone:
            schemas = [s if "description" in s else with_words(s, words) for s in schemas]
            words = {}
        return Compiled(with_words({"anyOf": schemas}, words), plan)

    def _or_null(self, schema: Schema) -> Schema:
        if self._rules.nullable:
            if "anyOf" in schema:
                first, *others = schema["anyOf"]
                return {**schema, "anyOf": [{**first, "nullable": True}, *others]}
            return {**schema, "nullable": True}
        if "anyOf" in schema:
            if {"type": "null"} in schema["anyOf"]:
                return schema
            return {**schema, "anyOf": [*schema["anyOf"], {"type": "null"}]}
        kind = schema.get("type")
        if kind in ("string", "number", "integer", "boolean") and "enum" not in schema:
            return {**schema, "type": [kind, "null"]}
        if kind == "null" or (isinstance(kind, list) and "null" in kind):
            return schema
        words = {k: v for k, v in schema.items() if k == "description"}
        bare = {k: v for k, v in schema.items() if k != "description"}
        return {**words, "anyOf": [bare, {"type": "null"}]}

    def _single(self, node: Node, depth: int, opened: frozenset[str]) -> Compiled:
        """Compile a node of one type, of any type, or that is a reference to a definition."""
        if node.ref is not None:
            return self._reference(node.ref)
        if node.enum is not None:
            return self._choice(node, node.enum)
        if _is_anything(node):
            return self._json_text(node, "any value")
        (kind,) = node.types
        if kind in ("array", "object") and depth >= self._rules.max_depth - 1:
            self._losses.add(node.at, kind, "is nested too deep; it is given as JSON text")
            return self._json_text(node, f"an {kind}")
        if kind == "object":
            return self._object(node, depth, opened)
        self._drop_asides(node)
        if kind == "array":
            return self._array(node, depth, opened)
        schema: Schema = {"type": kind}
        dropped = self._limits(node, kind, schema)
        return Compiled(with_words(schema, node.says, dropped))

    def _reference(self, ref: str) -> Compiled:
        if ref not in self._names:
            self._names[ref] = name_of_target(ref, self._names.values())
            self._pending.append(ref)
        name = self._names[ref]
        return Compiled({"$ref": f"#/$defs/{name}"}, Definition(name))

    def _json_text(self, node: Node, what: str) -> Compiled:
        words = {"description": f"{what}, as JSON text"}
        said = node.says.get("description") or node.says.get("title")
        if said:
            words["description"] = f"{said} ({what}, as JSON text)"
        return Compiled({"type": "string", **words}, JsonText(node))

    # Values

    def _limits(self, node: Node, kind: str, schema: Schema) -> list[str]:
        """Put the limits that the provider knows into the schema; name those for the words."""
        dropped = {}
        for keyword, value in node.limits.items():
            said = self._limit(keyword, value, kind)
            if said is None:
                dropped[keyword] = value
                text = f"{value!r:.60} is not said, at most in the description"
                self._losses.add(node.at, keyword, text)
            else:
                schema.update(said)
        return hints(dropped)

    def _limit(self, keyword: str, value: Any, kind: str) -> Schema | None:
        if keyword == "format":
            return {keyword: value} if value in self._rules.formats.get(kind, ()) else None
        known = self._rules.limits.get("number" if kind == "integer" else kind, frozenset())
        if keyword in known:
            if keyword == "pattern" and _LOOKS.search(value):
                return None
            return {keyword: value}
        if kind == "integer" and keyword in _NEXT and isinstance(value, int):
            bound, step = _NEXT[keyword]
            return {bound: value + step} if bound in known else None
        return None

    def _choice(self, node: Node, values: list[Any]) -> Compiled:
        self._drop_asides(node)
        kinds = {kind_of(value) for value in values}
        plain = kinds <= {"string", "integer", "number", "boolean"} and len(kinds) == 1
        too_many = self._enum_values + len(values) > self._rules.max_enum_values
        too_long = sum(len(v) for v in values if isinstance(v, str)) > 15_000 and len(values) > 250
        if too_many or too_long:
            self._losses.add(
                node.at, "enum", f"has too many values ({len(values)}); any is accepted"
            )
            if plain:
                return Compiled(with_words({"type": kinds.pop()}, node.says))
            return self._json_text(node, "a value")
        self._enum_values += len(values)
        if plain and not (self._rules.text_only and (kinds != {"string"} or "" in values)):
            return Compiled(with_words({"type": kinds.pop(), "enum": list(values)}, node.says))
        texts = as_texts(values)
        return Compiled(
            with_words({"type": "string", "enum": list(texts)}, node.says), Choice(texts)
        )

    def _drop_asides(self, node: Node) -> None:
        for keyword in node.asides:
            if keyword == "unevaluatedProperties" and node.additional is None:
                continue
            if keyword != "propertyNames" or not _is_any_name(node.asides[keyword]):
                self._losses.add(node.at, keyword, "is not said; validation still looks at it")

    def _array(self, node: Node, depth: int, opened: frozenset[str]) -> Compiled:
        prefix = [self._compile(item, depth + 1, opened) for item in node.prefix]
        limits, says = dict(node.limits), node.says
        below = node.items or Node(at=node.at)
        if prefix and (below.is_never or limits.get("maxItems", len(prefix) + 1) <= len(prefix)):
            limits["maxItems"] = min(limits.get("maxItems", len(prefix)), len(prefix))
            rest = None
        elif below.is_never:
            limits["maxItems"], rest = 0, Compiled({"type": "string"})
        else:
            rest = self._compile(below, depth + 1, opened)
        if prefix:
            text = "which item stands where is not said; the items may be of any of their kinds"
            self._losses.add(node.at, "prefixItems", text)
        options = [*prefix, *([rest] if rest else [])]
        rest_plan = rest.plan if rest else AS_IS
        plan: Plan = Items(tuple(option.plan for option in prefix), rest_plan)
        if all(option.plan is AS_IS for option in options):
            plan = AS_IS
        schema: Schema = {"type": "array", "items": self._any_of(options)}
        dropped = self._limits(evolve(node, limits=limits), "array", schema)
        return Compiled(with_words(schema, says, dropped), plan)

    def _any_of(self, options: list[Compiled]) -> Schema:
        schemas: list[Schema] = []
        accepts_null = False
        for option in options:
            for schema in option.schema.get("anyOf", [option.schema]):
                accepts_null = accepts_null or bool(schema.get("nullable"))
                bare = {key: value for key, value in schema.items() if key != "nullable"}
                if bare not in schemas:
                    schemas.append(bare)
        united = schemas[0] if len(schemas) == 1 else {"anyOf": schemas}
        return self._or_null(united) if accepts_null else united

    # Objects

    def _object(
        self, node: Node, depth: int, opened: frozenset[str], *, is_root: bool = False
    ) -> Compiled:
        properties = {n: below for n, below in node.properties.items() if not below.is_never}
        for name in node.required:
            if name not in properties:
                properties[name] = node.additional or Node(at=node.at)
        self._drop_asides(node)
        if not is_root:
            if self._is_full(len(properties)):
                self._losses.add(node.at, "properties", "are too many; given as JSON text")
                return self._json_text(node, "an object")
            if not properties and (free := self._free_object(node, depth, opened)):
                return free
        self._properties += len(properties)
        fields: dict[str, tuple[Compiled, Property]] = {}
        for name, below in properties.items():
            wire = fitting_name(name, self._rules.property_name, fields)
            required = name in node.required
            fields[wire] = self._property(name, below, required, depth + 1, opened)
        needed = [w for w, (_, known) in fields.items() if known.name in node.required]
        rest = self._rest(node, fields, depth, opened)
        schema = self._object_schema(fields, needed)
        limits = self._limits(evolve(node, limits=_of_objects(node)), "object", schema)
        known = {wire: known for wire, (_, known) in fields.items() if wire != rest}
        plan: Plan = Fields(known, rest, fields[rest][0].plan if rest else AS_IS)
        if not rest and all(w == k.name and k.plan is AS_IS for w, k in known.items()):
            plan = AS_IS
        return Compiled(with_words(schema, {} if is_root else node.says, limits), plan)

    def _object_schema(
        self, fields: dict[str, tuple[Compiled, Property]], needed: list[str]
    ) -> Schema:
        schema: Schema = {"type": "object"}
        if fields or self._rules.closed:
            schema["properties"] = {wire: made.schema for wire, (made, _) in fields.items()}
        if self._rules.closed:
            return {**schema, "required": list(fields), "additionalProperties": False}
        return {**schema, "required": needed} if needed else schema

    def _property(
        self, name: str, below: Node, required: bool, depth: int, opened: frozenset[str]
    ) -> tuple[Compiled, Property]:
        made = self._compile(below, depth, opened)
        absent = False
        if self._rules.closed and not required:
            nullable = self._or_null(made.schema)
            if isinstance(made.plan, JsonText) and nullable != made.schema:
                absent = True
            elif nullable == made.schema and below.says.get("default", 0) is not None:
                text = f"property {name!r} cannot be left out; null is given instead"
                self._losses.add(below.at, "required", text, narrows=True)
            made = evolve(made, schema=nullable)
        return made, Property(name, made.plan, absent)

    def _free_object(self, node: Node, depth: int, opened: frozenset[str]) -> Compiled | None:
        """An object without named properties, unless it has to be empty."""
        if node.additional is None and not node.patterns:
            if "unevaluatedProperties" in node.asides:
                return None
            return self._json_text(node, "an object")
        return self._pairs(node, depth, opened)

    def _pairs(self, node: Node, depth: int, opened: frozenset[str]) -> Compiled | None:
        """A list of keys and values for properties without a name; None if there can be none."""
        below = self._free_value(node)
        if below is None:
            return None
        if below.is_plain and not below.is_combined:
            return self._json_text(node, "an object")
        value = self._compile(below, depth + 2, opened)
        key: Schema = {"type": "string"}
        names = node.asides.get("propertyNames")
        if isinstance(names, Node) and not _is_any_name(names):
            made = self._compile(evolve(names, types=frozenset({"string"})), depth + 2, opened)
            key = made.schema if made.plan is AS_IS else key
        pair = {
            "key": (Compiled(key), Property("key", AS_IS)),
            "value": (value, Property("value", AS_IS)),
        }
        self._properties += 2
        schema: Schema = {"type": "array", "items": self._object_schema(pair, ["key", "value"])}
        for keyword, name in (("minProperties", "minItems"), ("maxProperties", "maxItems")):
            if keyword in node.limits and name in self._rules.limits["array"]:
                schema[name] = node.limits[keyword]
        return Compiled(with_words(schema, node.says), Pairs(value.plan))

    def _free_value(self, node: Node) -> Node | None:
        allowed = [below for below in node.patterns.values() if not below.is_never]
        if node.additional is not None and not node.additional.is_never:
            allowed.append(node.additional)
        if node.patterns:
            text = "which keys have which values is not said"
            self._losses.add(node.at, "patternProperties", text)
            if node.additional is None:
                text = "keys that match no pattern cannot be given"
                self._losses.add(node.at, "patternProperties", text, narrows=True)
        if not allowed:
            return None
        return allowed[0] if len(allowed) == 1 else Node(at=node.at, any_of=(tuple(allowed),))

    def _rest(
        self,
        node: Node,
        fields: dict[str, tuple[Compiled, Property]],
        depth: int,
        opened: frozenset[str],
    ) -> str | None:
        """Add a property for those without a name; returns its own name."""
        if node.additional is None and not node.patterns:
            if self._rules.closed and "unevaluatedProperties" not in node.asides:
                text = "is not said; only the named properties can be given"
                self._losses.add(node.at, "additionalProperties", text, narrows=True)
            return None
        says = {"description": "further properties"}
        bare = evolve(node, says=says, required=(), limits={}, properties={})
        made = self._pairs(bare, depth, opened)
        if made is None:
            return None
        if self._rules.closed:
            made = evolve(made, schema=self._or_null(made.schema))
        name = "additional_properties"
        while name in fields:
            name = f"_{name}"
        fields[name] = (made, Property(name, made.plan))
        return name


# Looking around and back is not for the grammars that providers make of patterns.
_LOOKS = re.compile(r"\(\?(?!:)|\\[1-9kbBpP]")
_NEXT = {"exclusiveMinimum": ("minimum", 1), "exclusiveMaximum": ("maximum", -1)}


def _is_anything(node: Node) -> bool:
    return node.types == ANYTHING and node.enum is None and node.ref is None


def _of_objects(node: Node) -> dict[str, Any]:
    return {k: v for k, v in node.limits.items() if k in ("minProperties", "maxProperties")}


def _is_any_name(names: Node) -> bool:
    return names.enum is None and not names.limits and not names.is_combined


def _listed(singles: list[Node]) -> str:
    kinds = dict.fromkeys(kind for single in singles for kind in sorted(single.types))
    return "one of: " + ", ".join(kinds)
