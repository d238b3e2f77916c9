"""Derive the draft-7 JSON Schema of what a caller may give to an input class."""

from __future__ import annotations

import collections.abc
import enum
import re
import types
import typing
from collections.abc import Callable, Iterable, Iterator
from math import isfinite
from typing import Any, Literal, get_args, get_origin

import annotated_types
import attrs
import typing_extensions

from toolcrib.schema.fields import InputField, SchemaError, input_fields, is_union, split_annotated
from toolcrib.schema.nodes import close_object_nodes

Schema = dict[str, Any]


def input_schema(cls: type) -> Schema:
    """Return the draft-7 JSON Schema of the input side of an attrs class, as a fresh dictionary.

    Fields with a default are not required; objects accept no other properties. Nested classes are
    put in place, recursive ones under `definitions`.

    Raises:
        SchemaError: An annotation or constraint has no counterpart in JSON Schema.
    """
    derivation = _Derivation(root=cls)
    return derivation.finish(derivation.object_schema(cls))


def annotation_schema(annotation: Any) -> Schema:
    """Return the schema of one type as it may stand in a field; see `input_schema`."""
    derivation = _Derivation(root=None)
    return derivation.finish(derivation.schema(annotation))


class _Derivation:
    """One run over a class and what it refers to."""

    def __init__(self, root: type | None) -> None:
        self._root = root
        self._place = ""
        self._open: list[Any] = []
        self._names: dict[int, str] = {}
        self._definitions: dict[str, Schema] = {}

    def finish(self, schema: Schema) -> Schema:
        closed: Schema = close_object_nodes(schema)
        if self._definitions:
            closed |= close_object_nodes({"definitions": self._definitions})
        return closed

    def object_schema(self, cls: type) -> Schema:
        fields = input_fields(cls)
        outer = self._place
        properties = {}
        for field in fields:
            self._place = f"{cls.__qualname__}.{field.name}"
            properties[field.property_name] = self._property_schema(field)
        self._place = outer
        if len(properties) != len(fields):
            raise SchemaError(f"input class {cls.__qualname__!r}: two fields share a property name")
        schema: Schema = {"type": "object", "properties": properties}
        required = [field.property_name for field in fields if field.is_required]
        if required:
            schema["required"] = required
        return schema

    def _property_schema(self, field: InputField) -> Schema:
        schema = self._constrained(self.schema(field.annotation), field.metadata)
        default = field.default
        if isinstance(default, attrs.Factory) and default.factory in (list, dict):  # type: ignore[arg-type]
            default = default.factory()
        if default is not attrs.NOTHING and (default is not None or _accepts_null(schema)):
            try:
                return _beside(schema, default=self._json_value(default))
            except SchemaError:
                pass  # A default is a hint; one that JSON cannot express is not shown.
        return schema

    def schema(self, annotation: Any) -> Schema:
        bare, metadata = split_annotated(annotation)
        if metadata:
            return self._constrained(self.schema(bare), metadata)
        if bare in (Any, object):
            return {}
        if isinstance(bare, type) and bare in _PRIMITIVES:
            return {"type": _PRIMITIVES[bare]}
        if is_union(bare):
            return self._union_schema(get_args(bare))
        origin = get_origin(bare)
        if origin is Literal:
            return self._enum_schema(get_args(bare))
        if isinstance(bare, typing_extensions.TypeAliasType | _TypeAliasType):
            return self._named_schema(bare, bare.__name__, lambda: self.schema(bare.__value__))
        if isinstance(bare, typing.NewType):
            return self.schema(bare.__supertype__)
        if isinstance(bare, type) and origin is None:
            if issubclass(bare, enum.Enum):
                return self._enum_schema(bare)
            if attrs.has(bare):
                return self._named_schema(bare, bare.__name__, lambda: self.object_schema(bare))
        return self._container_schema(bare, origin or bare)

    def _container_schema(self, annotation: Any, origin: Any) -> Schema:
        arguments = get_args(annotation)
        if origin is tuple and arguments and arguments[-1] is not Ellipsis:
            items = [self.schema(item) for item in arguments]
            size = {"minItems": len(items), "maxItems": len(items)}
            return {"type": "array", "items": items, "additionalItems": False, **size}
        if origin in _ARRAYS:
            schema: Schema = {"type": "array"}
            item = self.schema(arguments[0]) if arguments else {}
            if item:
                schema["items"] = item
            if origin in _SETS:
                schema["uniqueItems"] = True
            return schema
        if origin in _MAPPINGS:
            return self._mapping_schema(*(arguments or (str, Any)))
        raise self._error(f"annotation {annotation!r} has no JSON Schema")

    def _mapping_schema(self, key: Any, value: Any) -> Schema:
        names = self.schema(key)
        if names.get("type") != "string":
            raise self._error(f"keys of type {key!r}; JSON has text keys only")
        schema: Schema = {"type": "object", "additionalProperties": self.schema(value) or True}
        if names != {"type": "string"}:
            schema["propertyNames"] = names
        return schema

    def _union_schema(self, alternatives: Iterable[Any]) -> Schema:
        schemas = [self.schema(alternative) for alternative in alternatives]
        if {} in schemas:
            return {}
        return schemas[0] if len(schemas) == 1 else {"anyOf": schemas}

    def _enum_schema(self, members: Iterable[Any]) -> Schema:
        values = [self._json_value(member) for member in members]
        kinds = {_PRIMITIVES.get(type(value)) for value in values}
        kind = kinds.pop() if len(kinds) == 1 else None
        return {"type": kind, "enum": values} if kind else {"enum": values}

    def _named_schema(self, key: Any, name: str, build: Callable[[], Schema]) -> Schema:
        """Build in place what refers to nothing that is open; give a definition to the rest."""
        if key is self._root:
            return {"$ref": "#"}
        if any(key is opened for opened in self._open):
            self._names.setdefault(id(key), self._free_name(name))
        elif id(key) not in self._names:
            self._open.append(key)
            schema = build()
            self._open.pop()
            if id(key) not in self._names:
                return schema
            self._definitions[self._names[id(key)]] = schema
        return {"$ref": f"#/definitions/{self._names[id(key)]}"}

    def _free_name(self, name: str) -> str:
        taken = set(self._names.values())
        candidate, number = name, 1
        while candidate in taken:
            number += 1
            candidate = f"{name}_{number}"
        return candidate

    def _constrained(self, schema: Schema, metadata: Iterable[Any]) -> Schema:
        for item in _flattened(metadata):
            if isinstance(item, typing_extensions.Doc | annotated_types.DocInfo):
                schema = _beside(schema, description=item.documentation)
            elif isinstance(item, re.Pattern):
                self._apply(schema, {"string": "pattern"}, item.pattern, item)
            elif type(item) in _CONSTRAINTS:
                attribute, keywords = _CONSTRAINTS[type(item)]
                self._apply(schema, keywords, getattr(item, attribute), item)
            elif isinstance(item, annotated_types.Predicate | annotated_types.Timezone):
                raise self._error(f"{item!r} has no JSON Schema; check it in an attrs validator")
        return schema

    def _apply(self, schema: Schema, keywords: dict[str, str], limit: Any, item: Any) -> None:
        fitting = [node for node in schema.get("anyOf", [schema]) if node.get("type") in keywords]
        if not fitting:
            raise self._error(f"{item!r} does not constrain {schema!r}")
        for node in fitting:
            node[keywords[node["type"]]] = limit

    def _json_value(self, value: Any) -> Any:
        if isinstance(value, enum.Enum):
            value = value.value
        if isinstance(value, float) and not isfinite(value):
            raise self._error(f"{value!r} is no JSON value")
        if value is None or isinstance(value, str | int | float):
            return value
        if isinstance(value, list | tuple):
            return [self._json_value(item) for item in value]
        if isinstance(value, dict) and all(isinstance(key, str) for key in value):
            return {key: self._json_value(item) for key, item in value.items()}
        raise self._error(f"{value!r} is no JSON value")

    def _error(self, problem: str) -> SchemaError:
        return SchemaError(f"input field {self._place!r}: {problem}")


def _flattened(metadata: Iterable[Any]) -> Iterator[Any]:
    for item in metadata:
        if isinstance(item, annotated_types.GroupedMetadata):
            yield from _flattened(item)
        else:
            yield item


def _beside(schema: Schema, **keywords: Any) -> Schema:
    # Draft 7 ignores whatever stands beside a $ref.
    return ({"allOf": [schema]} if "$ref" in schema else schema) | keywords


def _accepts_null(schema: Schema) -> bool:
    return not schema or {"type": "null"} in schema.get("anyOf", [])


_TypeAliasType = getattr(typing, "TypeAliasType", typing_extensions.TypeAliasType)
_PRIMITIVES: dict[type, str] = {
    str: "string",
    bool: "boolean",
    int: "integer",
    float: "number",
    types.NoneType: "null",
}
_SETS = (
    set,
    frozenset,
    collections.abc.Set,
    collections.abc.MutableSet,
)
_ARRAYS = (
    *_SETS,
    list,
    tuple,
    collections.abc.Sequence,
    collections.abc.MutableSequence,
)
_MAPPINGS = (dict, collections.abc.Mapping, collections.abc.MutableMapping)
_NUMBERS = ("integer", "number")
_CONSTRAINTS: dict[type, tuple[str, dict[str, str]]] = {
    annotated_types.Ge: ("ge", dict.fromkeys(_NUMBERS, "minimum")),
    annotated_types.Gt: ("gt", dict.fromkeys(_NUMBERS, "exclusiveMinimum")),
    annotated_types.Le: ("le", dict.fromkeys(_NUMBERS, "maximum")),
    annotated_types.Lt: ("lt", dict.fromkeys(_NUMBERS, "exclusiveMaximum")),
    annotated_types.MultipleOf: ("multiple_of", dict.fromkeys(_NUMBERS, "multipleOf")),
    annotated_types.MinLen: (
        "min_length",
        {"string": "minLength", "array": "minItems", "object": "minProperties"},
    ),
    annotated_types.MaxLen: (
        "max_length",
        {"string": "maxLength", "array": "maxItems", "object": "maxProperties"},
    ),
}
